"""Every setting, read once from the environment into one frozen object.

This is the only package that reads the environment; settings are grouped by topic, a module each.
A bad value is refused at start with a sentence that names the variable and says what would be right.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from webapp.config import (
    access,
    azure,
    connections,
    containers,
    dispatch,
    embedding,
    htmx,
    limits,
    models,
    ocr,
    openai,
    parsers,
    prices,
    providers,
    queue,
    server,
    sources,
    speech,
    speechkit,
    webhooks,
)
from webapp.config.group import Group
from webapp.config.reader import Reader, SettingsError, check_folder, kept_secret

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
    database_session_url: str = field(repr=False)
    """For locks and LISTEN, which need a session of their own: DATABASE_URL unless a pooler is in front."""
    database_read_url: str = field(repr=False)
    """A read replica; empty where there is none."""
    read_lag_seconds: float
    data_dir: Path
    secret_key: str = field(repr=False)
    """Empty where the web processes agree on one in the database."""
    execution: Execution
    provider_timeout_seconds: float
    server: server.ServerSettings
    access: access.AccessSettings
    htmx: htmx.HtmxSettings
    limits: limits.LimitSettings
    queue: queue.QueueSettings
    dispatch: dispatch.DispatchSettings
    parsers: parsers.ParserSettings
    containers: containers.ContainerSettings
    sources: sources.SourceSettings
    models: models.ModelSettings
    ocr: ocr.OcrSettings
    embedding: embedding.EmbeddingSettings
    speech: speech.SpeechSettings
    connections: connections.ConnectionSettings
    providers: providers.ProviderSettings
    azure: azure.AzureSettings
    openai: openai.OpenAISettings
    speechkit: speechkit.SpeechKitSettings
    prices: prices.PriceSettings
    webhooks: webhooks.WebhookSettings

    @property
    def is_embedded(self) -> bool:
        """True where the web process itself does the work."""
        return self.execution is Execution.EMBEDDED

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Read and check everything; SettingsError where something cannot be right."""
        return _read(Reader(os.environ if environ is None else environ))


def _read(env: Reader) -> Settings:
    data_dir = models.data_dir(env)
    database_url = _database_url("DATABASE_URL", env.text("DATABASE_URL", _own_database(data_dir)))
    owner_url = env.optional("DATABASE_OWNER_URL")
    execution = _execution(env, database_url)
    embedded = execution is Execution.EMBEDDED
    chosen = providers.read(env)
    return Settings(
        database_url=database_url,
        database_owner_url=_database_url("DATABASE_OWNER_URL", owner_url) if owner_url else database_url,
        database_session_url=_same_kind(env, "DATABASE_SESSION_URL", database_url) or database_url,
        database_read_url=_same_kind(env, "DATABASE_READ_URL", database_url),
        read_lag_seconds=env.seconds("READ_LAG_SECONDS", 5, least=2),
        data_dir=data_dir,
        secret_key=_secret_key(env, data_dir, embedded=embedded),
        execution=execution,
        provider_timeout_seconds=env.seconds("PROVIDER_TIMEOUT_SECONDS", 60),
        server=server.read(env, embedded=embedded),
        access=access.read(env),
        htmx=htmx.read(env),
        limits=limits.read(env),
        queue=queue.read(env, embedded=embedded),
        dispatch=dispatch.read(env, has_workers=not embedded and not database_url.startswith("sqlite")),
        parsers=parsers.read(env, embedded=embedded),
        containers=containers.read(env),
        sources=sources.read(env),
        models=models.read(env),
        ocr=ocr.read(env),
        embedding=embedding.read(env),
        speech=speech.read(env),
        connections=connections.read(env),
        providers=chosen,
        azure=azure.read(env),
        openai=openai.read(env, embeds=chosen.embeddings == "openai"),
        speechkit=speechkit.read(env),
        prices=prices.read(env),
        webhooks=webhooks.read(env),
    )


def _execution(env: Reader, database_url: str) -> Execution:
    is_sqlite = database_url.startswith("sqlite")
    usual = Execution.EMBEDDED if is_sqlite else Execution.WORKERS
    chosen = Execution(env.choice("EXECUTION", usual, tuple(Execution)))
    if chosen is Execution.WORKERS and is_sqlite:
        raise SettingsError(
            "EXECUTION=workers needs PostgreSQL, since several processes share the database. "
            "Set DATABASE_URL=postgresql://…, or leave EXECUTION out."
        )
    return chosen


def _own_database(data_dir: Path) -> str:
    """The file in DATA_DIR, whatever its name holds that means something in an address."""
    path = str(data_dir / "docmill.sqlite3").replace("%", "%25").replace("?", "%3F")
    return f"sqlite:///{path}"


_SPELLINGS = {
    "sqlite:///": "sqlite:///",
    "postgres://": "postgresql+psycopg://",
    "postgresql://": "postgresql+psycopg://",
    "postgresql+psycopg://": "postgresql+psycopg://",
}


def _database_url(name: str, url: str) -> str:
    """One spelling for SQLAlchemy, whatever Heroku or a person wrote."""
    for prefix, spelling in _SPELLINGS.items():
        if url.startswith(prefix):
            return spelling + url.removeprefix(prefix)
    raise SettingsError(f"{name} must start with postgresql:// or sqlite:///, as in postgresql://user@host/docmill.")


def _same_kind(env: Reader, name: str, database_url: str) -> str:
    """Another address of the same PostgreSQL; empty where none is given."""
    given = env.text(name)
    if given and (database_url.startswith("sqlite") or given.startswith("sqlite")):
        raise SettingsError(f"{name} needs PostgreSQL in DATABASE_URL, and names it by another address.")
    return _database_url(name, given) if given else ""


_SECRET_LENGTH_LEAST = 16


def _secret_key(env: Reader, data_dir: Path, *, embedded: bool) -> str:
    """SECRET_KEY, or, embedded, one that is generated on the first start and kept in DATA_DIR.

    With workers there may be web processes on several machines, which agree on one in the database.
    """
    given = env.text("SECRET_KEY")
    if given and len(given) < _SECRET_LENGTH_LEAST:
        raise SettingsError(
            f"SECRET_KEY is too short to protect anything: use {_SECRET_LENGTH_LEAST} characters or more."
        )
    if embedded:
        return given or kept_secret(data_dir / "secret_key")
    check_folder(data_dir)
    return given
