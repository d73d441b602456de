"""The table of file types: every row is told by something, and each thing tells one row."""

import importlib
from collections import Counter

import pytest

from webapp.readers.filetypes import FILE_TYPES, filetype, promised_by


def test_nothing_is_in_the_table_twice() -> None:
    told = [each.content_type for each in FILE_TYPES] + [ending for each in FILE_TYPES for ending in each.endings]
    told += [str(mark) for each in FILE_TYPES for mark in each.marks]
    assert {name: number for name, number in Counter(told).items() if number > 1} == {}


def test_a_mark_comes_before_those_that_it_begins_with() -> None:
    marks = [mark for each in FILE_TYPES for mark in each.marks]
    hidden = [
        (earlier, later)
        for number, later in enumerate(marks)
        for earlier in marks[:number]
        if earlier[0] == later[0] and later[1].startswith(earlier[1])
    ]
    assert hidden == []


@pytest.mark.parametrize("reader", sorted({each.reader for each in FILE_TYPES if each.reader}))
def test_each_reader_is_there(reader: str) -> None:
    module, _, function = reader.partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_what_is_read_here_has_a_name_and_a_place_in_the_sentence() -> None:
    read = [each for each in FILE_TYPES if each.reader or each.demuxer]
    assert read
    assert [each.content_type for each in read if not (each.endings and each.group)] == []


@pytest.mark.parametrize(
    ("content_type", "badge", "label"),
    [
        ("application/pdf", "PDF", "PDF document"),
        ("audio/aiff", "AIFF", "AIFF recording"),
        ("application/x-nothing", "FILE", "application/x-nothing"),
    ],
)
def test_people_read_a_badge_and_a_label(content_type: str, badge: str, label: str) -> None:
    assert (filetype(content_type).badge, filetype(content_type).label) == (badge, label)


@pytest.mark.parametrize(
    ("filename", "promised"),
    [
        ("a.PDF", "application/pdf"),
        ("..\\b\\c.Md", "text/markdown"),
        ("notes.epub", "application/epub+zip"),
        ("a", None),
    ],
)
def test_a_name_promises_a_type_by_its_end(filename: str, promised: str | None) -> None:
    assert promised_by(filename) == promised
