"""Mutation fuzzing of every reader for a minute; `make fuzz` is the long one. And the fuzzer itself."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz import campaign
from tests.fuzz.judge import faults_of
from tests.fuzz.rig import SECRET, Ending, Rig, Verdict
from tests.fuzz.seeds import kinds, seeds_of
from webapp.readers.extraction import Extraction, Field, Page, Table, Word
from webapp.readers.filetypes import FILE_TYPES

SECONDS, SEED = 60.0, 13


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(600)
def test_every_file_ends_in_a_result_or_in_an_error_that_says_why() -> None:
    scores = list(campaign.run(list(kinds()), SECONDS, SEED))
    assert [fault for score in scores for fault in score.faults] == []
    # A mutation that only ever breaks a file looks into no reader.
    assert sum(score.endings[Ending.READ] for score in scores) > 0.2 * sum(score.files for score in scores)


@pytest.mark.slow
@pytest.mark.parametrize("reader", kinds())
def test_what_is_changed_is_read_before(reader: str, rig: Rig) -> None:
    for data in seeds_of(reader):
        assert rig.run(kinds()[reader], data).ending is Ending.READ


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Rig(tmp_path_factory.mktemp("fuzz")) as rig:
        yield rig


def test_there_is_a_reader_for_every_type_that_is_read() -> None:
    fuzzed = {kind.content_type for kind in kinds().values()}
    read = {each.content_type for each in FILE_TYPES if each.reader or each.is_picture or each.demuxer}
    assert read - fuzzed <= {"video/x-msvideo"}


def test_the_same_seed_makes_the_same_files() -> None:
    assert campaign.changed("html", 3, 7) == campaign.changed("html", 3, 7) != campaign.changed("html", 4, 7)


GOOD = Extraction(
    extractor="local",
    version="1",
    markdown="<!-- page 1 -->\n\ntext",
    pages=(Page(1, "text", 100, 200, (Word("text", 0.9, (1, 1, 9, 1, 9, 9, 1, 9)),)),),
    page_count=1,
)
BOX_ELSEWHERE = (900.0, 1.0, 990.0, 1.0, 990.0, 9.0, 900.0, 9.0)
BAD = {
    "a NUL": replace(GOOD, markdown="a\0"),
    "half of a surrogate pair": replace(GOOD, title="a\ud800"),
    "a page too many": replace(GOOD, page_count=2),
    "pages in no order": replace(GOOD, pages=(replace(GOOD.pages[0], number=2),)),
    "a box beside its page": replace(GOOD, fields=(Field("a", "b", page=1, polygon=BOX_ELSEWHERE),)),
    "a box that is no number": replace(
        GOOD, pages=(replace(GOOD.pages[0], words=(Word("x", None, (float("nan"),) * 8),)),)
    ),
    "a table of nothing": replace(GOOD, tables=(Table(1, ()),)),
    "a table on no page": replace(GOOD, tables=(Table(9, (("a",),)),)),
    "another file's text": replace(GOOD, markdown=f"so {SECRET} it is"),
    "nothing": replace(GOOD, markdown="", pages=(), page_count=None),
}


def test_a_good_result_has_no_faults() -> None:
    assert faults_of(GOOD, (SECRET,)) == []


@pytest.mark.parametrize("name", BAD)
def test_a_fault_would_be_noticed(name: str) -> None:
    assert faults_of(BAD[name], (SECRET,)) != []


def test_a_fault_is_kept_with_the_command_that_repeats_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "KEPT", tmp_path)
    monkeypatch.setattr(campaign, "ROOT", tmp_path)
    score = campaign.Score("pdf")
    campaign.add(score, Verdict(Ending.FAULT, "TypeError outside of the sandbox", 0.1), b"%PDF- and so on")
    (kept,) = tmp_path.iterdir()
    assert kept.read_bytes() == b"%PDF- and so on"
    assert f"make fuzz reader=pdf file={kept.name}" in score.faults[0]
