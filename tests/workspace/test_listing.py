"""What a listing tells of whole folders at once: the same as of each name."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.workspace.ignore import IgnoreRules
from aicli.workspace.protected import NO_SECRETS, SECRETS, is_secret, secret_among

SPELLED = [p.replace("*", "x").replace("[!a-z0-9]", "-").replace("[a-z0-9]", "1") for p in SECRETS]
names = st.sampled_from(
    [*SPELLED, *NO_SECRETS, "id_rsa", "ID_ed25519.", "id_rsa.pub", "a.py", "K.PEM ", "ｋ.pem", ".ENV:x"]
)


@given(st.lists(names, min_size=1, max_size=3))
def test_no_secret_is_overlooked_among_many(some: list[str]) -> None:
    assert secret_among(some) or not any(map(is_secret, some))


def test_plain_names_need_no_look_at_each() -> None:
    assert not secret_among(["a.py", "d/b.txt", "environment"])


pieces = ["a", "b", "ab", "*", "?", "[ab]", "/", "**", ".o", "build", "!", "x y"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from(pieces), min_size=1, max_size=4).map("".join), max_size=4), st.booleans())
def test_a_folder_at_once_is_as_name_by_name(tmp_path_factory: object, lines: list[str], are_dirs: bool) -> None:
    folder: Path = tmp_path_factory.mktemp("rules")  # type: ignore[attr-defined]
    (folder / "a" / "b").mkdir(parents=True)
    (folder / ".gitignore").write_text("\n".join(lines))
    (folder / "a" / ".gitignore").write_text("\n".join(lines[:1]))
    rules, rng = IgnoreRules(folder), random.Random(1)
    for where in ("", "a", "a/b"):
        some = ["a", "b", "ab", "x.o", "build", "x y", "c", *(f"n{rng.randrange(99)}" for _ in range(3))]
        before = where + "/" if where else ""
        assert rules.kept(where, some, are_dirs) == [n for n in some if not rules.skip(before + n, are_dirs)]
