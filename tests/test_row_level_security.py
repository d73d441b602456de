"""The database shows no rows of another org, even to a query that does not name its own.

All of it as the runtime role of a real installation: a superuser passes row-level security by,
and every test here would then pass for nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest
from flask import Flask
from psycopg import sql
from sqlalchemy import select, text, update
from sqlalchemy.exc import DBAPIError

import webapp.documents.ledger_model
import webapp.documents.page_model
import webapp.jobs.model
import webapp.search.model  # noqa: F401 - the models of all packages make up the metadata
from tests.conftest import DatabaseUnderTest, dispose, make_bare_app, settings_for
from webapp.accounts import orgs, users
from webapp.accounts.model import User
from webapp.accounts.roles import Role
from webapp.db import Base, NoTransaction, db, reading, session, transaction
from webapp.documents.model import Document, ProcessingRun

ORG_TABLES = sorted(name for name, table in Base.metadata.tables.items() if "org_id" in table.columns)
# PostgreSQL's own, which no model knows.
NATIVE_TABLES = ["chunk_words"]


@dataclass(frozen=True)
class Tenants:
    """Two orgs with a person and a document each."""

    ours: UUID
    theirs: UUID
    our_document: UUID
    their_document: UUID


@pytest.fixture
def app(postgresql_database: DatabaseUnderTest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """The product's own connections, as its runtime role."""
    app = make_bare_app(settings_for(tmp_path_factory.mktemp("rls"), DATABASE_URL=postgresql_database.url))
    with app.app_context():
        yield app
    dispose(app)


@pytest.fixture
def tenants(app: Flask) -> Tenants:
    with transaction(everywhere=True):
        ids = [orgs.create(name).id for name in ("Ours", "Theirs")]
        for org_id in ids:
            users.create(org_id, "ana@example.org", Role.MEMBER)
    return Tenants(*ids, *(_add_document(org_id) for org_id in ids))


def _add_document(org_id: UUID) -> UUID:
    with transaction(org_id):
        document = Document(
            org_id=org_id,
            filename="a.pdf",
            content_type="application/pdf",
            size_bytes=1,
            sha256="0" * 64,
            blob_path="x",
        )
        session().add(document)
        session().flush()
        return document.id


def _rows(url: str, query: LiteralString) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def _visible(connection: psycopg.Connection[Any], table: str) -> int:
    row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
    assert row
    return int(row[0])


def test_the_runtime_role_is_what_it_claims(postgresql_database: DatabaseUnderTest) -> None:
    query: LiteralString = """
        SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb,
               EXISTS (SELECT 1 FROM pg_class WHERE relowner = pg_roles.oid AND relnamespace = 'public'::regnamespace),
               pg_has_role(rolname, (SELECT tableowner FROM pg_tables WHERE tablename = 'documents'), 'MEMBER')
        FROM pg_roles WHERE rolname = current_user
    """
    assert _rows(postgresql_database.url, query) == [(False,) * 6]


def test_every_table_of_an_org_is_guarded_even_from_its_owner(postgresql_database: DatabaseUnderTest) -> None:
    query: LiteralString = """
        SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND relrowsecurity AND relforcerowsecurity ORDER BY relname
    """
    assert [name for (name,) in _rows(postgresql_database.owner_url, query)] == sorted(ORG_TABLES + NATIVE_TABLES)
    assert len(ORG_TABLES) >= 15


def test_no_view_shows_what_tables_hide(postgresql_database: DatabaseUnderTest) -> None:
    query: LiteralString = """
        SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        AND (relkind = 'm' OR (relkind = 'v' AND NOT coalesce('security_invoker=true' = ANY (reloptions), false)))
    """
    assert _rows(postgresql_database.owner_url, query) == []


def test_three_functions_look_with_anothers_rights(postgresql_database: DatabaseUnderTest) -> None:
    """They ask for the org by themselves, which tests/search/test_passage_words.py tries."""
    query: LiteralString = """
        SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef ORDER BY proname
    """
    assert _rows(postgresql_database.owner_url, query) == [
        ("docmill_passages_counted",),
        ("docmill_passages_found",),
        ("docmill_passages_with_some",),
    ]


@pytest.mark.usefixtures("tenants")
@pytest.mark.parametrize("role", ["runtime", "owner"])
def test_a_transaction_without_an_org_sees_nothing(postgresql_database: DatabaseUnderTest, role: str) -> None:
    url = postgresql_database.url if role == "runtime" else postgresql_database.owner_url
    with psycopg.connect(url) as connection:
        assert {table: _visible(connection, table) for table in ORG_TABLES} == dict.fromkeys(ORG_TABLES, 0)
    assert postgresql_database.superuser_url
    with psycopg.connect(postgresql_database.superuser_url) as connection:
        assert _visible(connection, "documents") == 2


def test_an_org_sees_its_own_rows_without_asking_for_them(tenants: Tenants) -> None:
    with reading(tenants.ours):
        assert session().scalars(select(Document.id)).all() == [tenants.our_document]
        assert set(session().scalars(select(User.org_id))) == {tenants.ours}
    with reading(everywhere=True):
        assert len(session().scalars(select(Document.id)).all()) == 2


def test_a_scope_ends_with_its_transaction(tenants: Tenants) -> None:
    """On one and the same connection: the second transaction forgot to say whose it is."""
    with db.engine.connect() as connection:
        with connection.begin():
            connection.execute(text("SELECT set_config('app.org_id', :org, true)"), {"org": str(tenants.ours)})
            assert connection.scalar(text("SELECT count(*) FROM documents")) == 1
        with connection.begin():
            # It is '' now, not NULL; a policy that casts it without care would fail instead.
            assert connection.scalar(text("SELECT current_setting('app.org_id', true)")) == ""
            assert connection.scalar(text("SELECT count(*) FROM documents")) == 0


