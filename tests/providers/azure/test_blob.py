"""What is particular about blobs in Azure: containers, memory, ranges, and errors that name nothing secret."""

import base64
import logging
import traceback
import tracemalloc
from pathlib import Path
from uuid import uuid4

import pytest

from tests.emulators.azurite import Azurite
from tests.emulators.clients import connect
from tests.emulators.ports import free_port
from webapp.provider_errors import BlobMissing, FailureCode, ProviderError
from webapp.providers.azure import blob as azure_blob
from webapp.providers.azure.blob import BLOCK_BYTES, AzureBlobStore

pytestmark = pytest.mark.azurite
MEGABYTE = 1 << 20
WRONG_KEY = base64.b64encode(b"a key that opens no account of anybody's, but is as long as one..").decode()


def large_file(folder: Path, megabytes: int) -> Path:
    path = folder / "large"
    with path.open("wb") as file:
        for number in range(megabytes):
            file.write(bytes([number % 251]) * MEGABYTE)
    return path


def test_nothing_is_connected_before_it_is_needed(tmp_path: Path) -> None:
    store = connect(f"DefaultEndpointsProtocol=http;AccountName=a;AccountKey={WRONG_KEY};", tmp_path / "incoming")
    assert store.incoming().is_dir()


def test_the_container_is_made_at_the_first_use(azurite: Azurite, tmp_path: Path) -> None:
    name = f"test-{uuid4().hex}"
    first = connect(azurite.connection_string, tmp_path / "one", name)
    second = connect(azurite.connection_string, tmp_path / "two", name)
    first.put_bytes("a", b"shared")
    assert second.read_bytes("a") == b"shared"
    second.check()


@pytest.mark.slow
def test_large_files_go_up_and_down_in_little_memory(azure_store: AzureBlobStore, tmp_path: Path) -> None:
    megabytes = 96
    source = large_file(tmp_path, megabytes)
    tracemalloc.start()
    azure_store.put_file("large", source)
    with azure_store.local_copy("large") as copy:
        assert copy.stat().st_size == megabytes * MEGABYTE
    with azure_store.open("large") as file:
        while file.read(MEGABYTE):
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * BLOCK_BYTES


def test_a_copy_is_gone_after_its_use(azure_store: AzureBlobStore) -> None:
    azure_store.put_bytes("a", b"x")
    with azure_store.local_copy("a") as copy:
        assert copy.parent == azure_store.incoming()
    assert list(azure_store.incoming().iterdir()) == []


@pytest.mark.slow
def test_a_reader_fetches_what_it_is_asked_for(azure_store: AzureBlobStore) -> None:
    data = bytes(range(256)) * (3 * BLOCK_BYTES // 256)
    azure_store.put_bytes("a", data)
    with azure_store.open("a") as file:
        assert file.seek(-4, 2) == len(data) - 4
        assert file.read() == data[-4:]
        assert file.seek(BLOCK_BYTES - 2) == BLOCK_BYTES - 2
        assert file.read(4) == data[BLOCK_BYTES - 2 : BLOCK_BYTES + 2]
        assert file.seek(1, 1) == BLOCK_BYTES + 3
        file.seek(0)
        assert file.read() == data
        assert file.read() == b""


@pytest.mark.slow
def test_a_blob_that_is_replaced_under_a_reader_is_no_mixture(azure_store: AzureBlobStore) -> None:
    azure_store.put_bytes("a", b"1" * (2 * BLOCK_BYTES))
    with azure_store.open("a") as file:
        file.read(10)
        azure_store.put_bytes("a", b"2" * (2 * BLOCK_BYTES))
        file.seek(BLOCK_BYTES + 5)
        with pytest.raises(BlobMissing):
            file.read(10)


def test_a_container_that_was_removed_is_made_again(azurite: Azurite, azure_store: AzureBlobStore) -> None:
    azure_store.put_bytes("a", b"x")
    azure_store._container.delete_container()
    with pytest.raises(ProviderError) as caught:
        azure_store.put_bytes("b", b"x")
    assert caught.value.code is FailureCode.STORAGE_UNAVAILABLE
    assert not caught.value.permanent
    azure_store.put_bytes("b", b"x")
    assert azure_store.read_bytes("b") == b"x"


def test_a_wrong_key_is_said_without_being_told(
    azurite: Azurite, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    right = azurite.connection_string
    wrong = ";".join(f"AccountKey={WRONG_KEY}" if part.startswith("AccountKey") else part for part in right.split(";"))
    with pytest.raises(ProviderError) as caught:
        connect(wrong, tmp_path / "incoming").check()
    assert caught.value.code is FailureCode.CREDENTIALS_REFUSED
    assert caught.value.permanent
    assert WRONG_KEY not in caplog.text + "".join(traceback.format_exception(caught.value))


def test_an_account_that_does_not_answer_is_unavailable(tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{free_port()}/account"
    store = connect(f"AccountName=account;AccountKey={WRONG_KEY};BlobEndpoint={address};", tmp_path / "incoming")
    source = store.incoming() / "upload"
    source.write_bytes(b"x")
    for use in (store.check, lambda: store.put_file("a", source), lambda: list(store.list())):
        with pytest.raises(ProviderError) as caught:
            use()
        assert caught.value.code is FailureCode.STORAGE_UNAVAILABLE
        assert not caught.value.permanent
    assert source.exists()


def test_a_managed_identity_needs_no_key(tmp_path: Path) -> None:
    store = AzureBlobStore.connect(
        tmp_path / "incoming",
        "docmill",
        connection_string="",
        account_url="https://account.blob.core.windows.net",
        timeout_seconds=5,
    )
    assert store._container.url == "https://account.blob.core.windows.net/docmill"


def test_room_is_asked_for_once_in_a_while(azure_store: AzureBlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    azure_store.check_space()
    container = azure_store._container
    container.delete_container()
    # What was found a moment ago is believed, then it is written to again, for real.
    azure_store.check_space()
    monkeypatch.setattr(azure_blob, "SPACE_SECONDS", 0.0)
    with pytest.raises(ProviderError) as caught:
        azure_store.check_space()
    assert caught.value.code is FailureCode.STORAGE_UNAVAILABLE
    azure_store.check_space()


def test_an_account_that_does_not_answer_has_no_space(tmp_path: Path) -> None:
    address = f"BlobEndpoint=http://127.0.0.1:{free_port()}/a;AccountName=a;AccountKey={WRONG_KEY}"
    with pytest.raises(ProviderError) as caught:
        connect(address, tmp_path / "incoming").check_space()
    assert caught.value.code is FailureCode.STORAGE_UNAVAILABLE


def test_this_machines_disk_counts_too(azurite: Azurite, tmp_path: Path) -> None:
    store = AzureBlobStore.connect(
        tmp_path / "incoming",
        f"test-{uuid4().hex}",
        connection_string=azurite.connection_string,
        account_url=None,
        timeout_seconds=20,
        free_min_bytes=1 << 60,
    )
    with pytest.raises(ProviderError) as caught:
        store.check_space()
    assert caught.value.code is FailureCode.STORAGE_FULL
