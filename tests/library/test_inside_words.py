"""Names are found by letters inside of their words where PostgreSQL lets the application look there.

The server of the tests has no `pg_trgm`, whose index makes it fast: the function finds the same without.
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from flask import Flask
from sqlalchemy import NullPool, create_engine, text

from tests.bare import settings_for
from tests.conftest import DatabaseUnderTest
from tests.documents.rows import new_document, new_org
from tests.postgres_keeper import OWNER, RUNTIME
from webapp.db import inside_words, reading
from webapp.library import grid, names, selection
from webapp.library.selection import Matching

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
_EXISTS = f"SELECT to_regprocedure('public.{inside_words.FUNCTION}') IS NOT NULL"


@pytest.fixture
def looking(bare_app: Flask, database: DatabaseUnderTest) -> Iterator[UUID]:
    """An org whose names are found by letters inside of their words; and another one."""
    engine = create_engine(database.owner_url, poolclass=NullPool)
    with engine.begin() as connection:
        inside_words.allow(connection, [RUNTIME])
    names.forget_whether_to_look()
    org_id = new_org()
    for name in ("invoice_2024-03.pdf", "MyInvoice.pdf", "letter.txt"):
        new_document(org_id, name)
    new_document(new_org(), "invoice of somebody else.pdf")
    yield org_id
    with engine.begin() as connection:
        inside_words.take_away(connection)
    names.forget_whether_to_look()


def _found(org_id: UUID, query: str) -> set[str]:
    with reading(org_id):
        found = {row.document.filename for row in grid.page(org_id, q=query).rows}
        assert len(selection.ids(org_id, Matching(q=query))) == len(found)
        assert selection.count(org_id, Matching(q=query)).number == len(found)
    return found


@pytest.mark.parametrize("few", [0, 100], ids=["walked", "looked up"])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("voice", {"invoice_2024-03.pdf", "MyInvoice.pdf"}),
        ("nvoi 024", {"invoice_2024-03.pdf"}),
        ("invoice", {"invoice_2024-03.pdf", "MyInvoice.pdf"}),
        ("ETTE", {"letter.txt"}),
        ("df", set()),  # fewer than three characters are beginnings
        ("nowhere", set()),
        ("%%%", set()),
    ],
)
def test_documents_are_found_by_the_middle_of_words(
    looking: UUID, query: str, found: set[str], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "FEW", few)
    assert _found(looking, query) == found


def test_the_function_answers_for_the_org_of_the_transaction_alone(looking: UUID, database: DatabaseUnderTest) -> None:
    with psycopg.connect(database.url, autocommit=True) as connection:
        for org in (uuid4(), looking):
            with connection.transaction():
                connection.execute("SELECT set_config('app.org_id', %s, true)", [str(org)])
                found = connection.execute("SELECT docmill_documents_with('voice', 100)").fetchall()
                assert len(found) == (3 if org == looking else 0)  # "MyInvoice" is two words that have it
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="no org"):
            connection.execute("SELECT docmill_documents_with('voice', 100)")


def test_other_roles_may_not_call_it(looking: UUID, database: DatabaseUnderTest) -> None:
    assert database.superuser_url is not None
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("CREATE ROLE docmill_unknown")
        connection.execute("SET ROLE docmill_unknown")
        connection.execute("SELECT set_config('app.org_id', %s, true)", [str(looking)])
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for function"):
            connection.execute("SELECT docmill_documents_with('voice', 100)")
        connection.rollback()


def test_the_upgrade_removes_what_is_no_longer_needed(
    looking: UUID, database: DatabaseUnderTest, tmp_path: Path
) -> None:
    """Here: the server has no pg_trgm. It would also be where the application serves as the owner."""
    engine = create_engine(database.owner_url, poolclass=NullPool)
    inside_words.prepare(engine, settings_for(tmp_path, DATABASE_URL=database.url))
    with engine.connect() as connection:
        assert connection.scalar(text(_EXISTS)) is False
        policies = "SELECT count(*) FROM pg_policies WHERE tablename = 'document_words'"
        assert connection.scalar(text(policies)) == 1
    names.forget_whether_to_look()
    assert _found(looking, "voice") == set()
    assert _found(looking, "invoice") == {"invoice_2024-03.pdf", "MyInvoice.pdf"}


@pytest.mark.parametrize(("login", "roles"), [(RUNTIME, [RUNTIME]), (OWNER, [])])
def test_serving_as_the_owner_gets_no_policy(database: DatabaseUnderTest, login: str, roles: list[str]) -> None:
    engine = create_engine(database.owner_url, poolclass=NullPool)
    with engine.connect() as connection:
        assert inside_words.serving_roles(connection, login) == roles
