"""How jobs are worked on: how many at once, how often, for how long, and what is remembered of them."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader, SettingsError

STAGE_LIMIT_MAX = 10_000
# Settings are read before anything else is, so the names are repeated here; a guard compares them with the pipeline's.
STAGE_NAMES = (
    "process_document",
    "unpack",
    "extract_audio",
    "transcribe_start",
    "transcribe_poll",
    "analyze",
    "index",
    "detect_connections",
    "embed_anew",
    "read_anew",
    "bulk",
    "export",
    "deliver",
)
# A receiver that does not answer costs no more seats than these, whoever waits for documents.
_DELIVERIES_AT_ONCE = ("deliver", 2)


@dataclass(frozen=True)
class QueueSettings(Group):
    """How jobs are worked on: how many at once, how often, for how long, and what is remembered of them."""

    # How much is done at once, and what goes first.
    worker_threads: int
    worker_stages: tuple[str, ...]
    stage_limits: tuple[tuple[str, int], ...]
    bulk_upload_files: int
    reembed: str
    reread: str
    # Tries, and how long each may take.
    run_timeout_seconds: float
    audio_run_timeout_seconds: float
    continue_max: int
    job_max_attempts: int
    step_attempts: int
    transcribe_poll_max_attempts: int
    backoff_base_seconds: float
    backoff_max_seconds: float
    # The rhythm of a worker process.
    heartbeat_seconds: float
    zombie_after_seconds: float
    http_worker_silent_seconds: float
    poll_seconds: float
    drain_seconds: float
    watchdog_seconds: float
    # How long is remembered what was done.
    job_retention_days: float
    event_retention_days: float
    call_retention_days: float

    @property
    def worker_silent_seconds(self) -> float:
        """After so long without a heartbeat a worker is no longer counted as running."""
        return 4 * self.heartbeat_seconds


def read(env: Reader, *, embedded: bool) -> QueueSettings:
    """Read and check this group."""
    run_timeout_seconds = env.seconds("RUN_TIMEOUT_SECONDS", 120 if embedded else 7200)
    return QueueSettings(
        worker_threads=env.whole("WORKER_THREADS", 4),
        worker_stages=_worker_stages(env),
        stage_limits=_stage_limits(env),
        bulk_upload_files=env.whole("BULK_UPLOAD_FILES", 20),
        reembed=env.choice("REEMBED", "auto", ("auto", "ask")),
        reread=env.choice("REREAD", "auto", ("auto", "ask")),
        run_timeout_seconds=run_timeout_seconds,
        audio_run_timeout_seconds=env.seconds("AUDIO_RUN_TIMEOUT_SECONDS", max(7200.0, run_timeout_seconds)),
        continue_max=env.whole("CONTINUE_MAX", 100, least=0),
        job_max_attempts=env.whole("JOB_MAX_ATTEMPTS", 1 if embedded else 5),
        step_attempts=env.whole("STEP_ATTEMPTS", 2),
        transcribe_poll_max_attempts=env.whole("TRANSCRIBE_POLL_MAX_ATTEMPTS", 20),
        backoff_base_seconds=env.seconds("BACKOFF_BASE_SECONDS", 30),
        backoff_max_seconds=env.seconds("BACKOFF_MAX_SECONDS", 600),
        heartbeat_seconds=env.seconds("HEARTBEAT_SECONDS", 30),
        zombie_after_seconds=env.seconds("ZOMBIE_AFTER_SECONDS", 7200),
        http_worker_silent_seconds=env.seconds("HTTP_WORKER_SILENT_SECONDS", 60),
        poll_seconds=env.seconds("POLL_SECONDS", 1),
        drain_seconds=env.seconds("DRAIN_SECONDS", 25, least=0),
        watchdog_seconds=env.seconds("WATCHDOG_SECONDS", 60),
        job_retention_days=env.days("JOB_RETENTION_DAYS", 30),
        event_retention_days=env.days("EVENT_RETENTION_DAYS", 0),
        call_retention_days=env.days("CALL_RETENTION_DAYS", 0),
    )


def _stage_limits(env: Reader) -> tuple[tuple[str, int], ...]:
    """`process_document=4,analyze=2`: so many jobs of a stage at once, in the whole installation."""
    found = env.pairs("STAGE_LIMITS", example="process_document=4")
    for stage, number in found:
        if stage not in STAGE_NAMES:
            raise SettingsError(f"STAGE_LIMITS: there is no stage {stage!r}. Stages: {', '.join(STAGE_NAMES)}.")
        if not (number.isascii() and number.isdigit() and len(number) < 10 and 1 <= int(number) <= STAGE_LIMIT_MAX):
            example = "Example: STAGE_LIMITS=process_document=4."
            raise SettingsError(f"STAGE_LIMITS: {stage}={number} is no limit from 1 to {STAGE_LIMIT_MAX}. {example}")
    given = tuple((stage, int(number)) for stage, number in found)
    return given if any(stage == _DELIVERIES_AT_ONCE[0] for stage, _ in given) else (*given, _DELIVERIES_AT_ONCE)


def _worker_stages(env: Reader) -> tuple[str, ...]:
    """`process_document,embed_anew`: the stages whose jobs workers take. Empty: all."""
    stages = env.names("WORKER_STAGES")
    if unknown := [stage for stage in stages if stage not in STAGE_NAMES]:
        raise SettingsError(f"WORKER_STAGES: there is no stage {unknown[0]!r}. Stages: {', '.join(STAGE_NAMES)}.")
    return stages
