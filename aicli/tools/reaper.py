"""Runs commands as a program of its own (`python -I -S reaper.py`) and leaves none of their children behind (Linux).

It takes requests from the socket that is its stdin (reapers.py writes them) and answers each with the id of a new process:
the subreaper of all that this command starts, so a child that changed its session or lost its parent still ends there. The
tree is ended when the command ends or when the control pipe closes, which it does when whoever holds its other end dies.
The line in the status pipe is "exit N", "signal N" or "error ERRNO"; the pipe's end says that the tree is gone.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import sys
import time

try:
    import fcntl
except ImportError:  # it runs on Linux alone, and must be importable everywhere
    pass

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 5.0
_SHUT = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM) if sys.platform == "linux" else ()


def descendants(pid: int) -> list[int]:
    """All living descendants of a process, by the kernel's own lists; [] where it keeps none."""
    found: list[int] = []
    queue = [pid]
    while queue:
        at = queue.pop()
        try:
            threads = os.listdir(f"/proc/{at}/task")
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"/proc/{at}/task/{thread}/children", encoding="ascii") as file:
                    below = [int(word) for word in file.read().split()]
            except OSError:
                continue
            found += below
            queue += below
    return found


def _end(grace: float) -> None:
    """Ends every descendant: asked first, killed after `grace` seconds. Gives up after some seconds (a foreign uid)."""
    start = time.monotonic()
    asked: set[int] = set()
    while time.monotonic() - start < grace + _PATIENCE:
        harsh = time.monotonic() - start >= grace
        for pid in descendants(os.getpid()):
            if not harsh and pid in asked:
                continue
            asked.add(pid)
            try:
                os.kill(pid, signal.SIGKILL if harsh else signal.SIGTERM)
                if not harsh:
                    os.kill(pid, signal.SIGCONT)
            except OSError:
                pass
        if _reap(0)[1]:
            return
        time.sleep(0.005)


def _reap(main: int) -> tuple[int | None, bool]:
    """Collects the dead: the raw status of `main` if it is among them, and whether no child is left at all."""
    status = None
    while True:
        try:
            pid, raw = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, True
        if pid == 0:
            return status, False
        if pid == main:
            status = raw


def _start(command: list[bytes], env: dict[bytes, bytes], status_fd: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.execvpe(command[0], command, env)
    except OSError as e:
        os.write(status_fd, f"error {e.errno}\n".encode())
    os._exit(127)


class Job:
    """One request: fields ended by NUL bytes, and descriptors (stdin, output, control, status, then those to pass on).

    Fields: folder, grace in seconds, the numbers to pass the last descriptors on as (with ","), how many words, the words,
    then the environment as NAME=value.
    """

    def __init__(self, data: bytes, fds: list[int]) -> None:
        folder, grace, numbers, count, *rest = data.split(b"\0")[:-1]
        self.folder, self.grace = folder, float(grace)
        self.command, env = rest[: int(count)], rest[int(count) :]
        self.env = dict(line.split(b"=", 1) for line in env)
        self.numbers = [int(n) for n in numbers.split(b",") if n]
        self.fds = fds

    def place(self) -> tuple[int, int]:
        """Gives each descriptor the number that the command knows it by; control and status, which it does not see."""
        above = max(64, *self.numbers, 0) + 1
        source, output, control, status, *passed = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd in self.fds)
        for fd in self.fds:
            os.close(fd)
        for fd, number in [(source, 0), (output, 1), (output, 2), *zip(passed, self.numbers, strict=True)]:
            os.dup2(fd, number, inheritable=True)
        return control, status


def run(job: Job) -> None:
    """Runs the command to its end and ends all it started; the process is this command's alone."""
    control, status_fd = job.place()
    os.setsid()
    _subreaper()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    try:
        os.chdir(job.folder)
    except OSError as e:
        os.write(status_fd, f"error {e.errno}\n".encode())
        return
    child = _start(job.command, job.env, status_fd)
    poll = select.poll()
    poll.register(wake_read, select.POLLIN)
    poll.register(control, select.POLLIN | select.POLLHUP)
    raw = None
    while raw is None:
        ready = {fd for fd, _ in poll.poll()}
        if wake_read in ready:
            os.read(wake_read, 4096)
            raw, _ = _reap(child)
        if control in ready:
            break
    if raw is not None:
        code = os.waitstatus_to_exitcode(raw)
        os.write(status_fd, f"exit {code}\n".encode() if code >= 0 else f"signal {-code}\n".encode())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _end(job.grace)


def main() -> int:
    os.setsid()
    os.closerange(3, 1 << 16)  # what our parent let slip into us is nothing to commands
    for number in _SHUT:
        signal.signal(number, signal.SIG_IGN)  # ended by its socket alone, a command by its control pipe
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who ends here is not waited for
    asked = socket.socket(fileno=os.dup(0))
    while True:
        head, fds, _, _ = socket.recv_fds(asked, 8, 64, socket.MSG_CMSG_CLOEXEC)
        if len(head) < 8:
            return 0
        data = b""
        while len(data) < int.from_bytes(head, "big"):
            piece = asked.recv(1 << 20)
            if not piece:
                return 0
            data += piece
        pid = os.fork()
        if not pid:
            try:
                asked.close()
                run(Job(data, list(fds)))
            finally:
                os._exit(0)
        for fd in fds:
            os.close(fd)
        asked.sendall(pid.to_bytes(8, "big"))


_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def _subreaper() -> None:
    if _prctl is not None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
