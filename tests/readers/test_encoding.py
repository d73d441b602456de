"""Texts in any encoding: what says so itself is believed, what does not is guessed, and the guess is told."""

# ruff: noqa: RUF001 - letters of other alphabets are the point here

from pathlib import Path

import pytest

from webapp.provider_errors import BadInput
from webapp.providers.local.extract import LocalExtractor
from webapp.readers.encoding import codec_named, decode
from webapp.readers.filetypes import PLAIN
from webapp.readers.sniff import sniff

RUSSIAN = "Смотритель маяка записал в журнал, что буря пришла с моря и корабль не нашёл дороги."
POLISH = "Zażółć gęślą jaźń: latarnik zapisał, że sztorm przyszedł od morza, a statek zgubił drogę."
GERMAN = "Der Wärter schrieb, daß der Sturm über die Küste kam und größere Schäden brachte."
JAPANESE = "灯台守は日誌に、嵐が海から来て船が道に迷ったと書いた。"
CHINESE = "灯塔看守人在日志中写道，风暴从海上来，船迷失了方向。"


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"plain", "plain", "utf-8"),
        ("größer".encode(), "größer", "utf-8"),
        ("größer".encode("utf-8-sig"), "größer", "utf-8"),
        ("größer".encode("utf-16"), "größer", "utf-16-le"),
        (b"\xfe\xff" + "größer".encode("utf-16-be"), "größer", "utf-16-be"),
        ("größer".encode("utf-32"), "größer", "utf-32-le"),
        (GERMAN.encode("utf-16-le"), GERMAN, "utf-16-le"),
        (RUSSIAN.encode("utf-16-be"), RUSSIAN, "utf-16-be"),
    ],
)
def test_what_can_be_known_is_no_guess(data: bytes, text: str, encoding: str) -> None:
    assert decode(data) == (text, encoding, False)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("größer €", "cp1252"),
        ("café", "cp1252"),
        (GERMAN, "cp1252"),
        (GERMAN, "cp850"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "cp866"),
        (POLISH, "cp1250"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc-jp"),
        (CHINESE, "gb18030"),
        (CHINESE, "big5"),
    ],
)
def test_what_has_to_be_guessed_is_guessed_right_and_told(text: str, encoding: str) -> None:
    text = text.encode(encoding, "ignore").decode(encoding)
    found = decode(text.encode(encoding))
    assert (found.text, found.is_guess) == (text, True)
    assert "We guessed the encoding" in found.warnings[0]


def test_a_long_text_is_judged_where_its_letters_are() -> None:
    data = b"plain words and numbers 1234567890\n" * 10_000 + RUSSIAN.encode("koi8-r")
    assert decode(data).text.endswith(RUSSIAN)


def test_no_text_at_all_is_refused() -> None:
    with pytest.raises(BadInput):
        decode(b"GIF89a" + bytes(range(32)) * 20)


def test_what_is_undefined_everywhere_is_kept() -> None:
    assert decode(b"\x81 undefined there").text.endswith(" undefined there")


@pytest.mark.parametrize(
    ("declared", "text"),
    [("koi8-r", "Тест"), ("windows-1251", "Тест"), ("KOI8_R", "Тест"), ("iso-2022-jp", "灯台"), ("utf-8", "Größe")],
)
def test_what_it_says_of_itself_is_believed(declared: str, text: str) -> None:
    assert decode(text.encode(declared), declared).text == text
    assert not decode(text.encode(declared), declared).is_guess


@pytest.mark.parametrize(
    "name", ["x-unknown", "", None, "zip", "hex", "rot13", "punycode", "idna", "utf-7", "unicode_escape", "\0", "é"]
)
def test_what_is_no_encoding_of_texts_is_not_believed(name: str | None) -> None:
    assert codec_named(name) is None
    assert decode("größer €".encode("cp1252"), name).text == "größer €"


def test_names_mean_what_they_mean_to_programs() -> None:
    assert codec_named("ISO-8859-1") == "cp1252"
    assert codec_named("windows-950") == "cp950"
    assert codec_named(' "UTF-8" ') == "utf-8"


@pytest.mark.parametrize("encoding", ["koi8-r", "cp1251", "utf-16-le", "utf-16-be"])
def test_such_files_are_known_as_text_and_read(extractor: LocalExtractor, tmp_path: Path, encoding: str) -> None:
    source = tmp_path / "source"
    source.write_bytes(RUSSIAN.encode(encoding))
    assert sniff(RUSSIAN.encode(encoding), "a.txt").content_type == PLAIN
    found = extractor.extract(source, PLAIN, timeout_seconds=20, progress=lambda _: None)
    assert found.markdown == RUSSIAN


@pytest.mark.parametrize("data", [bytes(range(256)) * 4, b"\0\1" * 500, b"\0" * 4000, b"\x00\x41" * 3 + b"\1\2\3" * 50])
def test_bytes_are_not_mistaken_for_utf_16(data: bytes) -> None:
    assert sniff(data, "a.txt").content_type == "application/octet-stream"
