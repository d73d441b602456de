"""The time limits of paid calls, of their reservations, and of storing their answers."""

from dataclasses import dataclass

from webapp.config import Settings

# How long after its provider's time limit a call's reservation ends.
MARGIN_SECONDS = 30.0
_BEATS_MISSED = 2


@dataclass(frozen=True)
class CallTimes:
    """Time limits, made from the settings."""

    call_seconds: float = 60.0
    """The longest that one call takes."""
    silent_seconds: float = 60.0
    """After so long without a heartbeat a worker counts as frozen."""
    keep_seconds: float = 7200.0
    """How long storing an answer is retried: as long as its job's lease may last."""
    drain_seconds: float = 25.0
    """How long storing is retried in a process that was asked to end."""

    @classmethod
    def of(cls, settings: Settings) -> "CallTimes":
        """As the settings say."""
        queue = settings.queue
        return cls(
            call_seconds=settings.provider_timeout_seconds,
            silent_seconds=_BEATS_MISSED * queue.heartbeat_seconds,
            keep_seconds=queue.zombie_after_seconds,
            drain_seconds=queue.drain_seconds,
        )