def test_a_scope_ends_with_a_transaction_that_failed(tenants: Tenants) -> None:
    pids: list[object] = []

    def fail() -> None:
        with transaction(everywhere=True) as opened:
            pids.append(opened.scalar(text("SELECT pg_backend_pid()")))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with db.engine.connect() as connection:
        pids.append(connection.scalar(text("SELECT pg_backend_pid()")))
        assert connection.scalar(text("SELECT count(*) FROM documents")) == 0
    assert pids[0] == pids[1], "the pool handed out the same connection"
    with reading(tenants.theirs):
        assert session().scalars(select(Document.id)).all() == [tenants.their_document]


def test_the_product_opens_no_transaction_without_a_scope(app: Flask) -> None:
    with pytest.raises(NoTransaction), transaction():
        pass


@pytest.mark.parametrize("value", ["00000000-0000-0000-0000-000000000000", "", "' OR true --"])
def test_a_scope_is_a_value_and_never_code(tenants: Tenants, value: str) -> None:
    with db.engine.connect() as connection, connection.begin():
        connection.execute(text("SELECT set_config('app.org_id', :org, true)"), {"org": value})
        connection.execute(text("SELECT set_config('app.scope', :scope, true)"), {"scope": value})
        if "'" not in value:
            assert connection.scalar(text("SELECT count(*) FROM documents")) == 0
            return
        with pytest.raises(DBAPIError, match="invalid input syntax for type uuid"):
            connection.execute(text("SELECT count(*) FROM documents"))


def _refused(error: pytest.ExceptionInfo[DBAPIError]) -> bool:
    return getattr(error.value.orig, "sqlstate", None) == "42501"


def test_nothing_is_written_into_another_org(tenants: Tenants) -> None:
    with pytest.raises(DBAPIError) as refused, transaction(tenants.ours):
        session().add(User(org_id=tenants.theirs, email="spy@example.org", role="ops"))
    assert _refused(refused)


def test_nothing_is_moved_into_another_org(tenants: Tenants) -> None:
    with pytest.raises(DBAPIError) as refused, transaction(tenants.ours):
        session().execute(update(User).values(org_id=tenants.theirs, email="spy@example.org"))
    assert _refused(refused)


def test_another_orgs_rows_are_neither_changed_nor_deleted(tenants: Tenants) -> None:
    with transaction(tenants.ours):
        theirs = {"id": tenants.their_document}
        changed = session().execute(text("UPDATE documents SET filename = 'x' WHERE id = :id RETURNING id"), theirs)
        deleted = session().execute(text("DELETE FROM documents WHERE id = :id RETURNING id"), theirs)
        assert (changed.all(), deleted.all()) == ([], [])
    with reading(tenants.theirs):
        assert session().scalars(select(Document.filename)).all() == ["a.pdf"]


def test_no_row_hangs_on_another_orgs_row(tenants: Tenants) -> None:
    """A foreign key looks past row-level security, so it names the org itself."""
    with pytest.raises(DBAPIError) as refused, transaction(tenants.ours):
        session().add(ProcessingRun(org_id=tenants.ours, document_id=tenants.their_document, trigger="UPLOAD"))
    assert getattr(refused.value.orig, "sqlstate", None) == "23503"


def test_every_foreign_key_between_tables_of_an_org_names_the_org() -> None:
    loose = [
        constraint.name
        for table in (Base.metadata.tables[name] for name in ORG_TABLES)
        for constraint in table.foreign_key_constraints
        if constraint.referred_table.name != "orgs" and "org_id" not in constraint.column_keys
    ]
    assert loose == []


def test_the_same_bytes_in_two_orgs_are_two_documents(tenants: Tenants) -> None:
    """Otherwise a refused upload would tell that somebody else has this file."""
    assert tenants.our_document != tenants.their_document
    with reading(everywhere=True):
        assert set(session().scalars(select(Document.sha256))) == {"0" * 64}


def test_nothing_unique_across_orgs_can_be_guessed() -> None:
    """A unique violation tells that the value exists; across orgs only random values may be unique."""
    random = {"id", "token_hash", "document_id", "run_id", "source_chunk_id", "target_chunk_id", "chunk_id", "path"}
    random |= {"parent_id", "source_id"}
    guessable = [
        (name, columns)
        for name in ORG_TABLES
        for columns in _unique_columns(name)
        if "org_id" not in columns and not columns & random
    ]
    assert guessable == []


def _unique_columns(name: str) -> Iterator[frozenset[str]]:
    table = Base.metadata.tables[name]
    yield frozenset(column.name for column in table.primary_key.columns)
    for column in table.columns:
        if column.unique:
            yield frozenset({column.name})
    for index in table.indexes:
        if index.unique:
            yield frozenset(str(column.name) for column in index.columns)


@pytest.mark.parametrize(
    "forbidden",
    [
        "ALTER TABLE documents DISABLE ROW LEVEL SECURITY",
        "DROP POLICY org ON documents",
        "CREATE POLICY mine ON documents USING (true)",
        "ALTER TABLE documents NO FORCE ROW LEVEL SECURITY",
        "TRUNCATE documents",
        "CREATE VIEW everything AS SELECT * FROM documents",
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
    ],
)
def test_the_runtime_role_cannot_take_the_guard_away(
    postgresql_database: DatabaseUnderTest, forbidden: LiteralString
) -> None:
    with (
        psycopg.connect(postgresql_database.url) as connection,
        pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue)),
    ):
        connection.execute(forbidden)
