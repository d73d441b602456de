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
    embedding,
    htmx,
    limits,
    models,
    openai,
    parsers,
    prices,
    providers,
    queue,
    server,
    speech,
    speechkit,
)
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
    provider_timeout_seconds: float
    server: server.ServerSettings
    access: access.AccessSettings
    htmx: htmx.HtmxSettings
    limits: limits.LimitSettings
    queue: queue.QueueSettings
    parsers: parsers.ParserSettings
    models: models.ModelSettings
    embedding: embedding.EmbeddingSettings
    speech: speech.SpeechSettings
    connections: connections.ConnectionSettings
    providers: providers.ProviderSettings
    azure: azure.AzureSettings
    openai: openai.OpenAISettings
    speechkit: speechkit.SpeechKitSettings
    prices: prices.PriceSettings

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
        data_dir=data_dir,
        secret_key=_secret_key(env, data_dir),
        execution=execution,
        provider_timeout_seconds=env.seconds("PROVIDER_TIMEOUT_SECONDS", 60),
        server=server.read(env, embedded=embedded),
        access=access.read(env),
        htmx=htmx.read(env),
        limits=limits.read(env),
        queue=queue.read(env, embedded=embedded),
        parsers=parsers.read(env, embedded=embedded),
        models=models.read(env),
        embedding=embedding.read(env),
        speech=speech.read(env),
        connections=connections.read(env),
        providers=chosen,
        azure=azure.read(env),
        openai=openai.read(env, embeds=chosen.embeddings == "openai"),
        speechkit=speechkit.read(env),
        prices=prices.read(env),
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
