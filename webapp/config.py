"""Every setting, read once from the environment into one frozen object.

This is the only module that reads the environment. A bad value is refused at start with a
sentence that names the variable and says what would be right.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from webapp.settings_reader import Reader, SettingsError, kept_secret

__all__ = ["Execution", "Settings", "SettingsError"]


class Execution(StrEnum):
    """Who does the work: a pool inside the web process, or worker processes of their own."""

    EMBEDDED = "embedded"
    WORKERS = "workers"


@dataclass(frozen=True)
class Settings:
    """What Docmill runs with. Each field's variable is its name in capitals."""

    database_url: str = field(repr=False)
    database_owner_url: str = field(repr=False)
    data_dir: Path
    models_dir: Path
    secret_key: str = field(repr=False)
    execution: Execution
    host: str
    port: int
    web_threads: int
    public_url: str | None
    trusted_hosts: tuple[str, ...]
    proxy_hops: int
    worker_threads: int
    heartbeat_seconds: float
    zombie_after_seconds: float
    run_timeout_seconds: float
    job_max_attempts: int
    step_attempts: int
    backoff_base_seconds: float
    backoff_max_seconds: float
    poll_seconds: float
    drain_seconds: float
    watchdog_seconds: float
    stage_limits: tuple[tuple[str, int], ...]
    bulk_upload_files: int
    job_retention_days: float
    event_retention_days: float
    call_retention_days: float
    max_upload_mb: int
    blobs: str
    extraction: str
    embeddings: str
    azure_storage_connection_string: str = field(repr=False)
    azure_storage_account_url: str | None
    azure_storage_container: str
    azure_documentintelligence_endpoint: str | None
    azure_documentintelligence_key: str = field(repr=False)
    azure_documentintelligence_models: tuple[tuple[str, str], ...]
    azure_documentintelligence_window_pages: int
    azure_documentintelligence_windows_at_once: int
    openai_api_key: str = field(repr=False)
    openai_base_url: str
    openai_embedding_model: str
    openai_embedding_dimensions: int
    openai_embedding_batch: int
    embed_concurrency: int
    provider_timeout_seconds: float
    speech: str
    analysis: str
    speech_language: str
    speech_threads: int
    speechkit_api_key: str = field(repr=False)
    speechkit_url: str
    speechkit_operations_url: str
    speechkit_model: str
    speechkit_poll_interval_ms: int
    transcribe_poll_max_attempts: int
    openai_transcribe_model: str
    openai_chat_model: str
    audio_hours_max: int
    audio_run_timeout_seconds: float
    extract_timeout_seconds: float
    extract_memory_mb: int
    embed_threads: int
    reembed: str
    connection_neighbours: int
    connection_threshold: float
    price_extract_page: float
    price_embed_passage: float
    price_transcribe_second: float
    price_analyze_segment: float
    price_currency: str
    htmx_url: str | None
    htmx_integrity: str | None
    session_days: int

    @property
    def is_embedded(self) -> bool:
        """True where the web process itself does the work."""
        return self.execution is Execution.EMBEDDED

    @property
    def upload_bytes_max(self) -> int:
        """The largest file that an upload may bring."""
        return self.max_upload_mb * 1024 * 1024

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Read and check everything; SettingsError where something cannot be right."""
        return _read(Reader(os.environ if environ is None else environ))


def _read(env: Reader) -> Settings:
    data_dir = Path(env.text("DATA_DIR", "var")).expanduser().absolute()
    database_url = _database_url("DATABASE_URL", env.text("DATABASE_URL", _own_database(data_dir)))
    owner_url = env.optional("DATABASE_OWNER_URL")
    execution = _execution(env, database_url)
    embedded = execution is Execution.EMBEDDED
    return Settings(
        database_url=database_url,
        database_owner_url=_database_url("DATABASE_OWNER_URL", owner_url) if owner_url else database_url,
        data_dir=data_dir,
        models_dir=Path(env.text("MODELS_DIR", str(data_dir / "models"))).expanduser().absolute(),
        secret_key=_secret_key(env, data_dir),
        execution=execution,
        host=env.text("HOST", "127.0.0.1" if embedded else "0.0.0.0"),  # noqa: S104 - dynos are reached from outside
        port=env.whole("PORT", 8000, most=65535),
        web_threads=env.whole("WEB_THREADS", 32),
        public_url=env.optional("PUBLIC_URL"),
        trusted_hosts=env.names("TRUSTED_HOSTS"),
        proxy_hops=env.whole("PROXY_HOPS", 0, least=0),
        worker_threads=env.whole("WORKER_THREADS", 4),
        heartbeat_seconds=env.seconds("HEARTBEAT_SECONDS", 30),
        zombie_after_seconds=env.seconds("ZOMBIE_AFTER_SECONDS", 7200),
        run_timeout_seconds=env.seconds("RUN_TIMEOUT_SECONDS", 120 if embedded else 7200),
        job_max_attempts=env.whole("JOB_MAX_ATTEMPTS", 1 if embedded else 5),
        step_attempts=env.whole("STEP_ATTEMPTS", 2),
        backoff_base_seconds=env.seconds("BACKOFF_BASE_SECONDS", 30),
        backoff_max_seconds=env.seconds("BACKOFF_MAX_SECONDS", 600),
        poll_seconds=env.seconds("POLL_SECONDS", 1),
        drain_seconds=env.seconds("DRAIN_SECONDS", 25, least=0),
        watchdog_seconds=env.seconds("WATCHDOG_SECONDS", 60),
        max_upload_mb=env.whole("MAX_UPLOAD_MB", 512),
        blobs=_blobs(env),
        extraction=_extraction(env),
        embeddings=_embeddings(env),
        extract_timeout_seconds=env.seconds("EXTRACT_TIMEOUT_SECONDS", 100 if embedded else 900),
        extract_memory_mb=env.whole("EXTRACT_MEMORY_MB", 2048, least=256),
        embed_threads=env.whole("EMBED_THREADS", 2),
        htmx_url=env.optional("HTMX_URL"),
        htmx_integrity=env.optional("HTMX_INTEGRITY"),
        session_days=env.whole("SESSION_DAYS", 30, most=36_500),
        connection_neighbours=env.whole("CONNECTION_NEIGHBOURS", 5, most=50),
        connection_threshold=env.share("CONNECTION_THRESHOLD", 0.55),
        **_queue(env),
        **_cloud(env),
        **_recordings(env, embedded=embedded),
    )


def _queue(env: Reader) -> dict[str, Any]:
    """How much is done at once, what goes first, and how long is remembered what was done."""
    return {
        "stage_limits": _stage_limits(env),
        "bulk_upload_files": env.whole("BULK_UPLOAD_FILES", 20),
        "job_retention_days": env.days("JOB_RETENTION_DAYS", 30),
        "event_retention_days": env.days("EVENT_RETENTION_DAYS", 0),
        "call_retention_days": env.days("CALL_RETENTION_DAYS", 0),
    }


STAGE_LIMIT_MAX = 10_000


def _stage_limits(env: Reader) -> tuple[tuple[str, int], ...]:
    """`process_document=4,analyze=2`: so many jobs of a stage at once, in the whole installation."""
    found = env.pairs("STAGE_LIMITS", "process_document=4")
    for stage, number in found:
        if stage not in STAGE_NAMES:
            raise SettingsError(f"STAGE_LIMITS: there is no stage {stage!r}. Stages: {', '.join(STAGE_NAMES)}.")
        if not (number.isascii() and number.isdigit() and len(number) < 10 and 1 <= int(number) <= STAGE_LIMIT_MAX):
            example = "Example: STAGE_LIMITS=process_document=4."
            raise SettingsError(f"STAGE_LIMITS: {stage}={number} is no limit from 1 to {STAGE_LIMIT_MAX}. {example}")
    return tuple((stage, int(number)) for stage, number in found)


# Settings are read before anything else is, so the names stand here as well as in the pipeline; a guard compares them.
STAGE_NAMES = (
    "process_document",
    "extract_audio",
    "transcribe_start",
    "transcribe_poll",
    "analyze",
    "detect_connections",
    "embed_anew",
)


def _cloud(env: Reader) -> dict[str, Any]:
    """What only those need who let others do the work."""
    return {
        "azure_storage_connection_string": _connection_string(env),
        "azure_storage_account_url": env.address("AZURE_STORAGE_ACCOUNT_URL"),
        "azure_storage_container": _container(env),
        "azure_documentintelligence_endpoint": env.address("AZURE_DOCUMENTINTELLIGENCE_ENDPOINT"),
        "azure_documentintelligence_key": env.text("AZURE_DOCUMENTINTELLIGENCE_KEY"),
        "azure_documentintelligence_models": env.pairs(
            "AZURE_DOCUMENTINTELLIGENCE_MODELS", "image/jpeg=prebuilt-receipt"
        ),
        "azure_documentintelligence_window_pages": env.whole("AZURE_DOCUMENTINTELLIGENCE_WINDOW_PAGES", 50, most=2000),
        "azure_documentintelligence_windows_at_once": env.whole(
            "AZURE_DOCUMENTINTELLIGENCE_WINDOWS_AT_ONCE", 4, most=100
        ),
        "openai_api_key": env.text("OPENAI_API_KEY"),
        "openai_base_url": env.address("OPENAI_BASE_URL") or _OPENAI,
        "openai_embedding_model": env.text("OPENAI_EMBEDDING_MODEL", "text-embedding-3-small"),
        "openai_embedding_dimensions": _dimensions(env),
        "openai_embedding_batch": env.whole("OPENAI_EMBEDDING_BATCH", 16, most=2048),
        "reembed": env.choice("REEMBED", "auto", ("auto", "ask")),
        "embed_concurrency": env.whole("EMBED_CONCURRENCY", 4, most=64),
        "price_extract_page": env.price("PRICE_EXTRACT_PAGE", 0.01),
        "price_embed_passage": env.price("PRICE_EMBED_PASSAGE", 0.000004),
        "price_transcribe_second": env.price("PRICE_TRANSCRIBE_SECOND", 0.0001),
        "price_analyze_segment": env.price("PRICE_ANALYZE_SEGMENT", 0.0001),
        "price_currency": env.text("PRICE_CURRENCY", "USD"),
        "provider_timeout_seconds": env.seconds("PROVIDER_TIMEOUT_SECONDS", 60),
    }


def _recordings(env: Reader, *, embedded: bool) -> dict[str, Any]:
    """What only those need who drop in recordings."""
    has_openai = bool(env.text("OPENAI_API_KEY"))
    speechkit_url = env.address("SPEECHKIT_URL")
    run_timeout_seconds = env.seconds("RUN_TIMEOUT_SECONDS", 120 if embedded else 7200)
    return {
        "speech": _speech(env, has_openai=has_openai),
        "analysis": _analysis(env, has_openai=has_openai),
        "speech_language": _language(env),
        "speech_threads": env.whole("SPEECH_THREADS", 2, most=64),
        "speechkit_api_key": env.text("SPEECHKIT_API_KEY"),
        "speechkit_url": speechkit_url or _SPEECHKIT,
        "speechkit_operations_url": env.address("SPEECHKIT_OPERATIONS_URL") or speechkit_url or _SPEECHKIT_OPERATIONS,
        "speechkit_model": env.text("SPEECHKIT_MODEL", "general"),
        "speechkit_poll_interval_ms": env.whole("SPEECHKIT_POLL_INTERVAL_MS", 10_000),
        "transcribe_poll_max_attempts": env.whole("TRANSCRIBE_POLL_MAX_ATTEMPTS", 20),
        "openai_transcribe_model": env.text("OPENAI_TRANSCRIBE_MODEL", "whisper-1"),
        "openai_chat_model": env.text("OPENAI_CHAT_MODEL", "gpt-4.1-mini"),
        "audio_hours_max": env.whole("AUDIO_HOURS_MAX", 4, most=24),
        "audio_run_timeout_seconds": env.seconds("AUDIO_RUN_TIMEOUT_SECONDS", max(7200.0, run_timeout_seconds)),
    }


_SPEECHKIT = "https://stt.api.cloud.yandex.net"
_SPEECHKIT_OPERATIONS = "https://operation.api.cloud.yandex.net"
_LANGUAGE = re.compile(r"auto|[a-z]{2}(-[A-Z]{2})?")
_OPENAI = "https://api.openai.com/v1"
# The native lengths of the models that everybody knows; others have to be told.
_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_CONTAINER = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}")


def _blobs(env: Reader) -> str:
    """Azure where there is a way in; a connection string wins over an account's address."""
    given = env.text("AZURE_STORAGE_CONNECTION_STRING") or env.text("AZURE_STORAGE_ACCOUNT_URL")
    chosen = env.choice("BLOBS", "azure" if given else "local", ("local", "azure"))
    if chosen == "azure" and not given:
        raise SettingsError(
            "BLOBS=azure needs AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_URL for a managed identity."
        )
    return chosen


