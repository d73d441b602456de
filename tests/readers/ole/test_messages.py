"""Messages of Outlook, and what their container may hold instead."""

from struct import pack

import pytest

from tests.readers.office.conftest import Read, read
from tests.readers.ole.container import container, message
from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.filetypes import DOC, MSG, PPT, XLS
from webapp.readers.ole.packed_rtf import unpack

__all__ = ["read"]

BODY = "Dear Ann,\r\n\r\nthe lamp is lit.\r\n\r\nFrom: Ann\r\nSent: Monday\r\nTo: Bo\r\nSubject: Lamp\r\n\r\nIs it?"


def test_it_is_read_like_mail(read: Read) -> None:
    found = read(message(BODY, attachment=("plan.pdf", b"%PDF-1.4 " + bytes(5_991))), MSG)
    fields = {field.name: field.value for field in found.fields}
    assert fields["From"] == "Bo Keeper <bo@example.org>"
    assert fields["To"] == "Ann Writer <ann@example.org>"
    assert fields["Subject"] == found.title == "Die Lampe für Ann"
    assert fields["Date"].startswith("2026-03-04 15:07")
    newest, _, older = found.markdown.partition("## Earlier messages")
    assert "the lamp is lit" in newest
    assert "Is it?" in older
    assert "- plan.pdf (application/pdf, 6 kB)" in found.markdown
    assert (found.parts, found.warnings) == (1, ())


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_a_cut_one_is_refused(read: Read, share: float) -> None:
    data = message(BODY)
    with pytest.raises(BadInput) as refused:
        read(data[: int(len(data) * share)], MSG)
    assert refused.value.code in {FailureCode.CORRUPT, FailureCode.UNSUPPORTED}


@pytest.mark.parametrize("kind", [DOC, XLS, PPT, MSG])
def test_another_container_is_not_read(read: Read, kind: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(container({"Something else": bytes(5_000)}), kind)
    assert refused.value.code is FailureCode.UNSUPPORTED


@pytest.mark.parametrize(
    ("streams", "kind"),
    [
        ({"WordDocument": bytes(10) + pack("<H", 0x0100) + bytes(5_000)}, DOC),
        ({"Workbook": pack("<HH", 0x0809, 4) + bytes(4) + pack("<HH", 0x002F, 2) + bytes(5_000)}, XLS),
        (
            {"PowerPoint Document": bytes(5_000), "Current User": bytes(12) + pack("<I", 0xF3D1C4DF) + bytes(5_000)},
            PPT,
        ),
        ({"EncryptedPackage": bytes(5_000)}, DOC),
    ],
)
def test_a_locked_one_needs_a_password(read: Read, streams: dict[str, bytes], kind: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(container(streams), kind)
    assert refused.value.code is FailureCode.ENCRYPTED


@pytest.mark.parametrize("stream", ["WordDocument", "PowerPoint Document", "Workbook"])
def test_a_damaged_one_is_refused(read: Read, stream: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(container({stream: b"\x7f" * 6_000}), DOC)
    assert refused.value.code in {FailureCode.CORRUPT, FailureCode.NO_TEXT, FailureCode.ENCRYPTED}


def test_packed_rtf() -> None:
    plain = pack("<III", 20, 8, 0x414C454D) + bytes(4) + b"{\\rtf1 a}"
    assert unpack(plain) == b"{\\rtf1 a}"
    # Nine letters, of which the last eight repeat the one before them.
    packed = b"\x02a" + ((207 << 4) | 6).to_bytes(2, "big")
    assert unpack(pack("<III", 20, 9, 0x75465A4C) + bytes(4) + packed) == b"aaaaaaaaa"
    for damaged in (b"", b"LZFu", pack("<III", 20, 1 << 31, 0x75465A4C) + bytes(4) + b"\xff"):
        assert unpack(damaged) == b""
