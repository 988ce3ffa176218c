"""Confines itself by Landlock and a system call filter, then runs a command and leaves no process of it behind.

Runs by itself as a script, `python -I -S landlock.py NET FILTER (r|w PATH)… cwd DIR -- COMMAND…`, so it imports little.
"""

from __future__ import annotations

import os
import signal
import struct
import sys

TYPE_CHECKING = False  # the typing module takes as long to load as all else here
if TYPE_CHECKING:
    from typing import Any

LEAST = 4
"""The Landlock version with rules for the network."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_READ = (1 << 0) | (1 << 2) | (1 << 3)  # execute, read file, read folder
_WRITE_FILE, _TRUNCATE, _IOCTL = 1 << 1, 1 << 14, 1 << 15
_ALL = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_FILE_RIGHTS = (1 << 0) | (1 << 1) | (1 << 2) | _TRUNCATE | _IOCTL
_NO_NEW_PRIVS, _SUBREAPER, _DROP_BOUND, _SECUREBITS, _SECCOMP, _DUMPABLE = 38, 36, 24, 28, 22, 4
_NO_ROOT = 0b101111


def _libc() -> tuple[Any, Any]:
    import ctypes

    return ctypes, ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """The Landlock version of this kernel, 0 where there is none. Blocks for no time worth naming."""
    if sys.platform != "linux":
        return 0
    _, libc = _libc()
    return max(0, int(libc.syscall(_CREATE, None, 0, 1)))


def _restrict(rules: list[tuple[str, str]], network: bool) -> None:
    ctypes, libc = _libc()
    abi = version()
    rights = _ALL.get(abi, (1 << 16) - 1)
    scoped = 3 if abi >= 6 else 0
    attributes = struct.pack("QQQ", rights, 0 if network or abi < 4 else 3, scoped)
    attributes = attributes[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    ruleset = libc.syscall(_CREATE, attributes, len(attributes), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "no Landlock rule set")
    for kind, path in rules:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        allowed = rights if kind == "w" else rights & _READ
        if not os.path.isdir(path):
            allowed &= _FILE_RIGHTS
        rule = struct.pack("=Qi", allowed, fd)
        if libc.syscall(_ADD, ruleset, 1, rule, 0) < 0:
            raise OSError(ctypes.get_errno(), f"no Landlock rule for {path}")
        os.close(fd)
    if libc.syscall(_RESTRICT, ruleset, 0) < 0:
        raise OSError(ctypes.get_errno(), "Landlock does not restrict")
    os.close(ruleset)


def _drop_capabilities(libc: Any) -> None:
    for capability in range(64):
        libc.prctl(_DROP_BOUND, capability, 0, 0, 0)
    libc.prctl(_SECUREBITS, _NO_ROOT, 0, 0, 0)
    header = struct.pack("Ii", 0x20080522, 0)
    libc.capset(header, struct.pack("6I", 0, 0, 0, 0, 0, 0))


def _filter(libc: Any, ctypes: Any, code: bytes) -> None:
    memory = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(memory))
    if libc.prctl(_SECCOMP, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no system call filter")


def _become(rules: list[tuple[str, str]], network: bool, code: bytes, cwd: str, argv: list[str]) -> None:
    """Confines this process and turns it into the command. Does not return."""
    try:
        ctypes, libc = _libc()
        os.chdir(cwd)
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        _restrict(rules, network)
        _drop_capabilities(libc)
        if code:
            _filter(libc, ctypes, code)
        os.execvp(argv[0], argv)
    except OSError as e:
        os.write(2, f"{argv[0]}: {e.strerror or e}\n".encode(errors="replace"))
        os._exit(127 if isinstance(e, FileNotFoundError) else 126)


def _children() -> list[int]:
    found: list[int] = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
                found += [int(n) for n in file.read().split()]
        except OSError:
            continue
    return found


def _reap_all() -> None:
    """Kills and reaps whatever is left: orphans come to this process, generation after generation."""
    while True:
        for pid in _children():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def main(words: list[str]) -> None:
    """See the module's docstring. Ends as the command ended."""
    network, code = words[0] == "net", bytes.fromhex(words[1].strip("-"))
    rules: list[tuple[str, str]] = []
    at = 2
    while words[at] != "cwd":
        rules.append((words[at], words[at + 1]))
        at += 2
    cwd, argv = words[at + 1], words[at + 3 :]
    _, libc = _libc()
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # ends with the program that started it
    child = os.fork()
    if child == 0:
        _become(rules, network, code, cwd, argv)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, _: os.kill(child, n))
    status = os.waitpid(child, 0)[1]
    _reap_all()
    if os.WIFSIGNALED(status):
        deadly = os.WTERMSIG(status)
        if deadly not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(deadly, signal.SIG_DFL)
        os.kill(os.getpid(), deadly)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
