"""The one place where what a recogniser or an analyst wrote is made fit to be stored."""

import re
from dataclasses import replace

from webapp.providers.speech_ports import Analysis, Point, Segment, Transcript
from webapp.readers.cleaning import clean_line

# Behind a full stop and the like, where white space follows.
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026])\s+")

SEGMENT_CHARACTERS_MAX = 5_000
SEGMENTS_MAX = 50_000
SPEAKER_CHARACTERS_MAX = 60
SUMMARY_CHARACTERS_MAX = 5_000
TOPIC_CHARACTERS_MAX = 120
POINT_CHARACTERS_MAX = 600
POINTS_MAX = 100


def speaker_name(number: int) -> str:
    """What somebody is called whose name nobody knows; numbers begin at 0."""
    return f"Speaker {number + 1}"


def spread(text: str, start: float, end: float) -> list[Segment]:
    """Sentences of a text without times, each with its share of the time."""
    sentences = [part for part in _SENTENCE_END.split(text.strip()) if part]
    total, at, segments = sum(map(len, sentences)), start, []
    for sentence in sentences:
        until = at + (end - start) * len(sentence) / total
        segments.append(Segment(round(at, 2), round(until, 2), sentence))
        at = until
    return segments


def cleaned(transcript: Transcript) -> Transcript:
    """Clean every text, drop what is empty, and put the rest in the order of time."""
    kept = []
    for segment in transcript.segments[:SEGMENTS_MAX]:
        if text := clean_line(segment.text, SEGMENT_CHARACTERS_MAX):
            end = max(segment.start, segment.end)
            kept.append(Segment(segment.start, end, text, clean_line(segment.speaker, SPEAKER_CHARACTERS_MAX)))
    kept.sort(key=lambda segment: (segment.start, segment.end))
    return replace(transcript, segments=tuple(kept), language=clean_line(transcript.language, 16))


def cleaned_analysis(analysis: Analysis, segments: int) -> Analysis:
    """Clean every text, and forget segments that are not there."""
    topics = (clean_line(topic, TOPIC_CHARACTERS_MAX) for topic in analysis.topics[:POINTS_MAX])
    return replace(
        analysis,
        summary=clean_line(analysis.summary, SUMMARY_CHARACTERS_MAX) or "",
        topics=tuple(dict.fromkeys(topic for topic in topics if topic)),
        action_items=_points(analysis.action_items, segments),
        questions=_points(analysis.questions, segments),
        promises=_points(analysis.promises, segments),
    )


def _points(points: tuple[Point, ...], segments: int) -> tuple[Point, ...]:
    kept = []
    for point in points[:POINTS_MAX]:
        if text := clean_line(point.text, POINT_CHARACTERS_MAX):
            known = point.segment is not None and 0 <= point.segment < segments
            kept.append(Point(text, point.segment if known else None))
    return tuple(kept)