def _connection_string(env: Reader) -> str:
    """Checked without being shown: it holds the key."""
    name = "AZURE_STORAGE_CONNECTION_STRING"
    value = env.text(name)
    parts = {part.partition("=")[0].strip().lower() for part in value.split(";")}
    if value and not ({"accountname", "blobendpoint"} & parts and {"accountkey", "sharedaccesssignature"} & parts):
        raise SettingsError(f"{name} is not complete. Example: {name}=AccountName=…;AccountKey=….")
    return value


def _extraction(env: Reader) -> str:
    """Document Intelligence where both halves of the way in are there, or by force with a managed identity."""
    endpoint, key = "AZURE_DOCUMENTINTELLIGENCE_ENDPOINT", "AZURE_DOCUMENTINTELLIGENCE_KEY"
    has_endpoint, has_key = bool(env.text(endpoint)), bool(env.text(key))
    chosen = env.choice("EXTRACTION", "azure" if has_endpoint and has_key else "local", ("local", "azure"))
    if chosen == "azure" and not has_endpoint:
        raise SettingsError(f"EXTRACTION=azure needs {endpoint}=https://… and {key}.")
    if not env.text("EXTRACTION") and has_endpoint != has_key:
        missing = key if has_endpoint else endpoint
        raise SettingsError(
            f"{missing} is missing. Set it, or choose: EXTRACTION=azure for a managed identity, EXTRACTION=local."
        )
    return chosen


