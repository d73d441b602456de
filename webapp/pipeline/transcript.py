"""A transcript in the forms in which it is read: Markdown with times, subtitles, plain text."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from webapp.providers.speech_ports import Segment, Transcript

PARAGRAPH_CHARACTERS = 500
PAUSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Cues:
    """The position of each segment in the Markdown, and its times."""

    starts: tuple[int, ...] = ()
    segments: tuple[Segment, ...] = ()

    def span(self, start: int, end: int) -> tuple[float | None, float | None]:
        """From when to when a piece of the text was said."""
        if not self.starts:
            return None, None
        first = max(0, bisect_right(self.starts, start) - 1)
        last = max(first, bisect_left(self.starts, end) - 1)
        said = self.segments[first : last + 1]
        return said[0].start, max(segment.end for segment in said)


NO_CUES = Cues()


@dataclass(frozen=True, slots=True)
class Written:
    """A transcript as Markdown."""

    markdown: str
    cues: Cues


def write(transcript: Transcript) -> Written:
    """Write paragraphs: a new one for each speaker, after a pause, or where one grows long."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for paragraph in paragraphs(transcript.segments):
        opening = "\n\n" if parts else ""
        if paragraph[0].speaker:
            opening += f"**{paragraph[0].speaker}:** "
        for place, segment in enumerate(paragraph):
            before = " " if place else opening
            parts += [before, segment.text]
            starts.append(length + len(before))
            length += len(before) + len(segment.text)
    ordered = tuple(segment for paragraph in paragraphs(transcript.segments) for segment in paragraph)
    return Written("".join(parts), Cues(tuple(starts), ordered))


def paragraphs(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Segments that are read together."""
    current: list[Segment] = []
    for segment in segments:
        if current and _is_new(current, segment):
            yield current
            current = []
        current.append(segment)
    if current:
        yield current


def as_vtt(transcript: Transcript) -> str:
    """WebVTT subtitles."""
    cues = (
        f"{number}\n{_moment(each.start, '.')} --> {_moment(_end(each), '.')}\n{_voice(each)}{_escaped(each.text)}\n"
        for number, each in enumerate(transcript.segments, start=1)
    )
    return "WEBVTT\n\n" + "\n".join(cues)


def as_srt(transcript: Transcript) -> str:
    """SubRip subtitles."""
    cues = (
        f"{number}\n{_moment(each.start, ',')} --> {_moment(_end(each), ',')}\n{_named(each)}\n"
        for number, each in enumerate(transcript.segments, start=1)
    )
    return "\n".join(cues)


def as_text(transcript: Transcript) -> str:
    """Plain text: a paragraph each, with its time and its speaker."""
    return "\n\n".join(_plain(paragraph) for paragraph in paragraphs(transcript.segments)) + "\n"


def clock_time(seconds: float) -> str:
    """A moment as players show it: 1:02 or 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _is_new(paragraph: Sequence[Segment], segment: Segment) -> bool:
    last = paragraph[-1]
    if segment.speaker != last.speaker or segment.start - last.end > PAUSE_SECONDS:
        return True
    return sum(len(each.text) for each in paragraph) > PARAGRAPH_CHARACTERS


def _plain(paragraph: Sequence[Segment]) -> str:
    speaker = f" {paragraph[0].speaker}:" if paragraph[0].speaker else ""
    return f"[{clock_time(paragraph[0].start)}]{speaker} " + " ".join(segment.text for segment in paragraph)


def _moment(seconds: float, mark: str) -> str:
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest:02}{mark}{thousandths:03}"


def _end(segment: Segment) -> float:
    # Players don't show a subtitle without a length.
    return max(segment.end, segment.start + 0.1)


def _voice(segment: Segment) -> str:
    return f"<v {_escaped(segment.speaker)}>" if segment.speaker else ""


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _named(segment: Segment) -> str:
    text = segment.text.replace("-->", "\u2192")
    return f"{segment.speaker}: {text}" if segment.speaker else text
