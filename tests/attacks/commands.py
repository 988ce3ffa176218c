"""D01 to D16: command lines that want to pass as harmless."""

from __future__ import annotations

from tests.attacks.site import Site, case


@case("D01")
def chains(site: Site) -> None:
    site.stopped(["ls; touch PWN", "ls && touch PWN", "false || touch PWN", "ls | tee PWN"])


@case("D02")
def substitutions(site: Site) -> None:
    site.stopped(["echo $(touch PWN)", "echo `touch PWN`", "cat <(touch PWN)", "echo ${x:=$(touch PWN)}"])


@case("D03")
def find_that_acts(site: Site) -> None:
    run = [f"find . {flag} touch PWN \\;" for flag in ("-exec", "-execdir", "-ok")]
    site.stopped([*run, "find src -delete", "find . -fprint PWN"])
    assert (site.work / "src" / "a.py").exists()


@case("D04")
def sed_that_writes(site: Site) -> None:
    site.stopped(["sed -i s/a/b/ f", "sed 's/a/b/w PWN' f", "sed -n 1p -ewPWN f"])
    assert (site.work / "f").read_text() == "b\na\nc\n"
    site.silent("sed -n 1,5p f", "b\na\nc")


@case("D05")
def sort_that_writes(site: Site) -> None:
    site.stopped(["sort -o PWN f", "sort --compress-program=./ev f", "sort -oPWN f", "sort *"])
    site.silent("sort f", "a\nb\nc")


@case("D06")
def git_that_writes(site: Site) -> None:
    site.repository()
    site.stopped(["git diff --output=PWN", "git log --output PWN", "git log --outp=PWN"])
    site.silent("git log --oneline", "first")


@case("D07")
def git_that_runs(site: Site) -> None:
    site.repository()
    site.stopped(["git -c core.pager=./ev log", "git -c alias.x='!touch PWN' x", "git -p log --format=%G?"])


@case("D08")
def ripgrep_that_runs(site: Site) -> None:
    site.stopped(["rg --pre ./ev x", "rg --hostname-bin ./ev x", "rg -z x"])


@case("D09")
def wrappers(site: Site) -> None:
    site.stopped(["env touch PWN", "timeout 1 touch PWN", "echo PWN | xargs touch", "nice touch PWN"])


@case("D10")
def redirects(site: Site) -> None:
    ways = ("> PWN", ">> PWN", "2> PWN", "&> PWN", ">| PWN")
    site.stopped([*(f"cat f {way}" for way in ways), "cat > PWN <<E\nx\nE"])


@case("D11")
def assignments(site: Site) -> None:
    site.repository()
    (site.work / "f").write_text("changed\n")
    site.stopped(["GIT_EXTERNAL_DIFF=./ev git diff", "FOO=1 ls", "export A=b"])


@case("D12")
def newlines_and_comments(site: Site) -> None:
    site.stopped(["ls\ntouch PWN", "ls # x", "ls\rtouch PWN", "ls \\\n; touch PWN"])


@case("D13")
def interpreters(site: Site) -> None:
    site.stopped(["awk 'BEGIN{system(\"touch PWN\")}'", 'python3 -c \'open("PWN","w")\'', "bash -c 'touch PWN'"])


@case("D14")
def oddities(site: Site) -> None:
    odd = ["", "a" * 9_000, "echo 'x", 'echo "x', "ls \x00", "touch\u00a0PWN", "ls 中文", "\ud800"]
    site.stopped(odd)


@case("D15")
def rules_and_their_order(site: Site) -> None:
    site.write_settings(
        '[permissions]\nallow = ["shell(npm test *)", "shell(touch PWN)", "shell(mkdir *)"]\n'
        'deny = ["shell(touch *)"]\nask = ["shell(mkdir *)"]\n'
    )
    site.stopped(["npm test; rm f", "npm tester", "npm test > PWN", "touch PWN", "mkdir PWN", "npm test && mkdir x"])
    assert (site.work / "f").exists()


@case("D16")
def a_denied_program(site: Site) -> None:
    site.write_settings('[permissions]\ndeny = ["shell(curl *)"]\nallow = ["shell"]\n')
    for mode in ("plan", "default", "accept-edits", "dont-ask", "bypass"):
        for command in ("curl x", "env curl x", "true && curl x", "/usr/bin/curl x", "c''url x", "$(echo curl) x"):
            outcome = site.shell(command, mode, answers=[True, True])
            site.check(f"{mode}: {command}", outcome.is_error and not outcome.asked, outcome.asked)
