"""Every visible state of the terminal as a golden file, in both languages, wide and narrow, by the real program.

`GOLDEN=1 pytest tests/e2e_terminal/test_golden_screens.py` makes the files anew; `-k slash` only those of one scene.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from aicli.testing.steps import Reply, Step, call, error, hang, text, think, usage
from tests.e2e_terminal.scenes import CTRL_C, CTRL_O, ESC, Scene, Set, of, play
from tests.support.film import Film

USAGE = usage(900, 20)
ANSWER = """The sum is kept in **floats**.

- 第一：整数分
- `total()` adds

| 文件 | lines |
|---|--:|
| 购物车.py | 42 |

Done."""
SHOP = "def total(self):\n    return sum(i.price for i in self.items)\n\n\nVAT = 0.19\n"
PLAN = """# Plan: round late

Cents as integers, 整数分.

## Steps
1. total() in cents
2. the changelog

## Risks
None.
"""


def told(*replies: list[Step]) -> list[Reply]:
    """Replies that all tell of a few tokens."""
    return [[*reply, USAGE] for reply in replies]


SCENES: dict[str, Callable[[], Scene]] = {}


def filmed(scene: Callable[[], Scene]) -> Callable[[], Scene]:
    SCENES[scene.__name__] = scene
    return scene


@filmed
def chat() -> Scene:
    """Waiting, thinking, streaming, queue, stop, a failed request, a footer that warns."""
    replies: list[Reply] = [
        [hang()],
        [think("Rounding comes last."), hang()],
        [think("Look."), text("The first paragraph.\n\nAnd the second 段"), hang()],
        [think("Rounding."), text(ANSWER), usage(1900, 100)],
        [error(401, "bad key")],
        [error(429, "slow down", retry_after=30)],
        [text("Nearly full."), usage(6900, 100)],
    ]

    def scene(on: Set, film: Film) -> None:
        with film.of(tty := on.opens("chat", rows=120)):
            film.shot("idle")
            tty.send("why does checkout round? 为什么")
            film.shot("a draft")
            tty.line("")
            film.shot("waiting")
            tty.send(ESC)
            film.shot("stopped before anything came")
            tty.line("again")
            film.shot("thinking")
            tty.send(ESC)
            film.shot("stopped while thinking")
            tty.line("once more")
            film.shot("streaming")
            tty.line("and mention it in the changelog")
            film.shot("queued")
            tty.send(ESC)
            film.shot("stopped, the queue in the draft")
            tty.send(CTRL_C)
            film.shot("draft cleared")
            tty.send(CTRL_C)
            film.shot("again to quit")
            tty.line("the answer")
            film.shot("answered")
            tty.send(CTRL_O)
            film.shot("thinking opened")
            tty.line("go on")
            film.shot("failed")
            tty.line("and on")
            film.shot("asked again later")
            tty.send(ESC)
            film.shot("stopped while it waits")
            tty.line("the rest")
            film.shot("nearly full")
            assert tty.screen.buffer[tty.screen.cursor.y + 1][2].fg == "brown"  # yellow
            tty.line("/quit")
            assert tty.wait() == 0
            film.shot("gone")

    return Scene(replies, scene)


@filmed
def tools() -> Scene:
    """A command, an edit, both by hunk, changed first, always, refused, two at once, cut; calls that run and end."""
    new = SHOP.replace("    return sum(", "    # 整数分\n    return round(").replace("0.19", "0.20")
    long = "".join(f"line {n} 第 {n} 行\n" for n in range(60))
    loop = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $n; done; sleep 60"
    replies = told(
        [text("Let me look."), call("read_file", path="购物车.py"), call("grep", pattern="return", path=".")],
        [call("shell", command="printf '测试\\n1 failed\\n'; exit 3")],
        [call("edit", path="购物车.py", old_string=SHOP, new_string=new)],
        [call("edit", path="购物车.py", old_string="VAT = 0.20", new_string="VAT = 0.19  # 税")],
        [call("write_file", path="long.txt", content=long)],
        [*[call("web_fetch", url="http://192.0.2.1/a")] * 2],
        [call("shell", command=loop)],
    )

    def prepare(work: Path) -> None:
        (work / "购物车.py").write_text(SHOP)
        (work / "edit.sh").write_text('#!/bin/sh\nsed -i s/19/21/ "$1"\n')
        (work / "edit.sh").chmod(0o755)

    def scene(on: Set, film: Film) -> None:
        with film.of(tty := on.opens("chat", rows=200, env={**on.model(), "VISUAL": str(on.work / "edit.sh")})):
            film.shot("idle")
            tty.line("round it")
            film.shot("a command asks")
            tty.line("")
            film.shot("enter decides nothing")
            tty.press("e")
            film.shot("the command changed first")
            tty.send(ESC)
            film.shot("back again")
            tty.press("y")
            film.shot("an edit, after a command that failed")
            tty.press("h")
            film.shot("first hunk")
            tty.press("n")
            film.shot("second hunk")
            tty.press("y")
            film.shot("another edit")
            tty.press("a")
            film.shot("always: where")
            tty.send(ESC)
            film.shot("not always")
            tty.press("e")
            film.shot("a long file, after an edit changed first")
            tty.send(CTRL_O)
            film.shot("all of it")
            tty.press("n")
            film.shot("why not")
            tty.line("too long 太长")
            film.shot("two at once")
            tty.send("\t")
            film.shot("the other one")
            tty.press("A")
            film.shot("a command")
            tty.press("y")
            film.shot("it runs")
            tty.send(ESC)
            film.shot("stopped")

    return Scene(replies, scene, prepare=prepare)


@filmed
def questions() -> Scene:
    """The model asks: with choices, in free words, and gets no answer."""
    colours = ["blue 蓝色", "a green that is so long that it has to be wrapped on a narrow screen", "none"]
    replies = told(
        [call("ask_user", question="Which colour? 哪种颜色？", choices=colours)],
        [call("ask_user", question="How is it called?")],
        [call("ask_user", question="Why?")],
        [text("Thanks.")],
    )

    def scene(on: Set, film: Film) -> None:
        with film.of(tty := on.opens("chat")):
            film.shot("idle")
            tty.line("paint it")
            film.shot("choices")
            tty.line("1")
            film.shot("free words, after an answer")
            tty.send("天蓝")
            film.shot("an answer being typed")
            tty.line("")
            film.shot("one more")
            tty.send(ESC)
            film.shot("no answer")

    return Scene(replies, scene)


@filmed
def plan() -> Scene:
    """The plan asks, is shown, refused with a reason, edited, approved and carried out with ticked steps."""

    def steps(first: str, second: str) -> Step:
        return call(
            "tasks", tasks=[{"text": "total() in cents", "status": first}, {"text": "更新日志", "status": second}]
        )

    replies = told(
        [call("ask_user", question="Integers or decimals?", choices=["integers 整数", "decimals"])],
        [text(PLAN)],
        [text(PLAN.replace("None.", "Old carts hold floats."))],
        [steps("in_progress", "pending"), call("write_file", path="cart.py", content="x = 1\n")],
        [steps("completed", "in_progress")],
        [text("All done.")],
    )

    def prepare(work: Path) -> None:
        (work / "edit.sh").write_text('#!/bin/sh\nsed -i s/late/early/ "$1"\n')
        (work / "edit.sh").chmod(0o755)

    def scene(on: Set, film: Film) -> None:
        with film.of(tty := on.opens("chat", rows=120, env={**on.model(), "VISUAL": str(on.work / "edit.sh")})):
            film.shot("idle")
            tty.line("/plan round late")
            film.shot("it asks")
            tty.line("1")
            film.shot("the plan")
            tty.press("n")
            film.shot("refused")
            tty.line("think of old carts")
            film.shot("another plan")
            tty.press("e")
            film.shot("edited")
            tty.press("y")
            film.shot("the first step asks")
            tty.press("y")
            film.shot("carried out")

    return Scene(replies, scene, prepare=prepare)


@filmed
def slash() -> Scene:
    """What each command says, and what is said of one that is not there."""
    replies = told(
        [call("write_file", path="新.txt", content="one\n二\n")],
        [text("First answer.")],
        [text("Second answer. " + "word " * 500)],
        [text("A summary.")],
        [text("Reviewed.")],
    )

    def prepare(work: Path) -> None:
        own = work.parent / ".config" / "aicli" / "commands"
        own.mkdir(parents=True)
        (own / "review.md").write_text('+++\ndescription = "Reviews a file."\n+++\nReview $1 for $ARGUMENTS.\n')

    def scene(on: Set, film: Film) -> None:
        with film.of(tty := on.opens("chat", "--permission-mode", "accept-edits", rows=300)):
            film.shot("idle")
            tty.line("write it")
            film.shot("written")
            for n, line in enumerate(SLASH):
                tty.line(line)
                film.shot(line + " again" * SLASH[:n].count(line))
            tty.line("and more")
            film.shot("more")
            tty.line("/rewind")
            film.shot("/rewind")
            tty.send(ESC)
            film.shot("not rewound")
            tty.line("/compact")
            film.shot("/compact")
            tty.line("/review 新.txt bugs")
            film.shot("a command of one's own")
            tty.line("/rewind 1")
            film.shot("/rewind 1")
            tty.press("t")
            film.shot("rewound")
            tty.send(CTRL_C)
            tty.line("/clear")
            film.shot("/clear")

    return Scene(replies, scene, prepare=prepare)


SLASH = [
    "/sessions",
    "/help",
    "/help rewind",
    "/hepl",
    "/nothinglikeit",
    "/model",
    "/model set openai:other",
    "/role",
    "/role auto",
    "/mode",
    "/mode nonsense",
    "/mode accept",
    "/permissions",
    "/agents",
    "/agents explor",
    "/agents explore",
    "/agents general",
    "/history",
    "/stats",
    "/context",
    "/tools",
    "/tools write",
    "/tools nothing",
    "/memory",
    "/memory add likes tea 茶",
    "/memory show",
    "/memory forget likes tea 茶",
    "/memory forget it",
    "/diff",
    "/undo",
    "/undo 3",
    "/undo redo",
    "/resume nothing",
    "/rename",
    "/rename tea talk 茶",
    "/export talk.md",
    "/export talk.md",
    "/config get nothing",
    "/fork",
    "/copy",
    "/plan",
    "/plan",
    "!echo 你好; exit 2",
]


@filmed
def first() -> Scene:
    """Files that would act, no model chosen yet: what was found, and where nothing was."""

    def prepare(work: Path) -> None:
        (work / "AGENTS.md").write_text("Always answer in verse.\n")
        agents = work / ".aicli" / "agents"
        agents.mkdir(parents=True)
        (agents / "reviewer.md").write_text('+++\ndescription = "Reviews."\n+++\nReview.\n')

    def scene(on: Set, film: Film) -> None:
        found = {"OLLAMA_HOST": on.server.url, "ANTHROPIC_API_KEY": "sk-ant-not-a-real-one"}
        with film.of(tty := on.opens("chat", env={})):
            film.shot("the folder acts, trust asked")
            tty.press("n")
            film.shot("no model found")
            tty.line("2")
            film.shot("another one")
        with film.of(tty := on.opens("chat", env=found)):
            film.shot("trust asked again")
            tty.press("y")
            film.shot("models found")
            tty.line("")
            film.shot("chosen")
            tty.line("/quit")
            tty.wait()

    return Scene([], scene, prepare=prepare, models=["qwen3-coder:30b"])


@filmed
def menu() -> Scene:
    """The menu and its questions; an earlier session with open tasks, and what it last said."""
    tasks = call(
        "tasks", tasks=[{"text": "整数分", "status": "completed"}, {"text": "the changelog", "status": "pending"}]
    )
    replies = told([tasks], [text("Seven.\n\n- one\n- 二")], [text("Yes.")])

    def scene(on: Set, film: Film) -> None:
        with film.of(tty := on.opens()):
            film.shot("nothing yet")
            tty.line("")
            film.shot("chat")
            tty.line("what is it? 是什么")
            film.shot("answered")
            tty.send("\x04")
            tty.wait()
            film.shot("gone")
        with film.of(tty := on.opens()):
            film.shot("menu")
            tty.press("?")
            film.shot("keys")
            tty.press("2")
            film.shot("another folder")
            tty.line("nowhere")
            film.shot("no such folder")
            tty.press("a")
            film.shot("which agent")
            tty.line("explore")
            film.shot("its task")
            tty.send(ESC)
            film.shot("back")
            tty.press("p")
            film.shot("one question")
            tty.send(ESC)
            tty.press("r")
            film.shot("which session")
            tty.line("1")
            film.shot("resumed")
            tty.line("sure?")
            film.shot("goes on")
            tty.line("/quit")
            tty.wait()

    return Scene(replies, scene)


@filmed
def run() -> Scene:
    """`agent run`: calls, a sub-agent at work, an approval, the last lines."""
    waits = "echo 第一行; while ! test -e go; do sleep 0.1; done; echo over"
    replies = told(
        [text("先看看。"), call("ls", path=".")],
        [call("agent", type="general", task="find 影响")],
        [call("shell", command=waits)],
        [text("Two files.")],
        [call("read_file", path="missing.py")],
        [text("# Done\n\nFile `cart.py` is **good** 好。")],
    )

    def scene(on: Set, film: Film) -> None:
        with film.of(tty := on.opens("agent", "run", "general", "round it")):
            film.shot("a sub-agent asks")
            tty.press("y")
            film.shot("a sub-agent works")
            (on.work / "go").touch()
            assert tty.wait() == 0
            film.shot("finished")

    return Scene(replies, scene)


@filmed
def plain() -> Scene:
    """A simple terminal: words for marks, nothing moves."""
    replies = told(
        [text("先看看。"), call("ls", path=".")],
        [call("shell", command="echo 一; exit 3")],
        [think("Hm."), text("# Done\n\nAll **good**.")],
        [text("Hello.")],
    )

    def scene(on: Set, film: Film) -> None:
        with film.of(tty := on.opens("agent", "run", "general", "--yolo", "go", env={**on.model(), "TERM": "dumb"})):
            tty.wait()
            film.shot("a run")
        with film.of(tty := on.opens("chat", "--plain")):
            tty.until(">")
            tty.line("hi")
            film.shot("chat")
            for line in ("/help", "/model", "/stats", "/diff", "/nothing"):
                tty.line(line)
                film.shot(line)
            tty.line("/quit")
            assert tty.wait() == 0
            assert b"\x1b" not in tty.raw

    return Scene(replies, scene, columns=(80,))


Films = dict[tuple[str, tuple[str, int]], "Future[None]"]


@pytest.fixture(scope="module")
def films(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Films]:
    """The scenes asked for, played several at a time: most of their time is waiting for a person who thinks."""
    mine = [item for item in request.session.items if item.path == request.path]
    wanted = {item.callspec.params["name"] for item in mine}  # type: ignore[attr-defined]
    with ThreadPoolExecutor(6) as pool:
        started: Films = {}
        for name in (n for n in SCENES if n in wanted):
            scene = SCENES[name]()
            for variant in of(scene):
                folder = tmp_path_factory.mktemp(f"{name}-{variant[1]}-{variant[0]}")
                started[name, variant] = pool.submit(play, name, variant, folder, scene)
        yield started
        pool.shutdown(cancel_futures=True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SCENES)
def test_every_state_of_the_terminal_looks_as_it_should(name: str, films: Films) -> None:
    for variant in of(SCENES[name]()):
        films[name, variant].result()
