"""Nothing inside is reached from the web tool, tried where every address answers and the resolver lies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attacks.trusting import ROOT
from tests.support.counts import count, soaking
from tests.support.figures import figure

INSIDE = """
ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo || exit 77
mount --bind "$1" /etc/resolv.conf || exit 77
shift
exec "$@"
"""
pytestmark = pytest.mark.timeout(count(120, 900))


@pytest.mark.skipif(not shutil.which("ip") or not shutil.which("unshare"), reason="needs ip and unshare")
def test_no_inner_address_is_reached_by_any_name_or_redirect(isolated: Path, tmp_path: Path) -> None:
    resolv, pem = tmp_path / "resolv.conf", tmp_path / "site.pem"
    resolv.write_text("nameserver 127.0.0.1\noptions timeout:2 attempts:1\n")
    if shutil.which("openssl"):
        words = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=public.example",
        ]
        names = ["-addext", "subjectAltName=DNS:public.example", "-keyout", str(pem), "-out", str(tmp_path / "cert")]
        subprocess.run([*words, *names], check=True, capture_output=True)
        pem.write_text(pem.read_text() + (tmp_path / "cert").read_text())
    command = [
        sys.executable,
        "-m",
        "tests.attacks.inner_net",
        str(isolated),
        "all" if soaking() else "small",
        str(pem),
    ]
    done = subprocess.run(
        ["unshare", "-Urnm", "sh", "-c", INSIDE, "sh", str(resolv), *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=count(110, 850),
    )
    if done.returncode == 77 or done.stderr.startswith("unshare"):
        pytest.skip(f"no network namespace can be made here: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["public"] == [], "what is public is fetched: the attacks fail for the right reason"
    assert found["reachable"] >= 15, "a careless program would reach these"
    assert (found["inner_hits"], found["passed"], found["unasked"]) == ([], [], [])
    figure(
        "G5",
        f"{found['addresses']} addresses by number and by name ({found['reachable']} of them answer there), "
        f"{found['tricks']} spellings, {found['redirects']} redirects, {found['rebinding']} rebindings in a network of "
        "its own: 0 inner hits; 0 bytes before the answer to a question",
    )
