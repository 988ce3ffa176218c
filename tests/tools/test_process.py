"""Commands as argv: exactly what was given runs, in order, and is accounted for."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from aicli.safety.confined import Confined
from aicli.safety.masks import Untidy
from aicli.tools.capture import FILE_LIMIT, KEEP, Capture, newest, readable
from aicli.tools.launch import Command
from aicli.tools.process import ProcessResult, Running, run, signal_name
from tests.tools.processes import alive

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")


def done(*commands: object, **more: object) -> ProcessResult:
    return asyncio.run(run(*commands, **{"timeout": 10, **more}))  # type: ignore[arg-type]


def command(*argv: str, **more: object) -> Command:
    return Command(argv, Path.cwd(), {"PATH": "/usr/bin:/bin"}, **more)  # type: ignore[arg-type]


def test_arguments_are_not_read_by_a_shell() -> None:
    result = done(command("/bin/echo", "$HOME", "a b", "*", ";", "你好"))
    assert result.output == "$HOME a b * ; 你好\n" and result.ok


def test_a_missing_program_is_an_ending_that_says_so() -> None:
    result = done(command("/no/such/program"))
    assert result.exit_code == 127 and "No such file" in result.output
    Path("plain").write_text("x")
    result = done(command("./plain"))
    assert result.exit_code == 127 and "Permission denied" in result.output


def test_a_missing_folder_can_not_be_started() -> None:
    with pytest.raises(OSError):
        done(Command(("/bin/true",), Path("/no/such/folder"), {}))


@pytest.mark.parametrize(
    ("steps", "output", "code"),
    [
        ([(";", "true"), ("&&", "echo a"), ("||", "echo b")], "a\n", 0),
        ([(";", "false"), ("&&", "echo a"), ("||", "echo b")], "b\n", 0),
        ([(";", "false"), ("||", "false"), ("&&", "echo a"), (";", "exit 3")], "", 3),
        ([(";", "echo a"), (";", "echo b; exit 2"), ("||", "echo c")], "a\nb\nc\n", 0),
    ],
)
def test_several_commands_follow_their_joiners(steps: list[tuple[str, str]], output: str, code: int) -> None:
    result = done(*((joiner, command("/bin/sh", "-c", line)) for joiner, line in steps))
    assert (result.output, result.exit_code) == (output, code)


def test_a_pipeline_without_a_shell() -> None:
    feeds = (("/bin/sh", "-c", "echo b; echo a; echo oops >&2"), ("/usr/bin/sort",))
    result = done(command("/usr/bin/head", "-n", "1", feeds=feeds))
    assert sorted(result.output.splitlines()) == ["a", "oops"] and result.ok


def test_an_endless_feed_ends_with_its_reader() -> None:
    result = done(command("/usr/bin/head", "-n", "1", feeds=(("/usr/bin/yes", "endless feed"),)))
    assert result.output == "endless feed\n" and not alive("/usr/bin/yes endless feed")
    result = done(command("/usr/bin/sleep", "75", feeds=(("/usr/bin/yes", "endless feed"),)), timeout=0.2)
    assert result.timed_out and not alive("/usr/bin/yes endless feed") and not alive("/usr/bin/sleep 75")


def test_time_is_shared_by_all_steps() -> None:
    result = done(*((";", command("/bin/sleep", "0.15")) for _ in range(50)), timeout=0.4)
    assert result.timed_out and result.seconds < 3


def test_no_descriptor_leaks() -> None:
    done(command("/bin/true"))
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(5):
        done(command("/bin/cat", feeds=(("/bin/echo", "x"),)))
        done(command("/bin/sh", "-c", "exit 3"))
        done(command("/no/such"))
    assert sorted(os.listdir("/proc/self/fd")) == before
    listed = done(command("/bin/ls", "/proc/self/fd")).output.split()
    assert set(listed) <= {"0", "1", "2", "3"}


class Box:
    """A sandbox that changes nothing and keeps count."""

    status = "off"
    missing: tuple[str, ...] = ()
    kind = ""

    def __init__(self) -> None:
        self.open = 0
        self.writable: list[bool] = []

    def confine(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], writable: bool = True, network: bool = False
    ) -> Confined:
        self.open += 1
        self.writable.append(writable)
        return Confined(list(argv), dict(env), (), self._close)

    def _close(self) -> None:
        self.open -= 1


def test_every_confinement_is_released() -> None:
    box = Box()
    done(command("/bin/cat", feeds=(("/bin/echo", "x"),), sandbox=box, writable=False))
    assert box.open == 0 and box.writable == [False, False]
    with pytest.raises(OSError):
        done(Command(("/bin/true",), Path("/no/such"), {}, box))
    with pytest.raises(OSError):
        done(command("/bin/cat", feeds=(("/bin/echo", "x"), ("/no/such",)), sandbox=box))
    assert box.open == 0


def test_a_running_command_tells_its_end_to_late_listeners_too() -> None:
    running = Running(command("/bin/sh", "-c", "exit 5"), Capture())
    assert running.ended.wait(10) and running.exit_code == 5
    told = threading.Event()
    running.when_ended(told.set)
    assert told.is_set()
    running.end()


def test_signals_have_names() -> None:
    assert signal_name(9) == "SIGKILL" and signal_name(250) == "signal 250"
    assert done(command("/bin/sh", "-c", "kill -SEGV $$")).signal == "SIGSEGV"


def test_the_newest_of_a_long_output() -> None:
    assert newest(b"short") == b"short"
    assert newest(b"x" * 9_000) == b"x" * 8_192
    assert newest(b"a\n" * 9_000 + b"b") == b"a\n" * 4_095 + b"b"
    chinese = newest("好".encode() * 9_000).decode()
    assert set(chinese) == {"好"} and len(chinese) == 8_192 // 3


def test_readable() -> None:
    assert readable(b"a\r\nb\r\n") == "a\nb\n"
    assert readable(b"10%\r20%\r100%\nnext") == "100%\nnext"
    assert readable(b"\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07 \x1b(Bok") == "red link ok"
    assert readable(b"bo\x08old _\x08u") == "bold u"
    assert readable("你好\u202e".encode()) == "你好<U+202E>"
    assert readable(b"\xff\xfe") == "\\xff\\xfe"
    assert readable(b"\0\0\x7f\x80a") == "\u2400\u2400\u2421\\x80a"


def test_capture_keeps_both_ends(tmp_path: Path) -> None:
    capture = Capture(tmp_path / "o" / "f.txt")
    line = b"x" * 99 + b"\n"
    for _ in range(3 * KEEP // 100):
        capture.feed(line)
    capture.feed(b"the end\n")
    capture.close()
    text, cut = capture.text(1000, "; ask again")
    assert cut and len(text) < 1300 and text.startswith("xxx") and text.endswith("the end\n") and "; ask again" in text
    assert (tmp_path / "o" / "f.txt").stat().st_size == capture.total
    page, end = capture.page(capture.total - 8, 100)
    assert (page, end) == ("the end\n", capture.total)
    assert capture.page(0, 150) == ("x" * 99 + "\n", 100)
    assert capture.page(capture.total + 5, 100)[0] == ""


def test_capture_is_bounded_on_disk(tmp_path: Path) -> None:
    capture = Capture(tmp_path / "f.txt")
    block = bytes(1 << 20)
    for _ in range(FILE_LIMIT // len(block) + 2):
        capture.feed(block)
    capture.feed(b"tail")
    capture.close()
    assert (tmp_path / "f.txt").stat().st_size == FILE_LIMIT
    assert capture.tail().endswith("tail") and capture.total == FILE_LIMIT + 2 * len(block) + 4


def test_capture_never_writes_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("mine")
    capture = Capture(tmp_path / "f.txt", always=True)
    capture.feed(b"other")
    assert (
        (tmp_path / "f.txt").read_text() == "mine"
        and "exists" in capture.lost
        and capture.text(100) == ("other", False)
    )


def test_the_program_that_starts_commands_may_be_killed() -> None:
    assert done(command("/bin/sh", "-c", "exit 1")).exit_code == 1
    running = Running(command("/bin/sh", "-c", "read x < /dev/null; sleep 74; exit 6"), Capture())
    starter = int(Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(starter, signal.SIGKILL)
    assert done(command("/bin/sh", "-c", "exit 2")).exit_code == 2
    running.end()
    assert running.ended.wait(10) and running.exit_code is None
    assert not alive("sleep 74")


def test_commands_side_by_side_are_kept_apart() -> None:
    async def together() -> list[ProcessResult]:
        lines = [
            Command(("/bin/sh", "-c", f"echo {n} 'a b' \"$NAME\"; exit {n}"), Path.cwd(), {"NAME": f"好\n{n}"})
            for n in range(12)
        ]
        return list(await asyncio.gather(*(run(line, timeout=20) for line in lines)))

    for n, result in enumerate(asyncio.run(together())):
        assert (result.exit_code, result.output) == (n, f"{n} a b 好\n{n}\n")


def test_descriptors_to_pass_on_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("through\n")
    fd = os.open(tmp_path / "secret", os.O_RDONLY)

    class Passing(Box):
        def confine(
            self,
            argv: Sequence[str],
            *,
            cwd: Path,
            env: Mapping[str, str],
            writable: bool = True,
            network: bool = False,
        ) -> Confined:
            return Confined(["/bin/bash", "-c", f"cat <&{fd}"], dict(env), (fd,))

    try:
        assert done(command("x", sandbox=Passing())).output == "through\n"
    finally:
        os.close(fd)


class Faulty(Box):
    """A sandbox whose clean-up raises."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def _close(self) -> None:
        super()._close()
        raise self.error


