"""D17 to D21 and DV-22: file tools that are led outside, or to files that change what runs later."""

from __future__ import annotations

from tests.attacks.site import Site, case


def reads(site: Site, path: str, secret: str) -> None:
    for name, args in (("read_file", {"path": path}), ("read_many_files", {"paths": [path]})):
        outcome = site.call(name, **args)
        site.check(f"{name} {path}", outcome.is_error and secret not in outcome.text, outcome.asked)


@case("D17")
def reading_outside(site: Site) -> None:
    reads(site, "../O/secret", "canary-outside")
    reads(site, "/etc/passwd", "root:")
    reads(site, "~/.ssh/id_rsa", "canary-private-key")
    reads(site, str(site.home / ".ssh" / "id_rsa"), "canary-private-key")
    reads(site, "src/../../O/secret", "canary-outside")
    reads(site, "/proc/self/environ", "PATH=")
    reads(site, "/proc/self/root/etc/passwd", "root:")
    for tool, args in (
        ("grep", {"pattern": "canary", "path": "../O"}),
        ("ls", {"path": ".."}),
        ("glob", {"pattern": "../O/*"}),
    ):
        outcome = site.call(tool, **args)
        site.check(f"{tool} {args}", "secret" not in outcome.text and "W-evil" not in outcome.text, outcome.asked)


@case("D18")
def reading_through_links(site: Site) -> None:
    (site.work / "l").symlink_to(site.outside / "secret")
    (site.work / "d").symlink_to(site.outside)
    (site.work / "in").symlink_to("f")
    reads(site, "l", "canary-outside")
    reads(site, "d/secret", "canary-outside")
    found = site.call("grep", pattern="canary")
    site.check("grep through links", "canary-outside" not in found.text)
    inside = site.call("read_file", path="in")
    assert not inside.is_error and "a" in inside.text


@case("D19")
def writing_through_links(site: Site) -> None:
    (site.work / "l").symlink_to(site.outside / "secret")
    (site.work / "d").symlink_to(site.outside)
    yes = [True] * 3
    for path in ("l", "d/new", "../W-evil/f", "../O/secret", str(site.base / "W-evil" / "f")):
        outcome = site.call("write_file", "bypass", yes, path=path, content="harmed")
        whole = (site.outside / "secret").read_text() + (site.base / "W-evil" / "f").read_text()
        safe = outcome.is_error and whole == "canary-outside" * 2 and not (site.outside / "new").exists()
        site.check(f"write {path}", safe, outcome.asked)


@case("D20")
def protected_files(site: Site) -> None:
    site.repository()
    before = (site.work / ".git" / "config").read_text()
    names = (
        ".git/hooks/pre-commit",
        ".git/config",
        ".aicli/config.toml",
        ".mcp.json",
        ".bashrc",
        ".GIT/config",
        "x.pth",
    )
    for name in names:
        outcome = site.call("write_file", "accept-edits", path=name, content="harmed")
        site.check(f"write {name}", outcome.is_error and outcome.asked, outcome.asked)
    (site.work / "hooks").symlink_to(".git/hooks")
    outcome = site.call("write_file", "accept-edits", path="hooks/pre-commit", content="harmed")
    site.check("write hooks/pre-commit by a link", outcome.is_error, outcome.asked)
    assert (site.work / ".git" / "config").read_text() == before
    assert not (site.work / ".git" / "hooks" / "pre-commit").exists() and not (site.work / ".bashrc").exists()


@case("D21")
def plan_mode(site: Site) -> None:
    calls = (
        ("write_file", {"path": "n", "content": "x"}),
        ("edit", {"path": "f", "old_string": "a", "new_string": "z"}),
        ("shell", {"command": "touch PWN"}),
    )
    for name, args in calls:
        outcome = site.call(name, "plan", [True] * 3, **args)
        site.check(name, outcome.is_error and not outcome.asked, outcome.asked)
    assert (site.work / "f").read_text() == "b\na\nc\n" and not (site.work / "n").exists() and not site.canary.exists()
    looked = site.shell("ls", "plan")
    assert not looked.is_error and not looked.asked


@case("DV-22")
def a_sibling_is_not_inside(site: Site) -> None:
    (site.work / "to-evil").symlink_to(site.base / "W-evil")
    for path in (str(site.base / "W-evil" / "f"), "../W-evil/f", "to-evil/f"):
        reads(site, path, "canary-outside")
        outcome = site.call("write_file", "accept-edits", path=path, content="harmed")
        site.check(f"write {path}", outcome.is_error, outcome.asked)
    for folder in (str(site.base / "W-evil"), "../W-evil", "to-evil"):
        outcome = site.shell("ls", "bypass", cwd=folder)
        site.check(f"shell in {folder}", outcome.is_error, outcome.asked)
    assert (site.base / "W-evil" / "f").read_text() == "canary-outside"
