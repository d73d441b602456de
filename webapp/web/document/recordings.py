"""A recording as its page shows it: the player, what was said in it, and the notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webapp.documents.kinds import is_recording
from webapp.documents.model import Document
from webapp.pipeline.transcript import paragraphs
from webapp.provider_errors import BlobMissing
from webapp.providers.speech_ports import Analysis, Point, Segment, Sound, Transcript
from webapp.readers.sound.levels import waveform
from webapp.services import Services

BARS = 240


@dataclass(frozen=True)
class Note:
    """Something worth remembering, and the moment at which it was said."""

    text: str
    start: float | None


@dataclass(frozen=True)
class Turn:
    """A paragraph: what somebody said without a pause."""

    speaker: str | None
    start: float
    segments: Sequence[Segment]


@dataclass(frozen=True)
class Recording:
    """All that the player and the transcript need."""

    sound: Sound
    transcript: Transcript
    analysis: Analysis

    @property
    def duration(self) -> float:
        return self.sound.duration_seconds

    @property
    def bars(self) -> list[int]:
        """Heights of the picture of the sound, from 0 to 100."""
        return waveform(self.sound.levels, self.sound.channels, BARS)

    @property
    def turns(self) -> list[Turn]:
        """The transcript in paragraphs."""
        return [Turn(each[0].speaker, each[0].start, each) for each in paragraphs(self.transcript.segments)]

    @property
    def notes(self) -> dict[str, list[Note]]:
        """The notes by what they are; kinds of which there are none are left out."""
        kinds = {
            "action_items": self.analysis.action_items,
            "promises": self.analysis.promises,
            "questions": self.analysis.questions,
        }
        return {kind: [self._note(point) for point in points] for kind, points in kinds.items() if points}

    @property
    def is_by_rules(self) -> bool:
        """Whether nobody wrote the notes: sentences were picked out."""
        return self.analysis.analyst == "local"

    def _note(self, point: Point) -> Note:
        known = point.segment is not None and point.segment < len(self.transcript.segments)
        return Note(point.text, self.transcript.segments[point.segment or 0].start if known else None)


def find(services: Services, document: Document, paths: Mapping[str, str]) -> Recording | None:
    """The published recording of a document; None where it is none, or has no result yet.

    `paths` are those of its artifacts, all read at once, so that they are of one result.
    """
    if not is_recording(document.content_type):
        return None
    sound, transcript, analysis = (_read(services, paths.get(kind)) for kind in ("sound", "transcript", "analysis"))
    if sound is None or transcript is None or analysis is None:
        return None
    return Recording(Sound.from_json(sound), Transcript.from_json(transcript), Analysis.from_json(analysis))


def transcript(services: Services, paths: Mapping[str, str]) -> Transcript | None:
    """What was said, alone."""
    data = _read(services, paths.get("transcript"))
    return None if data is None else Transcript.from_json(data)


def _read(services: Services, path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        return services.providers.blobs.read_bytes(path)
    except BlobMissing:
        # The document was deleted after its rows were read. A result that was replaced stays readable.
        return None
