"""Copies of blobs that are used again and again are fetched once."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from webapp.provider_errors import BlobMissing
from webapp.providers.blob_copies import BlobCopies


class Storage:
    """A cloud's storage, as far as copies go: each one is a file of its own, and is counted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fetched: Counter[str] = Counter()

    @contextmanager
    def local_copy(self, path: str) -> Iterator[Path]:
        if path == "missing":
            raise BlobMissing("no blob")
        self.fetched[path] += 1
        copy = self.folder / f"{path}-{self.fetched[path]}"
        copy.write_text(path)
        try:
            yield copy
        finally:
            copy.unlink()

    @property
    def copies(self) -> set[str]:
        return {file.name for file in self.folder.iterdir()}


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path)


def use(copies: BlobCopies, path: str) -> None:
    with copies.use(path) as file:
        assert file.read_text() == path


def test_many_pictures_of_a_file_fetch_it_once(storage: Storage) -> None:
    copies = BlobCopies(storage.local_copy)
    for _ in range(5):
        use(copies, "a")
    assert storage.fetched == {"a": 1}
    assert storage.copies == {"a-1"}


def test_those_who_come_at_once_share_a_copy(storage: Storage) -> None:
    copies, all_there = BlobCopies(storage.local_copy), threading.Barrier(8)

    def draw(_: int) -> None:
        with copies.use("a") as file:
            all_there.wait(20)
            assert file.exists()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(draw, range(8)))
    assert storage.fetched == {"a": 1}


def test_a_copy_that_nobody_uses_any_more_is_removed(storage: Storage) -> None:
    copies = BlobCopies(storage.local_copy, keep_seconds=0)
    with copies.use("a"):
        copies.drop_unused()
        assert storage.copies == {"a-1"}, "it is in use"
    assert storage.copies == set()
    use(copies, "a")
    assert storage.fetched == {"a": 2}


def test_it_is_removed_although_nobody_asks_again(storage: Storage) -> None:
    copies = BlobCopies(storage.local_copy, keep_seconds=0.05)
    use(copies, "a")
    while (timer := copies._timer) is not None:
        timer.join(20)
    assert storage.copies == set()


def test_few_copies_are_kept(storage: Storage) -> None:
    copies = BlobCopies(storage.local_copy, kept_max=2)
    for path in "abcd":
        use(copies, path)
    assert storage.copies == {"c-1", "d-1"}


def test_a_copy_that_cannot_be_made_is_tried_again(storage: Storage) -> None:
    copies = BlobCopies(storage.local_copy, kept_max=2)
    for _ in range(2):
        with pytest.raises(BlobMissing), copies.use("missing"):
            pass
    copies.drop_unused()
    use(copies, "a")
