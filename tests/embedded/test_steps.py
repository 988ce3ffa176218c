"""How a request becomes a dialogue, and how the JSON of a step becomes events."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, JsonObject, TextPart
from aicli.content.request import ModelRequest, ToolSpec
from aicli.content.stream import Assembler
from aicli.models.embedded import doubts, guidance, steps
from aicli.models.embedded.contents import seen, unnumbered
from aicli.models.embedded.grammar import Grammar, literal
from aicli.models.embedded.reader import StepReader

STRING = {"type": "string"}


def spec(name: str, *required: str, **optional: JsonObject) -> ToolSpec:
    properties = {**dict.fromkeys(required, STRING), **optional}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description=f"{name} does things.\nMore.", parameters=parameters)


TOOLS = (
    spec("ls", path=STRING),
    spec("read_file", "path", offset={"type": "integer"}),
    spec("grep", "pattern", path=STRING),
    spec("write_file", "path", "content"),
    spec("edit", "path", "old_string", "new_string"),
    spec("shell", "command"),
)


def exchange(name: str, result: str, *, error: bool = False, **args: str) -> tuple[Message, Message]:
    n = f"id_{name}_{abs(hash((result, tuple(args.items()))))}"
    call = FunctionCallPart(id=n, name=name, args=dict(args))
    answer = FunctionResponsePart(id=n, name=name, content=(TextPart(text=result),), is_error=error)
    return Message(role="model", parts=(call,)), Message(role="tool", parts=(answer,))


def asked(task: str, *more: Message, paths: tuple[str, ...] = (), tools: tuple[ToolSpec, ...] = TOOLS) -> ModelRequest:
    return ModelRequest(messages=(Message.user(task), *more), tools=tools, paths=paths)


def steps_of(grammar: str) -> set[str]:
    """The tools that the grammar's root allows."""
    root = grammar.splitlines()[0]
    return set(re.findall(r'\{\\"tool\\": \\"(\w+)\\"', root))


