"""What differs between the two ways to run, in one object; everything else is the same code."""

from dataclasses import dataclass

from webapp.config import Settings


@dataclass(frozen=True)
class ExecutionPolicy:
    """How attempts are counted, how long a run may take, and what a start and an end mean."""

    step_attempts: int
    """Tries of a step inside one attempt."""
    job_attempts: int
    """Attempts of a job; the web process gives them to new jobs, so both sides agree."""
    run_timeout_seconds: float
    """From RUN_STARTED; after that the run is TIMED_OUT."""
    recording_timeout_seconds: float
    """The same for recordings, which take longer."""
    poll_attempts: int
    """Attempts of a job that only looks whether somebody else is done."""
    ends_orphans_at_start: bool
    """Whether a run found RUNNING at start has lost its process: only where nobody else works."""
    drains_whole_jobs: bool
    """Whether a drain lets jobs end, not only steps: where the next start goes on with none."""

    @classmethod
    def of(cls, settings: Settings) -> "ExecutionPolicy":
        """The policy of these settings."""
        queue = settings.queue
        return cls(
            step_attempts=queue.step_attempts,
            job_attempts=queue.job_max_attempts,
            run_timeout_seconds=queue.run_timeout_seconds,
            recording_timeout_seconds=queue.audio_run_timeout_seconds,
            poll_attempts=queue.transcribe_poll_max_attempts,
            ends_orphans_at_start=settings.is_embedded,
            drains_whole_jobs=settings.is_embedded,
        )