def _embeddings(env: Reader) -> str:
    """OpenAI where there is a key; a server without keys is chosen by name and address."""
    has_key, has_address = bool(env.text("OPENAI_API_KEY")), bool(env.text("OPENAI_BASE_URL"))
    chosen = env.choice("EMBEDDINGS", "openai" if has_key else "local", ("local", "openai"))
    if chosen == "openai" and not (has_key or has_address):
        raise SettingsError("EMBEDDINGS=openai needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server without keys.")
    return chosen


def _speech(env: Reader, *, has_openai: bool) -> str:
    """SpeechKit where its key is there, else OpenAI where its key is, else this machine."""
    has_speechkit = bool(env.text("SPEECHKIT_API_KEY"))
    usual = "speechkit" if has_speechkit else "openai" if has_openai else "local"
    chosen = env.choice("SPEECH", usual, ("local", "speechkit", "openai"))
    if chosen == "speechkit" and not has_speechkit:
        raise SettingsError("SPEECH=speechkit needs SPEECHKIT_API_KEY.")
    if chosen == "openai" and not (has_openai or env.text("OPENAI_BASE_URL")):
        raise SettingsError("SPEECH=openai needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server without keys.")
    return chosen


def _analysis(env: Reader, *, has_openai: bool) -> str:
    """OpenAI where there is a key; a server without keys is chosen by name and address."""
    chosen = env.choice("ANALYSIS", "openai" if has_openai else "local", ("local", "openai"))
    if chosen == "openai" and not (has_openai or env.text("OPENAI_BASE_URL")):
        raise SettingsError("ANALYSIS=openai needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server without keys.")
    return chosen


