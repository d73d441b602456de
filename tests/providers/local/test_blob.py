"""What only a folder has to worry about: full disks, links, crashes, other filesystems."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.local_providers import ROOT
from webapp.provider_errors import BlobExists, FailureCode, ProviderUnavailable
from webapp.providers.local.blob import LocalBlobStore

FULL_DISK = Path(__file__).with_name("full_disk.py")


@pytest.fixture
def store(tmp_path: Path) -> LocalBlobStore:
    return LocalBlobStore(tmp_path / "blobs")


def test_on_the_same_filesystem_nothing_is_copied(store: LocalBlobStore) -> None:
    source = store.incoming() / "upload"
    source.write_bytes(b"x")
    number = source.stat().st_ino
    store.put_file("a/b", source)
    with store.local_copy("a/b") as file:
        assert file.stat().st_ino == number


def test_another_filesystem_is_copied_from(store: LocalBlobStore, tmp_path: Path) -> None:
    shared_memory = Path("/dev/shm")  # noqa: S108 - a filesystem that is surely another one
    source = shared_memory / f"docmill-test-{os.getpid()}"
    source.write_bytes(b"from memory")
    try:
        store.put_file("a/b", source)
        assert not source.exists()
        source.write_bytes(b"again")
        with pytest.raises(BlobExists):
            store.put_file("a/b", source)
        assert source.exists()
    finally:
        source.unlink(missing_ok=True)
    assert store.read_bytes("a/b") == b"from memory"
    assert list(store.incoming().iterdir()) == []


def test_blobs_are_for_our_eyes_only(store: LocalBlobStore, tmp_path: Path) -> None:
    store.put_bytes("a/b/c", b"x")
    for folder in ("blobs", "blobs/store", "blobs/incoming", "blobs/store/a", "blobs/store/a/b"):
        mode = (tmp_path / folder).stat().st_mode & 0o077
        assert mode == 0 or folder == "blobs", folder


@pytest.mark.parametrize("act", ["put", "file"])
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path, act: str) -> None:
    done = subprocess.run(
        [sys.executable, str(FULL_DISK), str(tmp_path), act], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == [FailureCode.STORAGE_FULL, "blobs=0", "drafts=0"]


def test_a_folder_that_can_t_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ProviderUnavailable) as caught:
        LocalBlobStore(tmp_path / "file" / "blobs")
    assert caught.value.code is FailureCode.STORAGE_UNAVAILABLE
    assert str(tmp_path) not in str(caught.value)


def test_links_out_of_the_store_lead_nowhere(store: LocalBlobStore, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (tmp_path / "blobs" / "store" / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(ValueError, match="not a blob path"):
        store.read_bytes("link/secret")
    with pytest.raises(ValueError, match="not a blob path"):
        store.put_bytes("link/new", b"x")


def test_the_check_notices_a_lost_folder(store: LocalBlobStore, tmp_path: Path) -> None:
    (tmp_path / "blobs" / "incoming").rmdir()
    with pytest.raises(Exception, match="folder of the blobs"):
        store.check()


def test_of_many_writers_one_wins(store: LocalBlobStore) -> None:
    def put(number: int) -> bool:
        source = store.incoming() / f"upload-{number}"
        source.write_bytes(b"x%d" % number)
        try:
            store.put_file("same/path", source)
        except BlobExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        wins = list(pool.map(put, range(40)))
    assert wins.count(True) == 1
    assert store.read_bytes("same/path") == b"x%d" % wins.index(True)


def test_writers_and_deleters_share_a_folder(store: LocalBlobStore) -> None:
    def work(number: int) -> None:
        for turn in range(25):
            store.put_bytes(f"a/b/{number}", b"x")
            assert store.read_bytes(f"a/b/{number}") == b"x", turn
            store.delete(f"a/b/{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert list(store.list()) == []


def test_a_disk_with_less_free_than_the_floor_has_no_space(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    LocalBlobStore(tmp_path / "blobs", free_min_bytes=free // 2).check_space()
    with pytest.raises(ProviderUnavailable) as caught:
        LocalBlobStore(tmp_path / "blobs", free_min_bytes=free // 2).check_space(free)
    assert caught.value.code is FailureCode.STORAGE_FULL
    with pytest.raises(ProviderUnavailable) as caught:
        LocalBlobStore(tmp_path / "blobs", free_min_bytes=2 * free).check_space()
    assert caught.value.code is FailureCode.STORAGE_FULL


@pytest.mark.parametrize("gone", ["store", "incoming"])
def test_a_folder_that_is_gone_has_no_space(tmp_path: Path, gone: str) -> None:
    store = LocalBlobStore(tmp_path / "blobs")
    (tmp_path / "blobs" / gone).rmdir()
    with pytest.raises(ProviderUnavailable) as caught:
        store.check_space()
    assert caught.value.code is FailureCode.STORAGE_UNAVAILABLE