FAULTS = (PermissionError(13, "no right"), RecursionError("too deep"), SystemExit(3), MemoryError())


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_fault_in_the_clean_up_neither_hangs_nor_loses_the_result(error: BaseException) -> None:
    box = Faulty(error)
    result = done(command("/bin/sh", "-c", "echo 好; exit 7", sandbox=box))
    assert (result.exit_code, result.timed_out, box.open) == (7, False, 0)
    assert result.output.startswith("好\n") and f"[aicli: a fault at its end: {type(error).__name__}" in result.output
    result = done(command("/bin/cat", feeds=(("/bin/echo", "x"), ("/bin/cat",)), sandbox=box))
    assert result.exit_code == 0 and result.output.startswith("x\n") and box.open == 0, "each of several is released"
    result = done(command("/bin/sleep", "77", sandbox=box), timeout=0.2)
    assert result.timed_out and box.open == 0 and not alive("/bin/sleep 77")


def test_what_could_not_be_put_right_is_said_in_its_own_words() -> None:
    result = done(command("/bin/echo", "x", sandbox=Faulty(Untidy("Do not use git in 文件."))))
    assert result.exit_code == 0 and result.output == "x\n\n[aicli: Do not use git in 文件.]\n"


def test_a_fault_in_the_clean_up_of_a_start_that_failed() -> None:
    box = Faulty(PermissionError(13, "no right"))
    before = sorted(os.listdir("/proc/self/fd"))
    for argv, feeds in ((("/no/such",), ()), (("/bin/cat",), (("/bin/echo", "x"), ("/no/such",)))):
        with pytest.raises(OSError):
            done(Command(argv, Path("/no/such" if not feeds else "."), {}, box, feeds=feeds))
    assert box.open == 0 and sorted(os.listdir("/proc/self/fd")) == before


