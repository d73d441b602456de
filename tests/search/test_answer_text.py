"""Lines of an answer: each has sources, and they hold its numbers."""

import pytest

from webapp.search.answer_text import AnswerSentence, lines_of, sentence_of

PASSAGES = ("The lease ends on 01.03.2027.", "The rent is 1,250.50 EUR a month.", "Signed 2026-02-14 by A. Berg.")


def test_lines_come_as_soon_as_they_are_whole() -> None:
    assert list(lines_of(["One [1].\nTw", "o [2]", ".\n", "Three"])) == ["One [1].", "Two [2].", "Three"]


@pytest.mark.parametrize(
    ("line", "text", "sources"),
    [
        ("The lease ends on 1.3.2027 [1].", "The lease ends on 1.3.2027.", (1,)),
        ("It costs 1.250,50 EUR. [2][3]", "It costs 1.250,50 EUR.", (2, 3)),
        ("- It was signed on 14 February 2026 [3, 1]", "It was signed on 14 February 2026", (3, 1)),
        ("2. It ends in March 2027 [1][1].", "It ends in March 2027.", (1,)),
    ],
)
def test_a_sentence_with_sources_that_hold_its_numbers(line: str, text: str, sources: tuple[int, ...]) -> None:
    assert sentence_of(line, PASSAGES) == AnswerSentence(text, sources)


@pytest.mark.parametrize(
    "line",
    ["It ends soon.", "It ends in 2028 [1].", "The rent is 1,250.50 [1].", "It ends [4].", "[1]", "It ends [0].",
     "x" * 700 + " [1]", "[1] " * 2_000, "It ends \u0661 [1]"],
)  # fmt: skip
def test_what_names_no_source_or_a_wrong_one_is_left_out(line: str) -> None:
    assert sentence_of(line, PASSAGES) is None
