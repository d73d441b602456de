"""What every BlobStore promises."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from webapp.library.exports.operation import ExportPart
from webapp.library.exports.stored_zip import open_parts
from webapp.provider_errors import BlobExists, BlobMissing
from webapp.providers.ports import BlobStore

BAD_PATHS = [
    "",
    "/",
    "/etc/passwd",
    "a//b",
    "a/",
    "..",
    "../a",
    "a/../b",
    "a/./b",
    ".hidden",
    "a\\b",
    "a\0b",
    "a\nb",
    "-option",
    "naïve",
    "a b",
    "x" * 201,
    "/".join(["a"] * 300),
]


def arrived(store: BlobStore, data: bytes, name: str = "upload") -> Path:
    source = store.incoming() / name
    source.write_bytes(data)
    return source


def paths(store: BlobStore, prefix: str = "") -> list[str]:
    return [info.path for info in store.list(prefix)]


def test_a_file_put_in_is_read_back_and_its_source_is_gone(store: BlobStore) -> None:
    source = arrived(store, b"some bytes")
    store.put_file("documents/1/original", source)
    assert store.read_bytes("documents/1/original") == b"some bytes"
    assert not source.exists()


def test_a_file_from_elsewhere_is_accepted_too(store: BlobStore, tmp_path: Path) -> None:
    source = tmp_path / "elsewhere"
    source.write_bytes(b"from another folder")
    store.put_file("a/b", source)
    assert store.read_bytes("a/b") == b"from another folder"
    assert not source.exists()


def test_parts_of_an_export_are_read_as_one_file(store: BlobStore) -> None:
    contents = [b"first ", b"second ", b"third"]
    parts = []
    for number, content in enumerate(contents):
        store.put_file(path := f"exports/1/{number}", arrived(store, content))
        parts.append(ExportPart(path, len(content)))
    with open_parts(store, parts) as file:
        assert file.read() == b"first second third"
        file.seek(4)
        assert file.read(6) == b"t seco"
        assert file.seek(0, 2) == len(b"first second third")
        assert file.read(1) == b""
    store.delete(parts[0].path)
    with pytest.raises(BlobMissing):
        open_parts(store, parts)


def test_put_file_replaces_nothing(store: BlobStore) -> None:
    store.put_bytes("a/b", b"first")
    source = arrived(store, b"second")
    with pytest.raises(BlobExists) as caught:
        store.put_file("a/b", source)
    assert caught.value.permanent
    assert store.read_bytes("a/b") == b"first"
    assert source.read_bytes() == b"second"


def test_put_bytes_replaces(store: BlobStore) -> None:
    store.put_bytes("a/b", b"first, longer")
    store.put_bytes("a/b", b"second")
    assert store.read_bytes("a/b") == b"second"


def test_empty_blobs_are_blobs(store: BlobStore) -> None:
    store.put_bytes("empty", b"")
    assert store.exists("empty")
    assert store.size("empty") == 0
    assert store.read_bytes("empty") == b""


def test_open_reads_and_seeks(store: BlobStore) -> None:
    store.put_bytes("a", b"0123456789")
    with store.open("a") as file:
        assert file.read(3) == b"012"
        file.seek(8)
        assert file.read() == b"89"


def test_size_and_exists_tell_of_blobs_only(store: BlobStore) -> None:
    store.put_bytes("folder/blob", b"four")
    assert store.size("folder/blob") == 4
    assert store.exists("folder/blob")
    assert not store.exists("folder")
    assert not store.exists("folder/other")


@pytest.mark.parametrize("path", ["missing", "folder", "folder/blob/below", "folder/other"])
def test_what_is_missing_is_said_to_be_missing(store: BlobStore, path: str) -> None:
    store.put_bytes("folder/blob", b"x")
    for read in (store.read_bytes, store.size, store.open):
        with pytest.raises(BlobMissing) as caught:
            read(path)
        assert caught.value.permanent
    with pytest.raises(BlobMissing), store.local_copy(path):
        pass


def test_delete_is_the_same_twice(store: BlobStore) -> None:
    store.put_bytes("a/b", b"x")
    store.delete("a/b")
    store.delete("a/b")
    assert not store.exists("a/b")
    store.put_bytes("a/b", b"again")
    assert store.read_bytes("a/b") == b"again"


def test_delete_prefix_keeps_to_its_folder(store: BlobStore) -> None:
    for path in ("d/1/a", "d/1/b/c", "d/10/a", "d/2"):
        store.put_bytes(path, b"x")
    assert store.delete_prefix("d/1") == 2
    assert paths(store) == ["d/10/a", "d/2"]
    assert store.delete_prefix("d/1/") == 0


def test_delete_prefix_never_empties_the_store(store: BlobStore) -> None:
    store.put_bytes("a", b"x")
    with pytest.raises(ValueError, match="prefix"):
        store.delete_prefix("")
    assert paths(store) == ["a"]


def test_list_is_sorted_and_complete(store: BlobStore) -> None:
    for path in ("b/2", "a", "b/1", "b/c/d", "b-1"):
        store.put_bytes(path, path.encode())
    assert paths(store) == sorted(["a", "b-1", "b/1", "b/2", "b/c/d"])
    assert paths(store, "b") == ["b/1", "b/2", "b/c/d"]
    assert paths(store, "b/") == ["b/1", "b/2", "b/c/d"]
    assert paths(store, "nothing") == []


def test_list_knows_size_and_age(store: BlobStore) -> None:
    store.put_bytes("a", b"12345")
    (info,) = store.list()
    assert info.size_bytes == 5
    assert abs(datetime.now(UTC) - info.modified_at) < timedelta(minutes=5)


def test_uploads_on_their_way_are_no_blobs(store: BlobStore) -> None:
    arrived(store, b"half of a file")
    assert paths(store) == []


def test_local_copy_gives_the_bytes(store: BlobStore) -> None:
    store.put_bytes("a/b", b"to be parsed")
    with store.local_copy("a/b") as file:
        assert file.read_bytes() == b"to be parsed"
    assert store.read_bytes("a/b") == b"to be parsed"


@pytest.mark.parametrize("path", BAD_PATHS)
def test_paths_that_are_not_ours_are_refused(store: BlobStore, path: str) -> None:
    source = arrived(store, b"x")
    for use in (store.read_bytes, store.exists, store.size, store.delete, store.open):
        with pytest.raises(ValueError, match="not a blob path"):
            use(path)
    with pytest.raises(ValueError, match="not a blob path"):
        store.put_file(path, source)
    with pytest.raises(ValueError, match="not a blob path"):
        store.put_bytes(path, b"x")
    assert source.exists()


def test_sweeping_takes_the_old_leftovers_only(store: BlobStore) -> None:
    arrived(store, b"x")
    assert store.sweep_incoming(older_than_seconds=3600) == 0
    assert store.sweep_incoming(older_than_seconds=-1) == 1
    assert list(store.incoming().iterdir()) == []


def test_a_store_in_order_passes_its_check(store: BlobStore) -> None:
    store.check()
    store.check_space()
    store.check_space(1_000_000)
    assert paths(store) == []
    assert list(store.incoming().iterdir()) == []
