"""What each FileOpener promises."""

import io
from pathlib import Path

import pytest
from msoffcrypto.method.ecma376_agile import ECMA376Agile

from tests.locked import PASSWORD, WRONG, locked_docx, locked_pdf, plain_docx
from webapp.provider_errors import BadInput, FailureCode
from webapp.providers.local.opener import LocalOpener
from webapp.providers.ports import FileOpener


@pytest.fixture
def opener(local_opener: LocalOpener) -> FileOpener:
    return local_opener


def _open(opener: FileOpener, folder: Path, data: bytes, password: str) -> bytes:
    source, target = folder / "source", folder / "target"
    source.write_bytes(data)
    target.write_bytes(b"")
    opener.open(source, target, password, timeout_seconds=30)
    assert source.read_bytes() == data
    return target.read_bytes()


def _refusal(opener: FileOpener, folder: Path, data: bytes, password: str) -> BadInput:
    with pytest.raises(BadInput) as refused:
        _open(opener, folder, data, password)
    assert password not in refused.value.message
    assert refused.value.__cause__ is None
    return refused.value


def test_the_password_opens_it(opener: FileOpener, tmp_path: Path) -> None:
    assert _open(opener, tmp_path, locked_docx(), PASSWORD) == plain_docx()
    opened = _open(opener, tmp_path, locked_pdf("lantern"), "lantern")
    assert opened.startswith(b"%PDF-")
    assert b"/Encrypt" not in opened


@pytest.mark.parametrize("data", [locked_docx(), locked_pdf("lantern")], ids=["docx", "pdf"])
def test_another_one_does_not(opener: FileOpener, tmp_path: Path, data: bytes) -> None:
    assert _refusal(opener, tmp_path, data, WRONG).code is FailureCode.WRONG_PASSWORD


def test_a_password_that_an_error_would_quote_is_left_out(opener: FileOpener, tmp_path: Path) -> None:
    assert _refusal(opener, tmp_path, locked_docx(), "password").code is FailureCode.WRONG_PASSWORD


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.95])
@pytest.mark.parametrize("kind", ["docx", "pdf"])
def test_a_cut_file_is_refused(opener: FileOpener, tmp_path: Path, kind: str, share: float) -> None:
    data, password = (locked_docx(), PASSWORD) if kind == "docx" else (locked_pdf("lantern"), "lantern")
    cut = data[: int(len(data) * share)]
    codes = {FailureCode.CORRUPT, FailureCode.WRONG_PASSWORD, FailureCode.LOCK_UNKNOWN}
    assert _refusal(opener, tmp_path, cut, password).code in codes


def test_what_is_no_locked_file_has_no_opener(opener: FileOpener, tmp_path: Path) -> None:
    for data in (b"Some words.", plain_docx()):
        assert _refusal(opener, tmp_path, data, PASSWORD).code is FailureCode.LOCK_UNKNOWN


def test_a_password_that_is_hashed_without_end_is_refused(opener: FileOpener, tmp_path: Path) -> None:
    said = locked_docx().replace(b'spinCount="1000"', b'spinCount="9e99"')
    assert said != locked_docx()
    assert _refusal(opener, tmp_path, said, PASSWORD).code in {FailureCode.CORRUPT, FailureCode.LOCK_UNKNOWN}


def test_a_package_that_claims_to_be_huge_takes_no_more_than_it_has(opener: FileOpener, tmp_path: Path) -> None:
    body = io.BytesIO(plain_docx())
    locked: bytes = ECMA376Agile.encrypt(PASSWORD, body, spin_count=10)
    size = len(plain_docx()).to_bytes(8, "little")
    claimed = locked.replace(size, (1 << 60).to_bytes(8, "little"))
    assert claimed != locked
    assert len(_open(opener, tmp_path, claimed, PASSWORD)) <= len(locked)
