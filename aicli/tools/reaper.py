"""Runs one command as a program of its own (`python -I -S reaper.py`) and leaves none of its children behind (Linux).

It is the subreaper of all that the command starts, so a child that changed its session or lost its parent still ends here.
Arguments: control fd, status fd, grace in seconds, then the command. The tree is ended when the command ends or when the
control pipe closes, which it does when whoever holds its other end dies. The first line in the status pipe then is
"exit N", "signal N" or "error ERRNO".
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 5.0


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


def _start(command: list[str], status_fd: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.execvp(command[0], command)
    except OSError as e:
        os.write(status_fd, f"error {e.errno}\n".encode())
    os._exit(127)


def main() -> int:
    import ctypes  # only this program needs it

    control, status_fd, grace, command = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for fd in (control, status_fd):
        os.set_inheritable(fd, False)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # ended by the control pipe alone
    child = _start(command, status_fd)
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
    os.close(status_fd)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _end(grace)
    return 0


if __name__ == "__main__":
    sys.exit(main())
