"""A database role that row-level security does not apply to is refused where several organisations may be.

All of it before `flask db upgrade` has made another one to serve as, or where it could not: tests/test_serving_role.py
has the rest.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from tests.conftest import DatabaseUnderTest, dispose, make_bare_app, settings_for
from tests.journeys.site import Installation
from tests.postgres import ROOT
from webapp.db import row_security

BIN = Path(sys.executable).parent


def faults(folder: Path, url: str | None, **variables: str) -> tuple[str | None, str | None]:
    """What is wrong, and what of it is a reason not to start."""
    assert url is not None
    settings = settings_for(folder, DATABASE_URL=url, **variables)
    app = make_bare_app(settings)
    with app.app_context():
        found = row_security.fault(), row_security.refusal(settings)
    dispose(app)
    return found


def test_a_role_without_privileges_is_well(postgresql_database: DatabaseUnderTest, tmp_path: Path) -> None:
    assert faults(tmp_path, postgresql_database.url) == (None, None)


def test_one_role_that_owns_the_tables_is_well_too(postgresql_database: DatabaseUnderTest, tmp_path: Path) -> None:
    assert faults(tmp_path, postgresql_database.owner_url) == (None, None)


def test_a_superuser_is_refused_unless_told_otherwise(postgresql_database: DatabaseUnderTest, tmp_path: Path) -> None:
    found, refusal = faults(tmp_path, postgresql_database.superuser_url)
    assert found == refusal
    assert "is a superuser" in str(found)
    assert "ROW_SECURITY=warn" in str(found)
    for variables in ({"ROW_SECURITY": "warn"}, {"EXECUTION": "embedded"}):
        found, refusal = faults(tmp_path, postgresql_database.superuser_url, **variables)
        assert "is a superuser" in str(found)
        assert refusal is None


@contextmanager
def executed(database: DatabaseUnderTest, statement: str, afterwards: str) -> Iterator[None]:
    with psycopg.connect(str(database.superuser_url), autocommit=True) as connection:
        connection.execute(statement.encode())
        try:
            yield
        finally:
            connection.execute(afterwards.encode())


@pytest.fixture
def bypassing_url(postgresql_database: DatabaseUnderTest, worker_id: str) -> Iterator[str]:
    """A role that may do what the runtime role may, and bypasses row-level security; others use that one."""
    url, name = sa.make_url(postgresql_database.url), f"bypassing_{worker_id}"
    make = f"CREATE ROLE {name} LOGIN BYPASSRLS PASSWORD 'secret' IN ROLE {url.username}"
    with executed(postgresql_database, make, f"DROP ROLE {name}"):
        yield url.set(username=name, password="secret").render_as_string(hide_password=False)


def test_a_role_that_bypasses_it_is_refused(bypassing_url: str, tmp_path: Path) -> None:
    _, refusal = faults(tmp_path, bypassing_url)
    assert "has BYPASSRLS" in str(refusal)
    assert "Use a role without these" in str(refusal)


@pytest.mark.parametrize("change", ["NO FORCE", "DISABLE"])
def test_a_table_without_it_is_named(postgresql_database: DatabaseUnderTest, tmp_path: Path, change: str) -> None:
    undo = {"NO FORCE": "FORCE", "DISABLE": "ENABLE"}[change]
    table = "ALTER TABLE chunks {} ROW LEVEL SECURITY"
    with executed(postgresql_database, table.format(change), table.format(undo)):
        _, refusal = faults(tmp_path, postgresql_database.url)
    assert "not enabled and forced on chunks" in str(refusal)


def test_sqlite_has_none(sqlite_database: DatabaseUnderTest, tmp_path: Path) -> None:
    assert faults(tmp_path, sqlite_database.url) == (None, None)


@pytest.mark.slow
@pytest.mark.journey
@pytest.mark.parametrize(("command", "status"), [(("gunicorn", "wsgi:app"), 3), (("python", "worker.py"), 2)])
def test_no_process_starts_with_such_a_role(
    bypassing_url: str, tmp_path: Path, command: tuple[str, ...], status: int
) -> None:
    variables = {"DATABASE_URL": bypassing_url, "DATA_DIR": str(tmp_path / "data")}
    place = Installation(variables, tmp_path / "log")
    done = subprocess.run(
        command, cwd=ROOT, env=place.environment, capture_output=True, text=True, check=False, timeout=55
    )
    assert done.returncode == status, done.stderr
    assert "has BYPASSRLS, so row-level security does not keep organisations apart" in done.stderr
    assert "Traceback" not in done.stderr
    doctor = subprocess.run(
        ("flask", "--app", "wsgi", "doctor"),
        cwd=ROOT,
        env=place.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=55,
    )
    assert doctor.returncode == 1
    assert "row security: The database role" in doctor.stdout
