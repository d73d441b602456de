"""When a failed job is tried again: pure arithmetic; chance and time are parameters."""

from dataclasses import dataclass

# A provider's Retry-After counts for a day at most.
RETRY_AFTER_SECONDS_MAX = 86_400.0
_DOUBLINGS_MAX = 32


@dataclass(frozen=True)
class RetryPolicy:
    """Waits that double with each attempt, up to a limit, with jitter so that jobs don't return all at once."""

    base_seconds: float
    max_seconds: float
    jitter: float = 0.25

    def delay_seconds(self, attempts: int, chance: float, retry_after_seconds: float | None = None) -> float:
        """How long to wait after a failure, with so many attempts counted before it.

        `chance` is from 0 to 1. Jitter only ever adds: a provider that asked for 30 s gets them.
        """
        asked = min(max(retry_after_seconds or 0.0, 0.0), RETRY_AFTER_SECONDS_MAX)
        return max(self._backoff_seconds(attempts), asked) * (1 + self.jitter * chance)

    def _backoff_seconds(self, attempts: int) -> float:
        return min(self.max_seconds, self.base_seconds * 2.0 ** min(attempts, _DOUBLINGS_MAX))
