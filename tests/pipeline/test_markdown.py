"""Page marks, headings and plain words."""

import re
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.pipeline.markdown import (
    BLANKS,
    HEADING_CHARACTERS_MAX,
    MarkdownPage,
    find_headings,
    heading_in,
    plain,
    split_pages,
    unmark,
)

MARKED = "<!-- page 1 -->\n\n# One\n\nfirst\n\n<!-- page 2 -->\n\nsecond\n\n<!-- page 4 -->\n\nfourth\n"


def test_pages_are_cut_at_their_marks() -> None:
    assert split_pages(MARKED, 4) == [
        MarkdownPage(1, "# One\n\nfirst"),
        MarkdownPage(2, "second"),
        MarkdownPage(4, "fourth"),
    ]


def test_without_pages_a_mark_is_text() -> None:
    assert split_pages(MARKED, None) == [MarkdownPage(None, MARKED.strip("\n"))]
    assert unmark(MARKED, None).page_at(10) is None


def test_marks_that_cannot_be_are_text() -> None:
    parts = [
        "<!-- page 1 -->",
        "one",
        "<!-- page 99 -->",
        "still one",
        "<!-- page 2 -->",
        "two",
        "<!-- page 1 -->",
        "end",
    ]
    text = "\n\n".join(parts)

    pages = split_pages(text, 2)

    assert [page.number for page in pages] == [1, 2]
    assert "page 99" in pages[0].text
    assert "<!-- page 1 -->" in pages[1].text


def test_characters_know_their_page() -> None:
    unmarked = unmark(MARKED, 4)

    assert "page" not in unmarked.text
    for word, page in (("# One", 1), ("first", 1), ("second", 2), ("fourth", 4)):
        assert unmarked.page_at(unmarked.text.index(word)) == page
    assert unmarked.page_at(len(unmarked.text) - 1) == 4
    assert unmark("", 0).page_at(0) is None


def test_headings_know_those_above_them() -> None:
    text = "intro\n\n# A\n\na\n\n## B ##\n\nb\n\n### *C*\n\nc\n\n## D\n\nd\n\n# E\n\ne"

    headings = find_headings(text)

    assert headings.at(0) is None
    assert [headings.at(text.index(f"\n{letter}\n") + 1) for letter in "abcd"] == ["A", "A / B", "A / B / C", "A / D"]
    assert headings.at(len(text) - 1) == "E"


def test_code_has_no_headings() -> None:
    text = "# A\n\n```\n# not a heading\n~~~\n```\n\nb\n\n~~~~ python\n# nor this\n~~~\n# nor that\n~~~~\n\n# C\n"

    assert find_headings(text).paths == ("A", "C")


def test_hashes_without_a_title_are_no_heading() -> None:
    assert find_headings("#\n\n#hash\n\n####### seven\n\n# \n").paths == ()


def test_plain_words_have_no_signs() -> None:
    assert plain("## Some **bold** and *soft* `code`, a [link](http://x) and ![image](y)") == (
        "Some bold and soft code, a link and image"
    )
    assert plain("| a | b |\n|---|:-:|\n| 1 | 2 |") == "a b 1 2"
    assert plain(r"snake_case, 2 \* 3 and \_under_") == "snake_case, 2 * 3 and _under"
    assert plain("> quoted\n> lines") == "quoted lines"


# What a heading is, as a pattern: right, but it may take the square of a line's length.
HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*$")
BETWEEN_CELLS = re.compile(r"[ \t]*\|[ \t]*")
EMPHASIS = re.compile(r"(?<!\\)[*`]+|(?<![\w\\])_+|(?<!\\)_+(?!\w)")


@given(st.text(alphabet="#  \ta\xa0\r\\", max_size=14))
def test_a_heading_is_what_the_pattern_says(line: str) -> None:
    found = HEADING.match(line)
    assert heading_in(line) == (None if found is None else (len(found[1]), found[2].rstrip(BLANKS)))


@given(st.text(alphabet="_*` a\\|1.", max_size=14))
def test_signs_are_removed_as_before(text: str) -> None:
    escape = re.compile(r"\\([!-/:-@\[-`{-~])")
    rows = re.compile(r"^[ \t]*(?:-{3,}|\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?)?)[ \t]*$", re.MULTILINE)
    starts = re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]+|>[ \t]?|\|)", re.MULTILINE)
    before = EMPHASIS.sub("", BETWEEN_CELLS.sub(" ", starts.sub("", rows.sub("", text))))
    assert plain(text) == " ".join(escape.sub(r"\1", before).split())


@pytest.mark.parametrize("letter", list("# \t|_*`[]()\\-:>~<!a\n"))
@pytest.mark.parametrize(
    "frame",
    ["{}", "# a{}b", "# {}", "a{}a", "```{}", "| {} |", "[{}](x)", "# a {} #"],
)
def test_no_line_takes_long(frame: str, letter: str) -> None:
    text = frame.format(letter * 50_000)
    started = thread_time()
    find_headings(text)
    plain(text)
    assert thread_time() - started < 0.5


def test_a_text_of_headings_takes_no_longer_for_each() -> None:
    started = thread_time()
    headings = find_headings("# a ## b\n" * 50_000 + "#" * 100_000 + "\n" * 100_000)
    assert len(headings.starts) == 50_000
    assert thread_time() - started < 5


def test_a_title_without_end_is_cut() -> None:
    assert len(find_headings("# " + "word " * 100_000).paths[0]) == HEADING_CHARACTERS_MAX
