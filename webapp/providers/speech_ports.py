"""What the product expects of sound, speech and the understanding of it: Protocols and plain data.

As in `ports`: each Protocol has one conformance suite, and failures are those of
`webapp.provider_errors`. Times are seconds from the beginning of the recording.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Protocol

from msgspec import Meta

from webapp.typed_json import TypedJson

Seconds = Annotated[float, Meta(ge=0, lt=1e7)]


@dataclass(frozen=True, slots=True)
class Sound(TypedJson):
    """What is known of a recording's sound.

    `levels` holds a byte for each fifth of a second and channel, one channel after the other:
    its loudness in decibels above -96 dBFS. `channels` is 2 only where each carries a speaker.
    """

    duration_seconds: Seconds
    channels: Literal[1, 2]
    levels: bytes
    title: str | None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.levels) % self.channels:
            raise ValueError("each channel has as many levels")

    def channel_levels(self, channel: int) -> bytes:
        """The loudness of one channel."""
        count = len(self.levels) // self.channels
        return self.levels[channel * count : (channel + 1) * count]

    def loudest_levels(self) -> bytes:
        """The loudness of the channel that is louder at each moment."""
        if self.channels == 1:
            return self.levels
        return bytes(map(max, self.channel_levels(0), self.channel_levels(1)))


UNKNOWN_LANGUAGE = "und"
"""Somebody speaks, and the recogniser understands too little of it to write it down."""


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
    """A piece of a recording; `channel` where one of its channels is meant, None for all.

    `language` is the one that a person chose for the recording, a code of two letters.
    """

    start: float
    end: float
    channel: int | None = None
    is_whole: bool = False
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """Something that was said: mostly a sentence."""

    start: Seconds
    end: Seconds
    text: str
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Transcript(TypedJson):
    """What was said in a clip; nothing at all is an answer too. `language` is a two-letter code or UNKNOWN_LANGUAGE."""

    segments: tuple[Segment, ...]
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """Work that goes on elsewhere under this id."""

    id: str


class Recogniser(Protocol):
    """Turns speech into text.

    A recogniser either answers `start` with the transcript, or with an operation whose result is
    asked for by `fetch` until it is there.
    """

    name: str
    version: str
    clip_seconds_max: float
    """The longest piece that is handed over at once."""
    tells_channels: bool
    """Whether it tells the channels of a recording apart by itself; else it is given one at a time."""
    result_wait_seconds: float
    """How long to wait between two questions for a result."""

    def options_key(self) -> str:
        """Give a stable text of the options that change the result: part of the cache's key."""

    def start(
        self, audio: Path, clip: Clip, *, timeout_seconds: float, progress: Callable[[float], None]
    ) -> Transcript | Operation:
        """Transcribe a clip of an Ogg Opus file. Its times are those of the whole recording."""

    def fetch(self, operation: Operation, clip: Clip) -> Transcript | None:
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
class Analysis(TypedJson):
    """What a conversation was about."""

    analyst: str
    version: str
    summary: str
    topics: tuple[str, ...] = ()
    action_items: tuple[Point, ...] = ()
    questions: tuple[Point, ...] = ()
    promises: tuple[Point, ...] = ()


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
