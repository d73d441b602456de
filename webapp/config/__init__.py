"""Every setting, read once from the environment into one frozen object.

This is the only package that reads the environment; settings are grouped by topic, a module each.
A bad value is refused at start with a sentence that names the variable and says what would be right.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from webapp.config import access, htmx, limits, models, providers, queue, sandbox, server
from webapp.config.group import Group
from webapp.config.reader import Reader, SettingsError, kept_secret

__all__ = ["Execution", "Settings", "SettingsError", "forget_owner"]


def forget_owner() -> None:
    """In a process that serves or works: only migrations need the role that may drop the policies.

    The start lines (Procfile, Makefile) leave it out as well, since a process's first environment stays readable.
    """
    os.environ.pop("DATABASE_OWNER_URL", None)


class Execution(StrEnum):
    """Who does the work: a pool inside the web process, or worker processes of their own."""

    EMBEDDED = "embedded"
    WORKERS = "workers"


@dataclass(frozen=True)
class Settings(Group):
    """What Docmill runs with: what everything needs, and a group for each topic."""

    database_url: str = field(repr=False)
    database_owner_url: str = field(repr=False)
    data_dir: Path
    secret_key: str = field(repr=False)
    execution: Execution
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
    openai_transcribe_model: str
    openai_chat_model: str
    audio_hours_max: int
    extract_timeout_seconds: float
    extract_memory_mb: int
    embed_threads: int
    connection_neighbours: int
    connection_threshold: float
    price_extract_page: float
    price_embed_passage: float
    price_transcribe_second: float
    price_analyze_segment: float
    price_currency: str
    queue: queue.QueueSettings
    server: server.ServerSettings
    htmx: htmx.HtmxSettings
    limits: limits.LimitSettings
    access: access.AccessSettings
    sandbox: sandbox.SandboxSettings
    models: models.ModelSettings

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
    data_dir = env.folder("DATA_DIR", "var")
    database_url = _database_url("DATABASE_URL", env.text("DATABASE_URL", _own_database(data_dir)))
    owner_url = env.optional("DATABASE_OWNER_URL")
    execution = _execution(env, database_url)
    embedded = execution is Execution.EMBEDDED
    return Settings(
        database_url=database_url,
        database_owner_url=_database_url("DATABASE_OWNER_URL", owner_url) if owner_url else database_url,
        data_dir=data_dir,
        secret_key=_secret_key(env, data_dir),
        execution=execution,
        queue=queue.read(env, embedded=embedded),
        server=server.read(env, embedded=embedded),
        htmx=htmx.read(env),
        max_upload_mb=env.whole("MAX_UPLOAD_MB", 512),
        blobs=providers.blobs(env),
        extraction=providers.extraction(env),
        embeddings=providers.embeddings(env),
        extract_timeout_seconds=env.seconds("EXTRACT_TIMEOUT_SECONDS", 100 if embedded else 900),
        extract_memory_mb=env.whole("EXTRACT_MEMORY_MB", 2048, least=256),
        embed_threads=env.whole("EMBED_THREADS", 2),
        connection_neighbours=env.whole("CONNECTION_NEIGHBOURS", 5, most=50),
        connection_threshold=env.share("CONNECTION_THRESHOLD", 0.55),
        limits=limits.read(env),
        access=access.read(env),
        sandbox=sandbox.read(env),
        models=models.read(env),
        **providers.cloud(env),
        **providers.recordings(env),
    )


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
