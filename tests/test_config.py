"""Settings: defaults that follow from the database, and refusals that name the variable."""

import stat
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from webapp.config import Execution, Settings, SettingsError


def read(tmp_path: Path, **variables: str) -> Settings:
    return Settings.from_environment({"DATA_DIR": str(tmp_path / "data"), **variables})


def test_without_any_setting_it_runs_embedded_on_sqlite(tmp_path: Path) -> None:
    settings = read(tmp_path)
    assert settings.execution is Execution.EMBEDDED
    assert settings.database_url == f"sqlite:///{tmp_path}/data/docmill.sqlite3"
    assert (settings.queue.run_timeout_seconds, settings.queue.job_max_attempts, settings.server.host) == (
        120,
        1,
        "127.0.0.1",
    )


@pytest.mark.parametrize("name", ["what?x=1", "50%41", "a b", "grün", "it's #1 @home:"])
def test_the_database_lies_in_the_data_folder_whatever_that_is_called(tmp_path: Path, name: str) -> None:
    url = make_url(read(tmp_path, DATA_DIR=str(tmp_path / name)).database_url)
    assert url.database == str(tmp_path / name / "docmill.sqlite3")
    assert not url.query


def test_models_may_come_from_a_folder_or_an_address(tmp_path: Path) -> None:
    assert read(tmp_path).models.from_ is None
    assert read(tmp_path, MODELS_FROM=f"{tmp_path}/mirror").models.from_ == tmp_path / "mirror"
    address = "https://mirror.example.com/models"
    assert read(tmp_path, MODELS_FROM=f"{address}/").models.from_ == address


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgresql_means_worker_processes(tmp_path: Path, scheme: str) -> None:
    settings = read(tmp_path, DATABASE_URL=f"{scheme}://someone@host/docmill")
    assert settings.database_url == "postgresql+psycopg://someone@host/docmill"
    assert settings.database_owner_url == settings.database_url
    assert settings.execution is Execution.WORKERS
    assert (settings.queue.run_timeout_seconds, settings.queue.job_max_attempts) == (7200, 5)


def test_embedded_runs_on_postgresql_too(tmp_path: Path) -> None:
    settings = read(tmp_path, DATABASE_URL="postgresql://host/docmill", EXECUTION="embedded")
    assert settings.is_embedded
    assert settings.queue.run_timeout_seconds == 120


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("PORT", "http", "whole number"),
        ("PORT", "70000", "from 1 to 65535"),
        ("WORKER_THREADS", "0", "at least 1"),
        ("POLL_SECONDS", "soon", "number of seconds"),
        ("RUN_TIMEOUT_SECONDS", "inf", "number of seconds"),
        ("PRICE_EXTRACT_PAGE", "nan", "a price"),
        ("SESSION_DAYS", "1000000000", "from 1 to 36500"),
        ("EXECUTION", "cloud", "embedded, workers"),
        ("EXECUTION", "workers", "needs PostgreSQL"),
        ("DATABASE_URL", "mysql://host/docmill", "postgresql://"),
        ("DATABASE_SESSION_URL", "postgresql://host/docmill", "needs PostgreSQL in DATABASE_URL"),
        ("DATABASE_READ_URL", "postgresql://host/docmill", "needs PostgreSQL in DATABASE_URL"),
        ("READ_LAG_SECONDS", "-1", "at least"),
        ("BLOBS_SHARED", "yes", "0, 1"),
        ("DYNO", "web.1", "BLOBS_SHARED=1"),
        ("SECRET_KEY", "short", "16 characters"),
        ("HTMX_URL", "//cdn.example/htmx.js", "no web address"),
        ("HTMX_URL", "Local", "no web address"),
        ("HTMX_INTEGRITY", "sha384-short", "no hash of a script"),
        ("HTMX_INTEGRITY", "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "no hash of a script"),
        ("EMBEDDINGS", "magic", "Use one of"),
        ("MODELS_FROM", "ftp://mirror.example.com", "no web address"),
        ("MODELS_FROM", "https://me:hunter2@mirror.example.com", "neither a password"),
        ("STAGE_LIMITS", "proces_document=4", "there is no stage 'proces_document'. Stages: process_document, "),
        ("WORKER_STAGES", "process_document,proces", "there is no stage 'proces'. Stages: process_document, "),
        ("STAGE_LIMITS", "process_document=0", "process_document=0 is no limit"),
        ("STAGE_LIMITS", "process_document=3000000000", "is no limit from 1 to 10000"),
        ("STAGE_LIMITS", "process_document=many", "process_document=many is no limit"),
    ],
)
def test_a_bad_value_is_named_with_what_would_be_right(tmp_path: Path, name: str, value: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=name) as refused:
        read(tmp_path, **{name: value})
    assert hint in str(refused.value)


def test_a_data_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file, not a folder")
    with pytest.raises(SettingsError, match="DATA_DIR"):
        read(tmp_path)


def test_the_generated_secret_is_kept_and_private(tmp_path: Path) -> None:
    first, second = read(tmp_path), read(tmp_path)
    assert first.secret_key == second.secret_key
    assert stat.S_IMODE((tmp_path / "data" / "secret_key").stat().st_mode) == 0o600


def test_with_workers_the_web_processes_agree_on_a_secret_in_the_database(tmp_path: Path) -> None:
    settings = read(tmp_path, DATABASE_URL="postgresql://me@host/docmill")
    assert settings.secret_key == ""
    assert not (tmp_path / "data" / "secret_key").exists()


@pytest.mark.parametrize("name", ["DATABASE_SESSION_URL", "DATABASE_READ_URL"])
def test_another_address_of_the_database(tmp_path: Path, name: str) -> None:
    settings = read(
        tmp_path, **{"DATABASE_URL": "postgres://pooler/docmill", name: "postgres://me:hunter2@host/docmill"}
    )
    assert getattr(settings, name.lower()) == "postgresql+psycopg://me:hunter2@host/docmill"
    assert "hunter2" not in repr(settings)


def test_without_another_address_sessions_are_of_the_database_itself(tmp_path: Path) -> None:
    settings = read(tmp_path, DATABASE_URL="postgres://host/docmill")
    assert settings.database_session_url == settings.database_url
    assert settings.database_read_url == ""


@pytest.mark.parametrize(
    "lasting",
    [{"BLOBS_SHARED": "1"}, {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=b"}],
    ids=["a shared folder", "azure"],
)
def test_a_host_whose_disk_is_emptied_needs_files_elsewhere(tmp_path: Path, lasting: dict[str, str]) -> None:
    assert read(tmp_path, DYNO="web.1", **lasting).providers.dyno == "web.1"


def test_secrets_never_show(tmp_path: Path) -> None:
    settings = read(tmp_path, DATABASE_URL="postgresql://me:hunter2@host/docmill", SECRET_KEY="correct horse battery")
    assert "hunter2" not in repr(settings)
    assert "correct horse" not in repr(settings)
