"""What the two ways to run do differently, in one object."""

from dataclasses import dataclass

from webapp.config import Settings


@dataclass(frozen=True)
class ExecutionPolicy:
    """Numbers of attempts, time limits, and what a start and a drain do."""

    step_attempts: int
    """Tries of a step inside one attempt."""
    job_attempts: int
    """Attempts of a job. New jobs get this number from the web process, so both must agree."""
    run_timeout_seconds: float
    """A run's time limit, counted from RUN_STARTED."""
    recording_timeout_seconds: float
    """The time limit of a recording's run."""
    poll_attempts: int
    """Attempts of a job that only polls a service."""
    ends_orphans_at_start: bool
    """Whether a start ends all RUNNING runs: right only where no other process runs jobs."""
    drains_whole_jobs: bool
    """Whether a drain waits for jobs, not only for steps: where the next start would end them as failed."""

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
