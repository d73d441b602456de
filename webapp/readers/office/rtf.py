"""Rich text (RTF): its text, tables, notes and headers; without what is hidden or deleted."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Field
from webapp.readers.fields.markdown import with_fields
from webapp.readers.markup.markdown import note
from webapp.readers.office.blocks import Tables, one_line
from webapp.readers.office.content import Content, extraction
from webapp.readers.office.properties import Properties
from webapp.readers.office.rtf_codes import CHARACTERS, CHARSETS, CODE_PAGES, DESTINATIONS, TEXTS, code_page
from webapp.readers.office.rtf_text import RtfText
from webapp.readers.titles import chosen_title
from webapp.sandbox.child import Report

BYTES_MAX = 256 << 20
GROUPS_MAX = 1_000_000
PROGRESS_TOKENS = 200_000
COMMENT = "Comment: {text}"
CUT = "The file ends in the middle: something may be missing at its end."

# Texts in groups of which nothing else is read.
_WITHIN_UNSEEN = frozenset({"box", "title", "author"})
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)|\\"
)


def parse_rtf(arguments: dict[str, object], report: Report) -> object:
    """Read the document at `source`; the answer is an Extraction as plain data."""
    source = Path(str(arguments["source"]))
    if source.stat().st_size > BYTES_MAX:
        raise BadInput(f"more than {BYTES_MAX} bytes", code=FailureCode.TOO_LARGE)
    reader = _Reader(source.read_bytes(), report)
    reader.read()
    fields = tuple(Field("Author", author) for author in [reader.words("author")] if author)
    properties = Properties(chosen_title(reader.words("title")), None, fields)
    return msgspec.to_builtins(with_fields(extraction(reader.content(), properties)))


def text_of_rtf(data: bytes) -> str:
    """The text of a document that lies within another one, without marks."""
    reader = _Reader(data, None)
    reader.read()
    return _ESCAPED.sub(r"\1", "\n\n".join(reader.content().pages))


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds within one pair of braces."""

    text: RtfText | None
    """Where its text goes; None for what no reader sees."""
    codec: str
    skipped_after_unicode: int = 1
    is_hidden: bool = False
    is_deleted: bool = False
    is_optional: bool = False
    """Right behind a mark that says: leave this out if you don't know it."""
    table: str = ""
    """Which of the tables before the text this is, by its word: that of the fonts, or that of the styles."""
    is_label: bool = False
    """Whether this is the number or the bullet before an item."""


