"""No regular expression takes more than linear time, whatever it is given.

Each meets long runs of one character, and repeated pieces of what it looks for, in the way in which the product calls
it. Python's `re` keeps the interpreter's lock, so one that is slow stops the whole process.
"""

import re
from collections import deque
from time import thread_time
from typing import Any

import pytest

from tests.guards.patterns import Found, Hostile, hidden_patterns, hostile_texts, product_patterns

pytestmark = [pytest.mark.slow, pytest.mark.alone]

SHORT, LONG = 1_000, 4_000
# Linear ones take some 100 us for a long text, quadratic ones 2 ms and more: only those are looked at twice.
DOUBTFUL_SECONDS = 0.0015
# What is linear takes 4 times as long for 4 times as much, what is quadratic 16 times.
FACTOR_MAX = 9


def test_no_pattern_takes_more_than_linear_time() -> None:
    found = product_patterns()
    assert len(found) > 50
    slow = {each.place: text for each in found if (text := slow_text(each)) is not None}
    assert slow == {}


def test_every_pattern_can_be_seen() -> None:
    assert hidden_patterns() == []


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*$", "match"),
        (r"[ \t]*\|[ \t]*", "sub"),
        (r"(?<!\\)_+(?!\w)", "sub"),
        (r'<!--\s*PageHeader="([^\n]*?)"\s*-->', "sub"),
        (r"^\s*(?:-|\|?\s*:)$", "match"),
        (rb"a+b+c", "search"),
    ],
)
def test_the_guard_would_notice(pattern: Any, method: str) -> None:
    assert slow_text(Found("here", re.compile(pattern), frozenset({method}))) is not None


def slow_text(found: Found) -> str | None:
    """The beginning and the end of a text that this pattern takes too long for."""
    for method in found.methods:
        for hostile in hostile_texts(found.pattern):
            seconds = _seconds(found.pattern, method, hostile.of(LONG))
            # Looked at again, since a busy machine can make any one comparison wrong.
            if seconds > DOUBTFUL_SECONDS and all(_is_quadratic(found.pattern, method, hostile) for _ in range(3)):
                return f"{method}: {hostile}"
    return None


def _is_quadratic(pattern: re.Pattern[Any], method: str, hostile: Hostile) -> bool:
    """Measured three times, since a pause of the machine can make any one measurement long."""
    short, long = (
        min(_seconds(pattern, method, hostile.of(size)) for _ in range(times))
        for size, times in ((SHORT, 9), (LONG, 3))
    )
    return long > FACTOR_MAX * short


def _seconds(pattern: re.Pattern[Any], method: str, text: str) -> float:
    """The processor's time of this thread: a machine that is busy otherwise changes little."""
    subject: Any = text if isinstance(pattern.pattern, str) else text.encode("utf-8", "replace")
    call = getattr(pattern, method)
    arguments = (b"" if isinstance(subject, bytes) else "", subject) if method in {"sub", "subn"} else (subject,)
    started = thread_time()
    result = call(*arguments)
    if method == "finditer":
        deque(result, maxlen=0)
    return thread_time() - started
