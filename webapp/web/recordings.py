"""A recording as its page shows it: the player, what was said in it, and the notes."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from webapp.db import reading
from webapp.documents import library
from webapp.documents.kinds import is_recording
from webapp.documents.model import Document
from webapp.pipeline.services import Services
from webapp.pipeline.transcript import paragraphs
from webapp.providers.audio_levels import waveform
from webapp.providers.errors import BlobMissing
from webapp.providers.speech_ports import Analysis, Heard, Point, Segment, Sound

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
    heard: Heard
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
        return [Turn(each[0].speaker, each[0].start, each) for each in paragraphs(self.heard.segments)]

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
        known = point.segment is not None and point.segment < len(self.heard.segments)
        return Note(point.text, self.heard.segments[point.segment or 0].start if known else None)


def find(services: Services, document: Document) -> Recording | None:
    """The published recording of a document; None where it is none, or has no result yet."""
    if not is_recording(document.content_type):
        return None
    sound, heard, analysis = (_read(services, document, kind) for kind in ("sound", "transcript", "analysis"))
    if sound is None or heard is None or analysis is None:
        return None
    return Recording(Sound.from_json(sound), Heard.from_json(heard), Analysis.from_json(analysis))


def transcript(services: Services, document: Document) -> Heard | None:
    """What was said, alone."""
    data = _read(services, document, "transcript")
    return None if data is None else Heard.from_json(data)


def path_of(org_id: UUID, document_id: UUID, kind: str) -> str | None:
    """Where a published artifact lies."""
    with reading(org_id):
        found = library.artifact(org_id, document_id, kind)
    return found.path if found else None


def _read(services: Services, document: Document, kind: str) -> bytes | None:
    path = path_of(document.org_id, document.id, kind)
    if path is None:
        return None
    try:
        return services.providers.blobs.read_bytes(path)
    except BlobMissing:
        # Deleted between the two looks.
        return None
