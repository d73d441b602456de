"""The command docmill against a server that listens on loopback."""

import json
from pathlib import Path

import pytest

from tests.client.conftest import Served
from tests.web.shelves import NOTES, notes, work_off
from webapp.client.commands import main


def test_files_and_folders_are_uploaded_searched_and_read(
    served: Served, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    folder = tmp_path / "Tax"
    (folder / "2025" / ".hidden").mkdir(parents=True)
    (folder / "2025" / "mill.md").write_bytes(NOTES)
    (folder / "2025" / ".hidden" / "secret.txt").write_bytes(b"Nobody uploads this.")
    (folder / "link.md").symlink_to(folder / "2025" / "mill.md")
    (tmp_path / "rye.md").write_bytes(notes(7)[1])

    assert main(["put", str(folder), str(tmp_path / "rye.md")]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert [line.split()[1] for line in lines] == ["mill.md", "rye.md"]
    work_off(served.app)
    [mill, rye] = [line.split()[0] for line in lines]
    assert main(["put", "--wait", str(tmp_path / "rye.md")]) == 0
    assert capfdbinary.readouterr().out.decode().split("\n")[:2] == [f"{rye}  rye.md  (already there)", f"{rye}  READY"]

    assert main(["search", "wheat", "stones", "in:mill"]) == 0
    assert capfdbinary.readouterr().out.decode().startswith(f"mill.md  {mill}\n    ")
    assert main(["get", mill]) == 0
    assert b"ground between" in capfdbinary.readouterr().out
    assert main(["get", mill, "--original", "-o", str(tmp_path / "copy.md")]) == 0
    assert (tmp_path / "copy.md").read_bytes() == NOTES
    assert main(["get", mill, "--info"]) == 0
    assert json.loads(capfdbinary.readouterr().out)["folder"] == "Tax/2025"
    assert main(["watch"]) == 0


def test_what_is_wrong_is_said_and_the_exit_code_tells(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    good = tmp_path / "good.md"
    good.write_bytes(NOTES)
    assert main(["put", str(empty), str(tmp_path / "gone.txt"), str(good)]) == 1
    said = capfd.readouterr()
    assert "empty.txt: " in said.err
    assert "gone.txt: " in said.err
    assert "good.md" in said.out
    assert main(["search", "zyxwvutsr"]) == 1
    unknown = "00000000-0000-7000-8000-000000000000"
    (tmp_path / "copy.md").write_text("as before")
    assert main(["get", unknown, "-o", str(tmp_path / "copy.md")]) == 1
    assert (tmp_path / "copy.md").read_text() == "as before"
    assert main(["search", '"unclosed']) == 1
    assert "quotation mark" in capfd.readouterr().err

    monkeypatch.setenv("DOCMILL_TOKEN", "dm_wrong")
    assert main(["search", "wheat"]) == 1
    assert "DOCMILL_TOKEN" in capfd.readouterr().err