def _language(env: Reader) -> str:
    value = env.text("SPEECH_LANGUAGE", "auto")
    if not _LANGUAGE.fullmatch(value):
        raise SettingsError(f"SPEECH_LANGUAGE={value!r} is no language. Examples: auto, en, ru-RU.")
    return value


def _container(env: Reader) -> str:
    name = "AZURE_STORAGE_CONTAINER"
    value = env.text(name, "docmill")
    if not _CONTAINER.fullmatch(value):
        raise SettingsError(f"{name}={value!r} is no container name: 3 to 63 small letters, digits and single dashes.")
    return value


def _dimensions(env: Reader) -> int:
    model = env.text("OPENAI_EMBEDDING_MODEL", "text-embedding-3-small")
    given = env.whole("OPENAI_EMBEDDING_DIMENSIONS", 0, least=0, most=16_000)
    if _embeddings(env) == "openai" and not given and model not in _DIMENSIONS:
        raise SettingsError(
            f"OPENAI_EMBEDDING_DIMENSIONS is needed: OPENAI_EMBEDDING_MODEL={model} gives vectors of an unknown length."
        )
    return given or _DIMENSIONS.get(model, 0)


def _execution(env: Reader, database_url: str) -> Execution:
    usual = Execution.EMBEDDED if database_url.startswith("sqlite") else Execution.WORKERS
    chosen = Execution(env.choice("EXECUTION", usual, tuple(Execution)))
    if chosen is Execution.WORKERS and database_url.startswith("sqlite"):
        raise SettingsError(
            "EXECUTION=workers needs PostgreSQL, since several processes share the database. "
            "Set DATABASE_URL=postgresql://…, or leave EXECUTION out."
        )
    return chosen


def _own_database(data_dir: Path) -> str:
    """The file in DATA_DIR, whatever its name holds that means something in an address."""
    path = str(data_dir / "docmill.sqlite3").replace("%", "%25").replace("?", "%3F")
    return f"sqlite:///{path}"


def _database_url(name: str, url: str) -> str:
    """One spelling for SQLAlchemy, whatever Heroku or a person wrote."""
    if url.startswith("sqlite:///"):
        return url
    for prefix in ("postgres://", "postgresql://", "postgresql+psycopg://"):
        if url.startswith(prefix):
            return "postgresql+psycopg://" + url.removeprefix(prefix)
    raise SettingsError(f"{name} must start with postgresql:// or sqlite:///, as in postgresql://user@host/docmill.")


_SECRET_LENGTH_LEAST = 16


def _secret_key(env: Reader, data_dir: Path) -> str:
    """SECRET_KEY, or one that is generated on the first start and kept in DATA_DIR."""
    given = env.text("SECRET_KEY")
    if given and len(given) < _SECRET_LENGTH_LEAST:
        raise SettingsError(
            f"SECRET_KEY is too short to protect anything: use {_SECRET_LENGTH_LEAST} characters or more."
        )
    return given or kept_secret(data_dir / "secret_key")
