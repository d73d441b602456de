"""Imports of what may be damaged, hostile or interrupted: a sentence says what is wrong, and nothing is lost."""

import io
import json
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask

from tests.web.people import People, Program
from tests.web.shelves import notes, read_json, shelve, use_hashed_words, work_off
from webapp.library.exports import importing

Members = dict[str, bytes]
_made: list[bytes] = []


@pytest.fixture
def shelf(app: Flask, people: People) -> Program:
    use_hashed_words(app)
    return people.program("ops")


@pytest.fixture
def exported(app: Flask, shelf: Program, tmp_path: Path) -> bytes:
    """An export of two documents, made once; the org is empty again."""
    if not _made:
        ids = shelve(shelf, notes(0), notes(1))
        work_off(app)
        told = _command(app, "export", tmp_path / "made.zip")
        assert told.exit_code == 0, told.output
        for each in ids:
            assert shelf.client.delete(f"/documents/{each}?purge=1", headers=shelf.headers).status_code == 204
        _made.append((tmp_path / "made.zip").read_bytes())
    return _made[0]


def _command(app: Flask, action: str, path: Path, *more: str) -> Result:
    return app.test_cli_runner().invoke(args=["library", action, "--org", "Ours", str(path), *more])


def _members(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def _packed(members: Members, *, is_summed: bool = True) -> bytes:
    """A ZIP of these, with a manifest and checksums that fit them."""
    if is_summed:
        manifest = json.loads(members["manifest.json"])
        own = {name: data for name, data in members.items() if name not in {"manifest.json", "SHA256SUMS"}}
        manifest |= {"members": len(own), "size_bytes": sum(map(len, own.values()))}
        members = {**own, "manifest.json": json.dumps(manifest).encode()}
        sums = "".join(f"{sha256(data).hexdigest()}  {name}\n" for name, data in members.items())
        members["SHA256SUMS"] = sums.encode()
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return written.getvalue()


def _refused(app: Flask, shelf: Program, tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "given.zip"
    path.write_bytes(data)
    told = _command(app, "import", path)
    assert told.exit_code == 1, told.output
    assert "Traceback" not in told.output
    assert read_json(shelf.get("/documents"))["documents"] == []
    return told.output


def _changed_row(name: str, value: object, table: str = "documents") -> Callable[[Members], Members]:
    def change(members: Members) -> Members:
        member = next(each for each in members if each.endswith(".jsonl") and "connections" not in each)
        lines = members[member].splitlines()
        at = next(n for n, line in enumerate(lines) if n and json.loads(line)["table"] == table)
        row = json.loads(lines[at])
        row["row"][name] = value
        lines[at] = json.dumps(row).encode()
        return {**members, member: b"\n".join(lines) + b"\n"}

    return change


def _changed_head(**values: object) -> Callable[[Members], Members]:
    def change(members: Members) -> Members:
        member = next(each for each in members if each.endswith(".jsonl") and "connections" not in each)
        head, _, rest = members[member].partition(b"\n")
        return {**members, member: json.dumps(json.loads(head) | values).encode() + b"\n" + rest}

    return change


def _without(prefix: str) -> Callable[[Members], Members]:
    return lambda members: {name: data for name, data in members.items() if not name.startswith(prefix)}


def _with(name: str, data: bytes = b"x") -> Callable[[Members], Members]:
    return lambda members: {**members, name: data}


OTHER = "01a1f846-95b4-757b-8727-9de3f1bddcf6"


IMPOSSIBLE = [
    (_without("files/"), "missing"),
    (_without("library/0"), "documents are missing"),
    (_with("../../evil.txt"), "impossible name"),
    (_with("files/../../evil.txt"), "impossible name"),
    (_with("/etc/passwd"), "impossible name"),
    (_with("files/c:/evil.txt"), "impossible name"),
    (_with("other/evil.txt"), "impossible name"),
    (_changed_head(document=OTHER), "another document"),
    (_changed_head(blobs={"documents/../../x": "manifest.json"}), "impossible place"),
    (_changed_head(blobs={f"documents/{OTHER}/original": "manifest.json"}), "impossible place"),
    (_changed_head(blobs=[]), "another document"),
    (_changed_row("id", OTHER), "another document"),
    (_changed_row("org_id", OTHER), "does not know"),
    (_changed_row("nonsense", 1), "does not know"),
    (_changed_row("size_bytes", "many"), "another kind"),
    (_changed_row("size_bytes", -1), "can't be"),
    (_changed_row("size_bytes", 1 << 70), "another kind"),
    (_changed_row("size_bytes", True), "another kind"),
    (_changed_row("created_at", "2026-01-01T00:00:00"), "another kind"),
    (_changed_row("warnings", {"no": "list"}), "another kind"),
    (_changed_row("embedding", "AADAfw==", "chunks"), "another kind"),
    (_changed_row("status", "LOST"), "can't be"),
    (_changed_row("filename", "a\0b"), "another kind"),
    (_changed_row("blob_path", "../../../etc/passwd"), "impossible place"),
    (_changed_row("blob_path", f"documents/{OTHER}/original"), "impossible place"),
    (_changed_row("answers_folder", "documents/"), "impossible folder"),
    (_changed_row("document_id", OTHER, "chunks"), "something else"),
    (_changed_row("embedding", "???", "chunks"), "another kind"),
    (_changed_row("path", "../../x", "artifacts"), "impossible place"),
]
IMPOSSIBLE_AT_THE_END = {
    "no JSON": (_with("library/org.jsonl", b"no JSON\n"), "no row"),
    "people": (_with("library/org.jsonl", b'{"table": "users", "row": {}}\n'), "no table"),
    "passages": (_with("library/org.jsonl", b'{"table": "chunks", "row": {}}\n'), "belong elsewhere"),
    "tags": (_with("library/connections-00001.jsonl", b'{"table": "tags", "row": {}}\n'), "other rows"),
}


def test_an_impossible_export_is_refused_before_anything_is_added(
    app: Flask, shelf: Program, exported: bytes, tmp_path: Path
) -> None:
    for change, said in IMPOSSIBLE:
        output = _refused(app, shelf, tmp_path, _packed(change(_members(exported))))
        assert said in output
        assert "The export is damaged" in output


@pytest.mark.parametrize("which", IMPOSSIBLE_AT_THE_END)
def test_what_is_added_before_an_impossible_end_stays(
    app: Flask, shelf: Program, exported: bytes, tmp_path: Path, which: str
) -> None:
    change, said = IMPOSSIBLE_AT_THE_END[which]
    path = tmp_path / "given.zip"
    path.write_bytes(_packed(change(_members(exported))))
    told = _command(app, "import", path)
    assert (told.exit_code, said in told.output) == (1, True), told.output
    path.write_bytes(exported)
    assert _command(app, "import", path).exit_code == 0, "the whole one goes on"
    assert len(read_json(shelf.get("/documents"))["documents"]) == 2


def test_a_flood_is_not_unpacked(app: Flask, shelf: Program, exported: bytes, tmp_path: Path) -> None:
    data = _packed(_with("files/flood.bin", bytes(3 << 20))(_members(exported)))
    # Where the directory says how much it unfolds to.
    place = data.rindex(b"files/flood.bin") - 46 + 24
    lies = data[:place] + (0x7FFFFFFF).to_bytes(4, "little") + data[place + 4 :]
    assert "impossible size" in _refused(app, shelf, tmp_path, lies)


def test_what_is_no_export_is_named_so(app: Flask, shelf: Program, exported: bytes, tmp_path: Path) -> None:
    assert "is no export of Docmill" in _refused(app, shelf, tmp_path, b"PK? No.")
    assert "is no export of Docmill" in _refused(app, shelf, tmp_path, _packed({"a.txt": b"a"}, is_summed=False))
    assert "is no export of Docmill" in _refused(app, shelf, tmp_path, exported[: len(exported) // 2])
    members = _members(exported)
    members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | {"version": 99}).encode()
    assert "newer version" in _refused(app, shelf, tmp_path, _packed(members, is_summed=False))
    members["manifest.json"] = b"[]"
    assert "not one of Docmill" in _refused(app, shelf, tmp_path, _packed(members, is_summed=False))
    told = _command(app, "import", tmp_path / "nothing.zip")
    assert (told.exit_code, "can't be read" in told.output) == (1, True)


def test_a_damaged_byte_is_found_before_anything_is_added(
    app: Flask, shelf: Program, exported: bytes, tmp_path: Path
) -> None:
    members = _members(exported)
    name = next(each for each in members if each.startswith("files/"))
    other = {**members, name: b"X" + members[name][1:]}
    assert "checksum" in _refused(app, shelf, tmp_path, _packed(other, is_summed=False))
    place = exported.index(name.encode()) + len(name) + 20
    flipped = exported[:place] + bytes([exported[place] ^ 0xFF]) + exported[place + 1 :]
    assert f"{name} is damaged" in _refused(app, shelf, tmp_path, flipped)
    without_sums = {each: data for each, data in members.items() if each != "SHA256SUMS"}
    assert "SHA256SUMS is missing" in _refused(app, shelf, tmp_path, _packed(without_sums, is_summed=False))


def test_an_import_that_was_interrupted_goes_on(
    app: Flask, shelf: Program, exported: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "given.zip"
    path.write_bytes(exported)

    class Killed(BaseException):
        """The process is gone."""

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(importing, "_end", die)
        with pytest.raises(Killed):
            _command(app, "import", path)
    assert len(read_json(shelf.get("/documents"))["documents"]) == 2
    [begun] = read_json(shelf.get("/bulk"))["operations"]
    assert read_json(shelf.get(f"/bulk/{begun['id']}"))["state"] == "RUNNING"
    assert shelf.post(f"/bulk/{begun['id']}/stop").status_code == 409
    told = _command(app, "import", path)
    assert (told.exit_code, told.output.splitlines()[-1]) == (0, "2 documents in “Ours”.")
    done = read_json(shelf.get(f"/bulk/{begun['id']}"))
    assert (done["state"], done["done"], done["file"]) == ("SUCCEEDED", 2, None)
    assert "has documents already" in _command(app, "import", path).output
    said = [each["action"] for each in read_json(shelf.get("/ops/security"))["entries"]]
    assert said.count("library_imported") == 1


def test_further_names_of_a_file_are_taken_along(app: Flask, shelf: Program, tmp_path: Path) -> None:
    name, content = notes(7)
    [one] = shelve(shelf, (name, content))
    shelve(shelf, ("Zanzibar.md", content))
    work_off(app)
    path = tmp_path / "made.zip"
    assert _command(app, "export", path).exit_code == 0
    assert shelf.client.delete(f"/documents/{one}?purge=1", headers=shelf.headers).status_code == 204
    assert read_json(shelf.get("/documents?q=zanzibar"))["documents"] == []
    told = _command(app, "import", path)
    assert told.exit_code == 0, told.output
    [found] = read_json(shelf.get("/documents?q=zanzibar"))["documents"]
    assert read_json(shelf.get(f"/documents/{found['id']}"))["further_names"] == [
        {"filename": "Zanzibar.md", "folder": None}
    ]


def test_the_command_writes_no_half_file(app: Flask, shelf: Program, exported: bytes, tmp_path: Path) -> None:
    shelve(shelf, notes(0), notes(1))
    work_off(app)
    path = tmp_path / "some.zip"
    told = _command(app, "export", path, "--query", "note-001")
    assert told.exit_code == 0, told.output
    assert told.output.startswith("1 document in ")
    assert [each.name for each in tmp_path.glob("some*")] == ["some.zip"]
    told = _command(app, "export", path)
    assert (told.exit_code, "exists already" in told.output) == (1, True)
    told = _command(app, "export", tmp_path / "no folder" / "a.zip")
    assert (told.exit_code, "can't be written" in told.output) == (1, True)
