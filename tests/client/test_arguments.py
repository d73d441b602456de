"""What can be told without a server: settings, arguments, the files of a folder."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from webapp.client import server as client
from webapp.client.commands import _files, main


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_TOKEN", "dm_any")


def test_a_token_and_an_address_are_needed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("DOCMILL_URL", "nowhere")
    assert main(["search", "wheat"]) == 2
    assert "DOCMILL_URL" in capfd.readouterr().err
    monkeypatch.delenv("DOCMILL_URL")
    monkeypatch.delenv("DOCMILL_TOKEN")
    assert main(["search", "wheat"]) == 2
    assert "DOCMILL_TOKEN is missing" in capfd.readouterr().err


def test_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("DOCMILL_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(client, "TRIES", 1)
    assert main(["search", "wheat"]) == 1
    assert "http://127.0.0.1:9 does not answer (ConnectError). Is DOCMILL_URL right?" in capfd.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["eat"], ["get"], ["get", "../users"], ["put"]])
def test_a_command_that_makes_no_sense_is_explained(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: docmill" in capfd.readouterr().err


def test_a_folder_is_uploaded_with_its_folders_and_without_what_is_hidden(tmp_path: Path) -> None:
    root = tmp_path / "Tax"
    for name in ("2025/a.txt", "2025/.git/b.txt", "c.txt", ".d.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "link").symlink_to(tmp_path, target_is_directory=True)
    assert list(_files([root, root / "c.txt"], None)) == [
        (root / "2025" / "a.txt", "Tax/2025"),
        (root / "c.txt", "Tax"),
        (root / "c.txt", None),
    ]
    assert list(_files([root], "Box")) == [(root / "2025" / "a.txt", "Box/2025"), (root / "c.txt", "Box")]


@pytest.mark.parametrize("body", [b"<html>Hello</html>", b"[1]", b'{"a": 1}', b"\xff"])
@pytest.mark.parametrize(
    "command", [["search", "wheat"], ["watch"], ["get", "00000000-0000-7000-8000-000000000000", "--info"]]
)
def test_another_server_is_recognised(
    body: bytes, command: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with another_server(body) as url:
        monkeypatch.setenv("DOCMILL_URL", url)
        code = main(command)
    said = capfd.readouterr()
    if command[0] == "get" and body.startswith(b"{"):
        assert (code, json.loads(said.out)) == (0, {"a": 1})
    else:
        assert code == 1
        assert "Is DOCMILL_URL the address of a Docmill?" in said.err


@contextmanager
def another_server(body: bytes) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_beside_the_output_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.md.part").write_text("mine")
    document = "00000000-0000-7000-8000-000000000000"
    with another_server(b"text") as url:
        monkeypatch.setenv("DOCMILL_URL", url)
        assert main(["get", document, "-o", str(tmp_path / "out.md")]) == 0
        assert main(["get", document, "-o", str(tmp_path)]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.md", "out.md.part"]
    assert (tmp_path / "out.md.part").read_text() == "mine"
