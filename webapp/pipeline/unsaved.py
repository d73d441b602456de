"""Work of an attempt that is not committed yet."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from webapp.clock import monotonic, utc_now
from webapp.documents.states import EventKind
from webapp.runs.checkpoint import count_piece
from webapp.runs.stages import Step, progress_at


@dataclass(frozen=True)
class Stored:
    """The result of a step's store, for the checkpoint and the timeline."""

    artifacts: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    reused: bool = False


@dataclass(frozen=True)
class UnsavedBlob:
    """An artifact's content, which is stored before a row names its path."""

    data: bytes
    is_published: bool
    """Whether readers are served it; the others are not needed once the result is published."""


@dataclass(frozen=True)
class Unsaved:
    """A timeline event of a step, if there is one, and what is stored with it."""

    step: Step
    kind: EventKind | None
    details: Mapping[str, Any] = field(default_factory=dict)
    store: Callable[[], Stored | None] = lambda: None
    at: float = field(default_factory=monotonic)

    def kind_of_line(self, stored: Stored | None) -> EventKind | None:
        """The kind of its timeline event; None for no event."""
        return EventKind.STEP_REUSED if stored and stored.reused else self.kind

    def seconds_before(self, moment: float) -> float:
        """How long ago it happened, in whole milliseconds like SQLite's clock, so that events keep their order."""
        return math.floor((moment - self.at) * 1000) / 1000

    def enter(self, checkpoint: dict[str, Any], stage: str, stored: Stored | None, made: Mapping[str, str]) -> None:
        """Note in the checkpoint that the step has begun, or that it is done."""
        name = self.step.artifact
        if self.kind is EventKind.STEP_STARTED:
            self._stamp(checkpoint, self.step.doing)
            raise_progress(checkpoint, progress_at(stage, self.step, 0.0))
        elif stored is not None:
            own = {name: made[name]} if name and name in made else {}
            checkpoint["artifacts"] = {**checkpoint["artifacts"], **own, **stored.artifacts}
            done = [each for each in checkpoint["completed_stages"] if each != self.step.done]
            checkpoint["completed_stages"] = [*done, self.step.done]
            self._stamp(checkpoint, self.step.done)
            raise_progress(checkpoint, progress_at(stage, self.step, 1.0))
            count_piece(checkpoint)

    def _stamp(self, checkpoint: dict[str, Any], name: str) -> None:
        at = utc_now() - timedelta(seconds=monotonic() - self.at)
        checkpoint["processing_stage"] = name
        checkpoint["stage_timestamps"] = {**checkpoint["stage_timestamps"], name: at.isoformat()}


def raise_progress(checkpoint: dict[str, Any], progress: float) -> None:
    """Note the progress, which never falls: a run that goes on where another ended begins with that one's."""
    checkpoint["progress"] = max(float(checkpoint.get("progress", 0.0)), progress)