def test_a_fault_in_reading_ends_the_command_and_a_listeners_keeps_no_other_waiting() -> None:
    def fails(*_: object) -> None:
        raise ValueError("of a listener")

    running = Running(command("/bin/sh", "-c", "echo line; sleep 76"), Capture(on_piece=fails))
    told = threading.Event()
    running.when_ended(fails)
    running.when_ended(told.set)
    assert told.wait(20) and running.ended.is_set() and not alive("sleep 76")
    assert "ValueError: of a listener" in running.capture.text(1_000)[0]


def test_a_clean_up_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    go, gone = threading.Event(), threading.Event()

    class Stuck(Box):
        def _close(self) -> None:
            go.wait(60)
            gone.set()

    monkeypatch.setattr("aicli.tools.process.LAST_WAIT", 0.2)
    try:
        result = done(command("/bin/echo", "x", sandbox=Stuck()), timeout=0.3)
        assert result.timed_out and result.output.startswith("x\n") and "not waited for any longer" in result.output

        async def cancelled() -> None:
            task = asyncio.ensure_future(run(command("/bin/echo", "x", sandbox=Stuck()), timeout=60))
            await asyncio.sleep(0)
            task.cancel()
            await task

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(cancelled())
    finally:
        go.set()
    assert gone.wait(10)