class _Reader:
    """Reads one file, token by token."""

    def __init__(self, data: bytes, report: Report | None) -> None:
        self._data = data
        self._report = report
        self._tables = Tables()
        self._main = RtfText(self._tables)
        self._texts: dict[str, list[RtfText]] = {kind: [] for kind in set(TEXTS.values())}
        self._group = _Group(self._main, "cp1252")
        self._outer: list[_Group] = []
        self._fonts: dict[int, str] = {}
        self._font = 0
        self._levels: dict[int, int] = {}
        """The outline levels of the styles that are headings."""
        self._style = 0
        self._default = "cp1252"
        self._bytes = bytearray()
        self._to_skip = 0
        self._is_cut = False

    def read(self) -> None:
        """Read all of it."""
        place = count = 0
        while (found := _TOKEN.match(self._data, place)) is not None:
            place = found.end()
            word, argument, code, sign, brace, text = found.groups()
            if text is not None:
                self._write(text)
            elif code is not None:
                self._write(bytes.fromhex(code.decode()))
            else:
                self._flush()
                if brace is not None:
                    self._brace(brace)
                elif word == b"bin":
                    place = self._after_bytes(place, int(argument or 0))
                elif word is not None:
                    self._word(word.decode(), None if argument is None else int(argument))
                elif sign is not None:
                    self._sign(sign)
            count += 1
            if self._report is not None and count % PROGRESS_TOKENS == 0:
                self._report.progress(0.9 * place / len(self._data))
        self._flush()
        self._is_cut |= bool(self._outer)

    def content(self) -> Content:
        """The text in reading order: headers, the text with its boxes, footers, notes, comments."""
        blocks = {kind: [each.blocks() for each in texts] for kind, texts in self._texts.items()}
        heads, feet = (dict.fromkeys(block for each in blocks[kind] for block in each) for kind in ("header", "footer"))
        notes = [note(str(count), "\n\n".join(each)) for count, each in enumerate(blocks["note"], 1)]
        comments = [COMMENT.format(text=one_line(" ".join(each))) for each in blocks["comment"] if each]
        boxes = [block for each in blocks["box"] for block in each]
        everything = [*heads, *self._main.blocks(), *boxes, *feet, *notes, *comments]
        text = "\n\n".join(block for block in everything if block and not block.strip("-\u2013 ").isdigit())
        warnings = [CUT] if self._is_cut else []
        return Content([text], False, self._tables.found, warnings=warnings, is_partial=self._is_cut)

    def words(self, kind: str) -> str:
        """What the file says of itself."""
        return " ".join(one_line(" ".join(each.blocks())) for each in self._texts[kind][:1])

    def _write(self, data: bytes) -> None:
        if self._to_skip:
            skipped = min(self._to_skip, len(data))
            self._to_skip -= skipped
            data = data[skipped:]
        if self._group.text is not None and not self._group.is_hidden and not self._group.is_deleted:
            # Both bytes of a character may come in different ways, so they wait for each other.
            self._bytes += data

    def _flush(self) -> None:
        if self._bytes:
            if self._group.text is not None:
                self._group.text.write(self._bytes.decode(self._group.codec, "replace"))
            self._bytes.clear()

    def _brace(self, brace: bytes) -> None:
        self._to_skip = 0
        if brace == b"{":
            if len(self._outer) >= GROUPS_MAX:
                raise BadInput(f"more than {GROUPS_MAX} groups within each other", code=FailureCode.TOO_LARGE)
            self._outer.append(replace(self._group, is_optional=False) if self._group.is_optional else self._group)
        elif self._outer:
            self._group = self._outer.pop()

    def _after_bytes(self, place: int, count: int) -> int:
        """Where the text goes on after bytes that are no text; a length that can't be true is not believed."""
        if 0 <= count <= len(self._data) - place:
            return place + count
        self._is_cut = True
        return place

    def _sign(self, sign: bytes) -> None:
        if sign == b"*":
            self._group = replace(self._group, is_optional=True)
        elif sign in b"\r\n":
            self._word("par", None)
        else:
            self._say({b"~": "\xa0", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\"}.get(sign, ""))

    def _say(self, text: str) -> None:
        if self._to_skip and text:
            self._to_skip -= 1
        elif self._group.text is not None and not self._group.is_hidden and not self._group.is_deleted:
            self._group.text.write(text)

    def _word(self, word: str, number: int | None) -> None:
        if self._group.is_optional and word not in TEXTS and word != "shpinst":
            self._group = replace(self._group, text=None, is_optional=False)
        if word == "u":
            self._unicode(number or 0)
        elif word in CHARACTERS:
            self._say(CHARACTERS[word])
        elif word in TEXTS:
            self._begin(TEXTS[word])
        elif word in DESTINATIONS:
            self._group = replace(self._group, text=None, table=word, is_optional=False)
        elif word in _LAYOUT and self._group.table != "stylesheet":
            # What belongs to the label of an item does not belong to the item.
            if self._group.text is not None and not self._group.is_label:
                _LAYOUT[word](self._group.text, number)
        else:
            self._format(word, number)

    def _begin(self, kind: str) -> None:
        """A text beside the main one; nothing where that is in something that is not shown."""
        is_unseen = self._group.text is None and kind not in _WITHIN_UNSEEN
        if is_unseen or self._group.is_hidden or self._group.is_deleted:
            self._group = replace(self._group, text=None, is_optional=False)
            return
        text = RtfText(self._tables)
        self._texts[kind].append(text)
        if kind == "note":
            self._say(f"[^{len(self._texts[kind])}]")
        self._group = replace(self._group, text=text, is_optional=False)

    def _unicode(self, number: int) -> None:
        self._to_skip = 0
        code = number + 0x10000 if number < 0 else number
        if 0 < code <= 0x10FFFF:
            self._say(chr(code))
        self._to_skip = self._group.skipped_after_unicode

    def _format(self, word: str, number: int | None) -> None:
        """What changes how the text behind it is to be read."""
        group = self._group
        match word:
            case "uc":
                self._group = replace(group, skipped_after_unicode=max(0, min(number or 0, 100)))
            case "v":
                self._group = replace(group, is_hidden=number != 0)
            case "deleted":
                self._group = replace(group, is_deleted=number != 0)
            case "plain":
                self._group = replace(group, is_hidden=False, is_deleted=False, codec=self._default)
            case "listtext" | "pntext":
                self._group = replace(group, is_label=True)
            case "ansicpg" | "mac" | "pc" | "pca":
                self._default = CODE_PAGES.get(word) or code_page(number)
                self._group = replace(group, codec=self._default)
            case _ if group.table:
                self._define(word, number or 0)
            case "f":
                self._group = replace(group, codec=self._fonts.get(number or 0, self._default))
            case "s" if group.text is not None and not group.is_label:
                group.text.level = self._levels.get(number or 0)

    def _define(self, word: str, number: int) -> None:
        """What the tables before the text say of fonts and styles."""
        match self._group.table, word:
            case "fonttbl", "f":
                self._font = number
            case "fonttbl", "fcharset" if number in CHARSETS:
                self._fonts[self._font] = CHARSETS[number]
            case "stylesheet", "s":
                self._style = number
            case "stylesheet", "outlinelevel" if 0 <= number < 9:
                self._levels[self._style] = number


def _in_table(text: RtfText, _: int | None) -> None:
    text.is_in_table = True


def _reset(text: RtfText, _: int | None) -> None:
    text.is_in_table = False
    text.level = text.item_level = None


def _item(text: RtfText, number: int | None) -> None:
    text.item_level = max(0, min(number or 0, 8))


def _outline(text: RtfText, number: int | None) -> None:
    text.level = number if number is not None and 0 <= number < 9 else None


_LAYOUT: dict[str, Callable[[RtfText, int | None], None]] = {
    "par": lambda text, _: text.end_paragraph(),
    "sect": lambda text, _: text.end_paragraph(),
    "page": lambda text, _: text.end_paragraph(),
    "cell": lambda text, _: text.end_cell(),
    "row": lambda text, _: text.end_row(),
    "nestcell": lambda text, _: text.write(", "),
    "nestrow": lambda text, _: text.write("; "),
    "intbl": _in_table,
    "pard": _reset,
    "outlinelevel": _outline,
    "ilvl": _item,
}