def test_the_examples_are_whole_dialogues_of_valid_steps() -> None:
    prefix = steps.prefix()
    assert prefix[0]["role"] == "system"
    assert [m["role"] for m in prefix[1:]] == ["user", "assistant"] * (len(prefix[1:]) // 2)
    for message in prefix:
        if message["role"] == "assistant":
            step = json.loads(message["content"])
            assert steps.step_text(step["tool"], step["args"]) == message["content"]
            assert step["tool"] in {*steps.COMPACT, steps.ANSWER}
    assert json.loads(prefix[-1]["content"])["tool"] == steps.ANSWER


def test_each_result_comes_with_the_task_again() -> None:
    request = asked("数一数 a.txt 的行数", *exchange("shell", "3 a.txt\nexit code 0", command="wc -l a.txt"))
    chat = steps.dialogue(request, steps.listing(("a.txt",)))
    assert chat[0]["content"] == "Files: a.txt\nRequest: 数一数 a.txt 的行数"
    assert json.loads(chat[1]["content"]) == {"tool": "shell", "args": {"command": "wc -l a.txt"}}
    assert chat[2]["content"].startswith("Result:\n3 a.txt\nexit code 0\nRequest: 数一数 a.txt 的行数.")


def test_the_listing_before_the_first_task_and_the_frame_are_left_out() -> None:
    message = Message(role="user", parts=(TextPart(text="Files here:\na.txt\n"), TextPart(text="Say hi")))
    system = "You are aicli, an agent.\n\nDo it.\n\n# Remembered facts\n\n- tabs, never spaces"
    chat = steps.dialogue(ModelRequest(system=system, messages=(message,), tools=TOOLS), "Files: a.txt\n")
    assert chat[0]["content"] == "Notes:\n# Remembered facts\n\n- tabs, never spaces\nFiles: a.txt\nRequest: Say hi"


def test_a_long_history_is_cut_short_from_its_oldest_result_on() -> None:
    reads = [exchange("shell", f"{n} " + "长文" * 1_000, command=f"cat {n}") for n in range(9)]
    request = asked("数一数", *(m for pair in reads for m in pair))
    chat = steps.dialogue(request, "")
    assert len(chat[2]["content"]) < 500
    assert len(chat[-1]["content"]) > 2_000
    assert sum(steps._weight(m["content"]) for m in chat) <= steps.MOST_WEIGHT
    assert chat[0]["content"] == "Request: 数一数"


def test_only_the_tools_it_was_shown_are_offered_beside_many_others() -> None:
    others = tuple(spec(f"other{n}") for n in range(7))
    assert steps.offered(asked("x", tools=TOOLS + others)) == TOOLS
    assert steps.offered(asked("x", tools=TOOLS + others[:2])) == TOOLS + others[:2]
    assert steps.offered(asked("x", tools=others)) == others
    chosen = ModelRequest(messages=(Message.user("x"),), tools=TOOLS, tool_choice="shell")
    assert [t.name for t in steps.offered(chosen)] == ["shell"]
    assert steps_of(guidance.step_grammar(chosen)) == {"shell"}
    none = chosen.model_copy(update={"tool_choice": "none"})
    assert steps_of(guidance.step_grammar(none)) == {"answer"}


def test_an_unseen_file_is_read_before_it_is_written() -> None:
    request = asked("Set the port", paths=("config.ini",))
    assert guidance.instead(request, "write_file", {"path": "config.ini", "content": "x"}) == (
        "read_file",
        {"path": "config.ini"},
    )
    assert guidance.instead(request, "write_file", {"path": "new.ini", "content": "x"}) is None
    known = asked("Set the port", *exchange("read_file", "     1\tport = 1", path="config.ini"), paths=("config.ini",))
    assert guidance.instead(known, "write_file", {"path": "config.ini", "content": "x"}) is None


def test_a_file_is_read_before_a_command_changes_its_text_in_place() -> None:
    request = asked("debug off", paths=("config.json",))
    sed = {"command": "sed -i 's/debug: true/debug: false/' config.json"}
    assert guidance.instead(request, "shell", sed) == ("read_file", {"path": "config.json"})
    assert guidance.instead(request, "shell", {"command": "python3 config.json"}) is None
    read = asked("debug off", *exchange("read_file", "     1\t{}", path="config.json"), paths=("config.json",))
    assert guidance.instead(read, "shell", sed) is None


def test_what_the_task_names_is_looked_at_before_anything_is_written_or_answered() -> None:
    request = asked("Write the text of a.txt in capitals to b.txt", paths=("a.txt", "ba.txt"))
    assert guidance.named_files(request) == ["a.txt"]
    assert guidance.instead(request, "write_file", {"path": "b.txt", "content": "x"}) == (
        "read_file",
        {"path": "a.txt"},
    )
    assert "answer" not in steps_of(guidance.step_grammar(request))
    assert "answer" in steps_of(guidance.step_grammar(asked("What is two plus two?", paths=("a.txt",))))


def test_an_edit_needs_a_file_that_was_seen_and_its_own_lines() -> None:
    long = "\n".join(f"     {n}\tvalue{n} = {n}" for n in range(1, 60))
    assert "edit" not in steps_of(guidance.step_grammar(asked("x", paths=("a.py",))))
    grammar = guidance.step_grammar(asked("x", *exchange("read_file", long, path="a.py"), paths=("a.py",)))
    assert "edit" in steps_of(grammar)
    assert '::= "value59 = 59"\n' in grammar
    short = guidance.step_grammar(asked("x", *exchange("read_file", "     1\ta = 1", path="a.py"), paths=("a.py",)))
    assert "edit" not in steps_of(short)
    assert "write_file" in steps_of(short)


def test_after_a_failure_something_else_has_to_be_tried_a_few_times() -> None:
    failed = exchange("shell", "mkdir: cannot create directory\nexit code 1", command="mkdir a/b")
    for times in range(1, 6):
        allowed = steps_of(guidance.step_grammar(asked("make a/b", *(failed * times))))
        assert ("answer" in allowed) == (times > guidance.MOST_FORCED)
    tests = exchange("shell", "FAILED (failures=1)\nexit code 1", command="python3 t.py")
    assert "answer" in steps_of(guidance.step_grammar(asked("run the tests", *tests)))
    changed = exchange("write_file", "Created t.py", path="t.py", content="x")
    assert "answer" not in steps_of(guidance.step_grammar(asked("write a test, run it", *changed, *tests)))


def test_tests_that_ran_are_a_result_also_when_some_fail() -> None:
    for said in ("FAIL: test_two\nRan 3 tests in 0.001s\n\nFAILED (failures=1)", "=== 1 failed, 2 passed in 0.1s ==="):
        ran = exchange("shell", f"{said}\nexit code 1", error=True, command="python3 test_math.py")
        assert not steps.has_failed(ran[1].responses[0])
        assert "answer" in steps_of(guidance.step_grammar(asked("how many tests fail?", *ran)))
        changed = exchange("write_file", "Wrote math.py", path="math.py", content="x")
        assert "answer" not in steps_of(guidance.step_grammar(asked("fix it", *changed, *ran)))
    crashed = exchange("shell", "SyntaxError: invalid\nexit code 1", error=True, command="python3 a.py")
    assert steps.has_failed(crashed[1].responses[0])


def test_a_search_without_a_hit_is_not_trusted_at_once() -> None:
    nothing = exchange("grep", "No matches.", pattern="default_timeout")
    assert "answer" not in steps_of(guidance.step_grammar(asked("which timeout?", *nothing)))
    assert "answer" in steps_of(guidance.step_grammar(asked("which timeout?", *nothing, *nothing)))
    found = exchange("read_file", "     1\tTIMEOUT = 4", path="a.py")
    assert "answer" in steps_of(guidance.step_grammar(asked("which timeout?", *nothing, *found)))


def test_a_search_in_small_letters_finds_capitals_and_is_shown_as_it_was_written() -> None:
    reader = steps_reader('{"tool": "grep", "args": {"pattern": "timeout"}}')
    assert reader.call() == ("grep", {"pattern": "timeout", "ignore_case": True})
    assert steps_reader('{"tool": "grep", "args": {"pattern": "Timeout"}}').call() == ("grep", {"pattern": "Timeout"})
    call, answer = exchange("grep", "a.py:1: TIMEOUT", pattern="timeout")
    done = call.model_copy(
        update={"parts": (call.calls[0].model_copy(update={"args": {**call.calls[0].args, "ignore_case": True}}),)}
    )
    chat = steps.dialogue(asked("which?", done, answer), "")
    assert chat[1]["content"] == '{"tool": "grep", "args": {"pattern": "timeout"}}'


def steps_reader(text: str) -> StepReader:
    reader = StepReader()
    reader.feed(text)
    return reader


def test_after_a_refusal_it_may_say_so() -> None:
    refused = exchange("shell", "not permitted: nobody is there to approve it", error=True, command="rm x")
    assert "answer" in steps_of(guidance.step_grammar(asked("delete x", *refused)))


def test_something_can_always_be_said() -> None:
    for tools in ((), TOOLS[4:5]):
        request = ModelRequest(messages=(Message.user("x"),), tools=tools, tool_choice="required")
        assert steps_of(guidance.step_grammar(request)) == {"answer"}


def test_a_new_text_that_drops_a_files_lines_is_doubted_once_in_the_dialogue() -> None:
    known = exchange("read_file", "     1\tbuild/\n     2\tdist/", path=".gitignore")
    request = asked("Add *.log", *known, paths=(".gitignore",))
    body = {"messages": [{"role": "user", "content": "x"}], "grammar": "g"}
    new = {"path": ".gitignore", "content": "*.log\n"}
    again = doubts.again(request, body, "write_file", new)
    assert again is not None
    assert again["grammar"] == "g"
    assert json.loads(again["messages"][1]["content"]) == {"tool": "write_file", "args": new}
    assert "would lose these lines:\nbuild/\ndist/" in again["messages"][2]["content"]
    whole = {"path": ".gitignore", "content": "build/\ndist/\n*.log\n"}
    assert doubts.again(request, body, "write_file", whole) is None
    assert doubts.again(request, body, "write_file", {"path": "new", "content": "x"}) is None
    repeated = doubts.again(request, body, "read_file", {"path": ".gitignore"})
    assert repeated is not None
    assert steps_of(repeated["grammar"]) == {"answer"}


TWO_FILES = ("bill.py", "report.py", "__pycache__/bill.cpython-311.pyc")
BOTH_READ = (
    *exchange("read_file", "     1\ttotal = 42", path="bill.py"),
    *exchange("read_file", "     1\tprint(total)", path="report.py"),
)
ONE_WRITTEN = exchange("write_file", "Wrote report.py", path="report.py", content="print(amount)")


def test_what_the_task_wants_changed_is_changed_before_it_is_run_or_answered() -> None:
    task = "Rename total to amount in bill.py and in report.py, then run report.py"
    body = {"messages": [{"role": "user", "content": "x"}], "grammar": "g"}
    half = asked(task, *BOTH_READ, *ONE_WRITTEN, paths=TWO_FILES)
    assert doubts.unchanged(half) == ["bill.py"]
    for again in (
        doubts.unfinished(half, body),
        doubts.again(half, body, "shell", {"command": "python3 report.py"}),
        doubts.again(half, body, "write_file", {"path": "report.py", "content": "print(amount)"}),
    ):
        assert again is not None
        assert steps_of(again["grammar"]) == {"edit"} and '::= "total = 42"\n' in again["grammar"]
        assert [json.loads(again["messages"][1]["content"])["args"], again["messages"][2]["role"]] == [
            {"path": "bill.py"},
            "user",
        ]
    assert doubts.again(half, body, "shell", {"command": "grep -c x report.py"}) is None
    assert "\nNot changed yet: bill.py\nRequest: " in doubts.reminded(half, steps.dialogue(half, ""))[-1]["content"]
    edited = exchange("edit", "Edited bill.py", path="bill.py", old_string="total", new_string="amount")
    whole = asked(task, *BOTH_READ, *ONE_WRITTEN, *edited, paths=TWO_FILES)
    assert doubts.unchanged(whole) == [] and doubts.unfinished(whole, body) is None
    assert "Not changed" not in doubts.reminded(whole, steps.dialogue(whole, ""))[-1]["content"]
    by_command = exchange("shell", "exit code 0, no output", command="sed -i s/total/amount/ bill.py report.py")
    assert doubts.unchanged(asked(task, *BOTH_READ, *by_command, paths=TWO_FILES)) == []


@pytest.mark.parametrize(
    ("task", "left"),
    [
        ("Change bill.py and report.py so that they greet", ["bill.py", "report.py"]),
        ("Set the port in bill.py, report.py and x.ini", ["bill.py", "report.py"]),
        ("Move f from bill.py to a new file text.py, import it in bill.py, and run report.py", ["bill.py"]),
        ("把 bill.py 里的 total 改成 amount", ["bill.py"]),
        ("修改bill.py，然后运行 report.py", ["bill.py"]),
        ("Run report.py and tell me what it prints", []),
        ("Which functions does bill.py define?", []),
        ("Run report.py, find out why it fails and fix it", []),
    ],
)
def test_only_what_the_task_says_is_to_be_changed(task: str, left: list[str]) -> None:
    request = asked(task, *exchange("ls", "bill.py report.py", path="."), paths=TWO_FILES)
    assert doubts.unchanged(request) == left
    assert doubts.unchanged(asked(task, paths=TWO_FILES)) == []


def test_data_is_no_file_to_be_changed_and_is_read_before_it_is_added_up() -> None:
    request = asked("Add up the amounts in jan.csv", paths=("jan.csv",))
    command = {"command": "awk -F, '{s += $2} END {print s}' jan.csv"}
    assert guidance.instead(request, "shell", command) == ("read_file", {"path": "jan.csv"})
    read = asked(
        "Add up the amounts in jan.csv", *exchange("read_file", "     1\ta,1", path="jan.csv"), paths=("jan.csv",)
    )
    assert guidance.instead(read, "shell", command) is None
    assert doubts.unchanged(read) == []


def test_a_file_that_was_only_run_or_looks_alike_was_not_looked_at() -> None:
    ran = exchange("shell", "FAILED\nexit code 1", error=True, command="python3 test_dates.py")
    request = asked("Run test_dates.py and fix dates.py", *ran, paths=("dates.py", "test_dates.py"))
    write = {"path": "dates.py", "content": "x"}
    assert guidance.instead(request, "write_file", write) == ("read_file", {"path": "dates.py"})
    shown = exchange("shell", "def f(): ...\nexit code 0", command="cat dates.py test_dates.py")
    assert guidance.instead(asked("Fix dates.py", *shown, paths=("dates.py",)), "write_file", write) is None


def test_what_programs_leave_behind_is_not_offered() -> None:
    assert steps.listing(TWO_FILES) == "Files: bill.py, report.py\n"
    assert "pycache" not in guidance.step_grammar(asked("Read bill.py", paths=TWO_FILES))


def test_a_new_file_gets_the_name_that_the_task_gives_it() -> None:
    request = asked("新建 算术.py，打印 加(2, 3)，再把结果写入 结果.txt")
    assert "the request names 算术.py" in doubts.doubt(request, "write_file", {"path": "arithmetic.py", "content": "x"})
    for path in ("算术.py", "./算术.py", "结果.txt", "data.json"):
        assert doubts.doubt(request, "write_file", {"path": path, "content": "x"}) == ""
    package = asked("Create a package shapes with circle.py, then main.py that prints shapes.circle.area(1)")
    assert doubts.doubt(package, "write_file", {"path": "shapes/circle.py", "content": "x"}) == ""
    many = asked("Make a file NAME.txt for each name")
    assert doubts.doubt(many, "write_file", {"path": "Ada.txt", "content": "x"}) == ""


def test_writing_what_is_there_already_is_doubted() -> None:
    known = exchange("read_file", "     1\ta = 1", path="a.py")
    request = asked("Set a to 2 in a.py", *known, paths=("a.py",))
    assert "holds exactly this already" in doubts.doubt(request, "write_file", {"path": "a.py", "content": "a = 1\n"})


def test_an_answer_after_a_failure_begins_with_it() -> None:
    stat = exchange("shell", "mv: cannot stat 'big/'\nexit code 1", error=True, command="mv big/")
    assert guidance.admission(asked("move it", *stat)) == ["The last step failed: "]
    assert guidance.admission(asked("把它移走", *stat)) == ["最后一步失败了："]
    assert '"The last step failed: "' in guidance.step_grammar(asked("move it", *(stat * 5)))
    fine = exchange("shell", "exit code 0, no output", command="mv a b")
    assert guidance.admission(asked("move it", *stat, *fine)) == []
    assert guidance.admission(asked("which?", *exchange("grep", "No match", pattern="x"))) == []


DENIED = "not permitted: it changes a file; nobody is there to approve it"


def test_an_answer_after_a_refusal_says_what_was_not_done_and_nothing_else() -> None:
    refused = exchange("write_file", DENIED, error=True, path="hello.py", content="print()")
    grammar = guidance.step_grammar(asked("create hello.py, then run it", *refused))
    said = f"hello.py was not written: {DENIED}."
    assert f"{literal(json.dumps(said))}\n" in grammar, grammar
    chinese = guidance.step_grammar(asked("新建 hello.py 并运行", *refused))
    assert "hello.py 没有写入：not permitted" in chinese
    stopped = exchange("shell", "cancelled", error=True, command="python3 a.py")
    assert "`python3 a.py` was not run: cancelled." in guidance.step_grammar(asked("run a.py", *stopped))


def test_what_was_done_beside_a_refusal_may_be_told_after_it() -> None:
    refused = exchange("write_file", DENIED, error=True, path="a.txt", content="1")
    ran = exchange("shell", "3\nexit code 0", command="wc -l b.txt")
    assert guidance.admission(asked("count, write a.txt", *refused, *ran)) == [f"a.txt was not written: {DENIED}.\n"]
    assert guidance.admission(asked("count, write a.txt", *ran, *refused)) == [f"a.txt was not written: {DENIED}.\n"]
    written = exchange("write_file", "Created a.txt: 1 line, 1 byte.", path="a.txt", content="1")
    assert guidance.admission(asked("write a.txt", *refused, *written)) == []
    earlier = asked("write a.txt", *refused, Message.user("what is two plus two?"))
    assert guidance.admission(earlier) == []


def test_a_repeated_call_is_noticed_unless_something_changed_between() -> None:
    look = exchange("grep", "no match", pattern="x")
    assert doubts.repeated(asked("t", *look), "grep", {"pattern": "x"})
    assert not doubts.repeated(asked("t", *look), "grep", {"pattern": "y"})
    write = exchange("write_file", "Created a", path="a", content="1")
    assert not doubts.repeated(asked("t", *look, *write), "grep", {"pattern": "x"})
    assert doubts.repeated(asked("t", *write, *look), "write_file", {"path": "a", "content": "1"})
    earlier = (Message.user("t"), *look, Message.model("done"), Message.user("again"))
    assert not doubts.repeated(ModelRequest(messages=earlier, tools=TOOLS), "grep", {"pattern": "x"})
    assert steps_of(guidance.step_grammar(asked("t", *look), after="grep")) == {"answer"}
    assert "write_file" not in steps_of(guidance.step_grammar(asked("t", *write), after="write_file"))
    failed = exchange("shell", "ImportError\nexit code 1", command="python3 b")
    stuck = asked("t", *write, *exchange("read_file", "     1\tx", path="b"), *failed)
    grammar = guidance.step_grammar(stuck, after="write_file", path="a")
    assert {"write_file", "shell"} <= steps_of(grammar)
    assert "answer" not in steps_of(grammar)
    assert '::= "\\"b\\""' in grammar


def test_contents_are_followed_through_writes_edits_and_commands() -> None:
    history = (
        *exchange("read_file", "     1\tone\n     2\ttwo", path="./a.txt"),
        *exchange("edit", "Edited", path="a.txt", old_string="two", new_string="three"),
        *exchange("write_file", "Created", path="b.txt", content="new\n"),
        *exchange("edit", "not found", error=True, path="b.txt", old_string="x", new_string="y"),
    )
    found = seen(history)
    assert found.texts == {"a.txt": "one\nthree", "b.txt": "new\n"}
    assert found.fresh("a.txt")
    assert not seen((*history, *exchange("shell", "exit code 0", command="rm a.txt"))).fresh("a.txt")


@pytest.mark.parametrize(
    ("reading", "text"),
    [
        ("     1\ta\n     2\t", "a\n"),
        ("     2\tb", None),
        ("     1\ta\n[lines 1-1 of 900; go on with offset=2]", None),
        ("a.txt is empty.", None),
    ],
)
def test_only_a_whole_reading_gives_the_text(reading: str, text: str | None) -> None:
    assert unnumbered(reading) == text


@given(st.text())
def test_a_literal_of_the_grammar_stands_for_exactly_its_text(text: str) -> None:
    inside = literal(text)[1:-1]
    plain = re.sub(r'\\(x[0-9A-F]{2}|n|["\\])', lambda m: _unescaped(m[1]), inside)
    assert plain == text
    assert "\n" not in inside


def _unescaped(code: str) -> str:
    return chr(int(code[1:], 16)) if code[0] == "x" and len(code) == 3 else "\n" if code == "n" else code


def test_lines_of_a_file_may_be_taken_together_and_a_line_twice_only_with_the_next() -> None:
    grammar = Grammar()
    grammar.edit("a.py", "x = 1\ny = 2\nx = 1\nz = 3")
    lines = dict(line.split(" ::= ", 1) for line in grammar.text().splitlines() if " ::= " in line)
    assert lines["r0"] == '"z = 3"'
    assert lines["r1"] == '"x = 1" ("\\\\n" r0)?'
    assert lines["r2"] == '"x = 1" ("\\\\n" r0)'
    assert "(r5 | r3 | r2 | r0)" in grammar.text()


STEPS = [
    {"tool": "shell", "args": {"command": 'echo "héllo" > 文件.txt\t\\'}},
    {"tool": "answer", "args": {"text": 'Done: "a\\b"\n第二行 🎈'}},
    {"tool": "write_file", "args": {"path": "a", "content": ""}},
    {"tool": "answer", "args": {"text": {"count": 3}}},
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_step_cut_anywhere_gives_the_same_message(step: JsonObject, ascii_only: bool) -> None:
    text = json.dumps(step, ensure_ascii=ascii_only)
    for cut in range(len(text) + 1):
        reader, assembler = StepReader(), Assembler("embedded")
        for event in (*reader.feed(text[:cut]), *reader.feed(text[cut:]), *reader.close()):
            assembler.feed(event)
        message = assembler.message()
        if step["tool"] == "answer":
            wanted = step["args"]["text"]
            assert message.text == (wanted if isinstance(wanted, str) else json.dumps(wanted))
            assert not message.calls
        else:
            assert [(c.name, c.args, c.raw) for c in message.calls] == [(step["tool"], step["args"], "")]
            assert not message.text


def test_half_a_surrogate_never_comes_out() -> None:
    reader = StepReader()
    text = '{"tool": "answer", "args": {"text": "a\\ud83dz \\udc00 \\ud83d\\ude00"}}'
    out = "".join(e.text for piece in text for e in reader.feed(piece))  # type: ignore[union-attr]
    assert out == "a\N{REPLACEMENT CHARACTER}z \N{REPLACEMENT CHARACTER} \N{GRINNING FACE}"


def test_a_call_cut_at_the_limit_is_kept_as_raw_text() -> None:
    reader, assembler = StepReader(), Assembler("embedded")
    for event in (*reader.feed('{"tool": "write_file", "args": {"path": "a", "con'), *reader.close()):
        assembler.feed(event)
    (call,) = assembler.message().calls
    assert call.name == "write_file"
    assert call.raw
    assert not call.args


def test_an_answer_keeps_to_the_form_that_the_agent_sets() -> None:
    system = "You are aicli.\n\nAnswer in this form:\n\n# Plan: <the goal>\n\n<One paragraph.>\n\n## Steps\n1. <one>\n"
    request = asked("x").model_copy(update={"system": system})
    assert guidance.form(request) == ["# Plan: ", "\n\n", "\n\n## Steps\n1. "]
    rule = r'"\"" "# Plan: " line "\\n\\n" line "\\n\\n## Steps\\n1. " char* "\""'
    assert rule in guidance.step_grammar(request)
    schema = request.model_copy(update={"output_schema": {"type": "boolean"}})
    assert rule not in guidance.step_grammar(schema)
    assert guidance.form(asked("x")) == []
