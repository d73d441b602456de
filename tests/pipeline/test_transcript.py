"""A transcript in the forms in which it is read."""

import re
from itertools import pairwise
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.pipeline.chunk import make_chunks
from webapp.pipeline.transcript import NO_CUES, as_srt, as_text, as_vtt, clock_time, paragraphs, write
from webapp.providers.speech_ports import Segment, Transcript
from webapp.readers.extraction import Extraction

TALK = Transcript(
    (
        Segment(0.0, 1.5, "Good morning.", "Speaker 1"),
        Segment(1.6, 3.0, "Hello <b>you</b> & all --> there.", "Speaker 2"),
        Segment(3661.25, 3663.0, "It is late.", "Speaker 2"),
    ),
    "en",
)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=30)
SEGMENTS = st.lists(st.tuples(st.floats(0, 50), WORDS, st.sampled_from([None, "A", "B"])), max_size=20)


def test_vtt() -> None:
    assert as_vtt(TALK) == (
        "WEBVTT\n\n"
        "1\n00:00:00.000 --> 00:00:01.500\n<v Speaker 1>Good morning.\n\n"
        "2\n00:00:01.600 --> 00:00:03.000\n<v Speaker 2>Hello &lt;b&gt;you&lt;/b&gt; &amp; all --&gt; there.\n\n"
        "3\n01:01:01.250 --> 01:01:03.000\n<v Speaker 2>It is late.\n"
    )


def test_srt() -> None:
    assert as_srt(TALK) == (
        "1\n00:00:00,000 --> 00:00:01,500\nSpeaker 1: Good morning.\n\n"
        "2\n00:00:01,600 --> 00:00:03,000\nSpeaker 2: Hello <b>you</b> & all \u2192 there.\n\n"
        "3\n01:01:01,250 --> 01:01:03,000\nSpeaker 2: It is late.\n"
    )


def test_text() -> None:
    assert as_text(TALK).startswith("[0:00] Speaker 1: Good morning.\n\n[0:01] Speaker 2: Hello")
    assert "[1:01:01] Speaker 2: It is late.\n" in as_text(TALK)


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (61.9, "1:01"), (3600, "1:00:00"), (86_399, "23:59:59")])
def test_moments(seconds: float, shown: str) -> None:
    assert clock_time(seconds) == shown


def test_a_speaker_a_pause_and_length_begin_paragraphs() -> None:
    long = [Segment(place, place + 1.0, "word " * 30) for place in range(12)]
    assert [len(each) for each in paragraphs(long)] == [4, 4, 4]
    assert [len(each) for each in paragraphs(TALK.segments)] == [1, 1, 1]


@pytest.mark.slow
@given(SEGMENTS)
def test_each_segment_is_found_where_its_cue_says(rows: list[tuple[float, str, str | None]]) -> None:
    transcript = Transcript(
        tuple(Segment(start, start + 1, text, speaker) for start, text, speaker in sorted(rows, key=lambda r: r[0]))
    )
    written = write(transcript)
    for start, segment in zip(written.cues.starts, written.cues.segments, strict=True):
        assert written.markdown[start : start + len(segment.text)] == segment.text
        assert written.cues.span(start, start + len(segment.text))[0] == segment.start
    assert len(re.findall(" --> ", as_vtt(transcript))) == len(rows)


def test_passages_of_a_document_without_sound_have_no_times() -> None:
    assert NO_CUES.span(0, 10) == (None, None)
    (chunk,) = make_chunks(uuid4(), Extraction("local", "1", "Some words."))
    assert (chunk.time_from, chunk.time_to) == (None, None)


def test_passages_cover_the_whole_time() -> None:
    transcript = Transcript(
        tuple(
            Segment(place * 5.0, place * 5 + 4.5, f"Sentence {place} tells of lamps and harbours.")
            for place in range(200)
        )
    )
    written = write(transcript)
    chunks = make_chunks(uuid4(), Extraction("local", "1", written.markdown), written.cues)
    assert len(chunks) > 5
    assert (chunks[0].time_from, chunks[-1].time_to) == (0, 999.5)
    for one, other in pairwise(chunks):
        assert (one.time_from or 0) < (one.time_to or 0) <= (other.time_to or 0)
        assert one.time_from != other.time_from
