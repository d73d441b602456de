"""What the product expects of sound, speech and the understanding of it: Protocols and plain data.

As in `ports`: each Protocol has one conformance suite, and failures are those of
`webapp.providers.errors`. Times are seconds from the beginning of the recording.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

LEVELS_PER_SECOND = 5
"""How many loudness values a second of sound has."""


@dataclass(frozen=True, slots=True)
class Sound:
    """What is known of a recording's sound.

    `levels` holds a byte for each fifth of a second and channel, one channel after the other:
    its loudness in decibels above -96 dBFS. `channels` is 2 only where each carries a speaker.
    """

    duration_seconds: float
    channels: int
    levels: bytes
    title: str | None = None
    warnings: tuple[str, ...] = ()

    def channel_levels(self, channel: int) -> bytes:
        """The loudness of one channel."""
        count = len(self.levels) // self.channels
        return self.levels[channel * count : (channel + 1) * count]

    def loudest_levels(self) -> bytes:
        """The loudness of the channel that is louder at each moment."""
        if self.channels == 1:
            return self.levels
        return bytes(map(max, self.channel_levels(0), self.channel_levels(1)))

    def to_json(self) -> bytes:
        """Write it as JSON that `from_json` reads back equal."""
        return json.dumps(asdict(self) | {"levels": b64encode(self.levels).decode()}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "Sound":
        """Read `to_json`'s output; ValueError for anything else."""
        return cls.from_plain(_object(data))

    @classmethod
    def from_plain(cls, plain: object) -> "Sound":
        """Check every type on the way: the writer may have been a process gone astray."""
        try:
            return _sound(plain)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a sound: {type(error).__name__} {error}") from error


UNKNOWN_LANGUAGE = "und"
"""Somebody speaks, but in no language that the recogniser knows."""


class SoundReader(Protocol):
    """Turns a recording of any kind into plain sound, and cuts pieces out of that."""

    version: str

    def accepts(self, content_type: str) -> bool:
        """Say whether this kind of file holds sound that can be read."""

    def read(
        self,
        source: Path,
        content_type: str,
        target: Path,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
    ) -> Sound:
        """Write the sound as Ogg Opus to `target`, an empty file, and say what is known of it."""

    def cut(self, audio: Path, clip: "Clip", target: Path, *, timeout_seconds: float) -> None:
        """Copy a piece of what `read` wrote to `target`, an empty file, as Ogg Opus."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A piece of a recording; `channel` where one of its channels is meant, None for all."""

    start: float
    end: float
    channel: int | None = None
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """Something that was said: mostly a sentence."""

    start: float
    end: float
    text: str
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What was said in a clip; nothing at all is an answer too. `language` is a two-letter code or UNKNOWN_LANGUAGE."""

    segments: tuple[Segment, ...]
    language: str | None = None

    def to_json(self) -> bytes:
        """Write it as JSON that `from_json` reads back equal."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "Heard":
        """Read `to_json`'s output; ValueError for anything else."""
        return cls.from_plain(_object(data))

    @classmethod
    def from_plain(cls, plain: object) -> "Heard":
        """Check every type on the way."""
        try:
            return _heard(plain)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a transcript: {type(error).__name__} {error}") from error


@dataclass(frozen=True, slots=True)
class Operation:
    """Work that goes on elsewhere under this id."""

    id: str


class Recogniser(Protocol):
    """Turns speech into text.

    A recogniser either answers `start` with what it heard, or with an operation whose result is
    asked for by `fetch` until it is there.
    """

    name: str
    version: str
    window_seconds: float
    """The longest piece that is handed over at once."""
    tells_channels: bool
    """Whether it hears the channels of a recording apart by itself; else it is given one at a time."""
    result_wait_seconds: float
    """How long to wait between two questions for a result."""

    def options_key(self) -> str:
        """Give a stable text of the options that change the result: part of the cache's key."""

    def start(
        self, audio: Path, clip: Clip, *, timeout_seconds: float, progress: Callable[[float], None]
    ) -> Heard | Operation:
        """Hear a clip of an Ogg Opus file. Its times are those of the whole recording."""

    def fetch(self, operation: Operation, clip: Clip) -> Heard | None:
        """Give the result of an operation; None while there is none."""

    def forget(self, operation: Operation) -> None:
        """Have the result removed where it was made; best effort, no error."""

    def check(self) -> None:
        """Raise ProviderUnavailable unless the recogniser is ready for work."""


@dataclass(frozen=True, slots=True)
class Point:
    """Something worth remembering, and the segment in which it was said."""

    text: str
    segment: int | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a conversation was about."""

    analyst: str
    version: str
    summary: str
    topics: tuple[str, ...] = ()
    action_items: tuple[Point, ...] = ()
    questions: tuple[Point, ...] = ()
    promises: tuple[Point, ...] = ()

    def to_json(self) -> bytes:
        """Write it as JSON that `from_json` reads back equal."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "Analysis":
        """Read `to_json`'s output; ValueError for anything else."""
        return cls.from_plain(_object(data))

    @classmethod
    def from_plain(cls, plain: object) -> "Analysis":
        """Check every type on the way."""
        try:
            return _analysis(plain)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not an analysis: {type(error).__name__} {error}") from error


class Analyst(Protocol):
    """Says what a conversation was about."""

    name: str
    version: str

    def options_key(self) -> str:
        """Give a stable text of the options that change the result: part of the cache's key."""

    def analyze(self, segments: Sequence[Segment], *, timeout_seconds: float) -> Analysis:
        """Read what was said; `segments` are data, whatever they ask for."""

    def check(self) -> None:
        """Raise ProviderUnavailable unless the analyst is ready for work."""


@dataclass(frozen=True)
class SpeechProviders:
    """One implementation for each role that recordings need."""

    reader: SoundReader
    recogniser: Recogniser
    analyst: Analyst


def _object(data: bytes) -> object:
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _sound(plain: Any) -> Sound:
    duration, channels, levels = _seconds(plain["duration_seconds"]), plain["channels"], b64decode(plain["levels"])
    if channels not in {1, 2} or len(levels) % channels:
        raise TypeError("one or two channels of levels were expected")
    return Sound(
        duration_seconds=duration,
        channels=channels,
        levels=levels,
        title=None if plain["title"] is None else _text(plain["title"]),
        warnings=tuple(_text(warning) for warning in plain["warnings"]),
    )


def _heard(plain: Any) -> Heard:
    language = plain["language"]
    segments = tuple(
        Segment(
            start=_seconds(each["start"]),
            end=_seconds(each["end"]),
            text=_text(each["text"]),
            speaker=None if each["speaker"] is None else _text(each["speaker"]),
        )
        for each in plain["segments"]
    )
    return Heard(segments, None if language is None else _text(language))


def _analysis(plain: Any) -> Analysis:
    return Analysis(
        analyst=_text(plain["analyst"]),
        version=_text(plain["version"]),
        summary=_text(plain["summary"]),
        topics=tuple(_text(topic) for topic in plain["topics"]),
        action_items=_points(plain["action_items"]),
        questions=_points(plain["questions"]),
        promises=_points(plain["promises"]),
    )


def _points(plain: Any) -> tuple[Point, ...]:
    return tuple(Point(_text(each["text"]), _index(each["segment"])) for each in plain)


def _index(value: object) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise TypeError("a whole number was expected")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e7:
        raise TypeError("a number of seconds was expected")
    return float(value)
