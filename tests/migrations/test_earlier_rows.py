"""What the earlier migrations do with the rows that they find."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import connections, do, found, on_both
from tests.migrations.filled import fill_document, fill_job, fill_states
from webapp.clock import new_id

_FILL_CALL = """
INSERT INTO provider_calls (id, org_id, run_id, provider, operation, units, seconds, outcome, reused, price, created_at)
VALUES ('{call}', '{id}', {run}, 'openai', 'embed', 16, 0.25, '{outcome}', false, 0.5, CURRENT_TIMESTAMP)
"""
_LINES = "SELECT * FROM provider_calls ORDER BY id"


@on_both
def test_a_ledger_keeps_every_line_and_outlives_its_documents(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0003")
        with engine.begin() as connection:
            one = fill_document(connection)
            for outcome, run in (("ok", f"'{one}'"), ("unknown", f"'{one}'"), ("error", "NULL")):
                values = {"call": new_id().hex, "id": one, "run": run, "outcome": outcome}
                connection.exec_driver_sql(_FILL_CALL.format(**values))
        before = found(engine, _LINES)
        assert len(before) == 3
        flask_migrate.upgrade()
        assert found(engine, _LINES) == before
        do(engine, "DELETE FROM documents")
        assert found(engine, _LINES) == before, "the document is gone, and its runs with it"
        # An older version has no lines without a run's row: they lose its id, and nothing else.
        flask_migrate.downgrade(revision="0003")
        assert [line[:2] + line[3:] for line in found(engine, _LINES)] == [line[:2] + line[3:] for line in before]
        flask_migrate.upgrade()
        assert len(found(engine, _LINES)) == 3
        with pytest.raises(sa.exc.IntegrityError):
            do(engine, "UPDATE provider_calls SET outcome = 'free'")


_FILL_ACCOUNTS = (
    "INSERT INTO orgs (id, name, created_at) VALUES ('{id}', 'a', {now})",
    """
    INSERT INTO users (id, org_id, email, role, password_hash, created_at) VALUES
        ('{id}', '{id}', 'ana@x', 'ops', 'hash', {now}), ('{second}', '{id}', 'bo@x', 'member', NULL, {now})
    """,
    """
    INSERT INTO user_sessions (id, org_id, user_id, token_hash, created_at, expires_at)
    VALUES ('{id}', '{id}', '{id}', 'session', '2026-01-01 00:00:00.000', {now})
    """,
    """
    INSERT INTO sign_in_links (id, org_id, user_id, token_hash, created_at, expires_at)
    VALUES ('{id}', '{id}', '{id}', 'link', {now}, {now})
    """,
    """
    INSERT INTO api_tokens (id, org_id, name, role, token_hash, created_at) VALUES
        ('{id}', '{id}', 'Nightly', 'ops', 'first', {now}), ('{second}', '{id}', 'x', 'member', 'second', {now})
    """,
)


@on_both
def test_accounts_go_forward_and_nobody_gains_by_going_back(unmigrated: Flask) -> None:
    """On SQLite tables are made anew, and the sessions, links and tokens that refer to people must survive it."""
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0004")
        values = {"id": new_id().hex, "second": new_id().hex, "now": "CURRENT_TIMESTAMP"}
        do(engine, *(statement.format(**values) for statement in _FILL_ACCOUNTS))
        flask_migrate.upgrade(revision="0005")
        assert found(engine, "SELECT name, scope, user_id, expires_at, revoked_at FROM api_tokens ORDER BY name") == [
            ("Nightly", "ops", None, None, None),
            ("x", "write", None, None, None),
        ]
        # Nobody knows when it was last used, so it does not end as one that was not.
        assert found(
            engine, "SELECT via, authenticated_at = created_at, last_seen_at >= expires_at FROM user_sessions"
        ) == [("password", True, True)]
        assert found(engine, "SELECT email, last_signed_in_at IS NULL FROM users ORDER BY email") == [
            ("ana@x", False),
            ("bo@x", True),
        ]
        assert found(engine, "SELECT token_hash FROM sign_in_links") == [("link",)]
        do(
            engine,
            "UPDATE users SET role = 'operator' WHERE email = 'ana@x'",
            "UPDATE users SET role = 'viewer' WHERE email = 'bo@x'",
            "UPDATE api_tokens SET scope = 'upload' WHERE name = 'x'",
        )
        flask_migrate.downgrade(revision="0004")
        assert found(engine, "SELECT email, role, disabled_at IS NULL FROM users ORDER BY email") == [
            ("ana@x", "ops", True),
            ("bo@x", "member", False),
        ]
        assert found(engine, "SELECT name, role, revoked_at IS NULL FROM api_tokens ORDER BY name") == [
            ("Nightly", "ops", True),
            ("x", "member", False),
        ]
        assert found(engine, "SELECT token_hash FROM user_sessions") == [("session",)]
        with pytest.raises(sa.exc.IntegrityError):
            do(engine, "UPDATE users SET role = 'viewer'")
        flask_migrate.upgrade()
        assert found(engine, "SELECT token_hash FROM user_sessions") == [("session",)]
        for refused in ("UPDATE users SET role = 'king'", "UPDATE api_tokens SET scope = 'all'"):
            with pytest.raises(sa.exc.IntegrityError):
                do(engine, refused)


_LARGE_DOCUMENT = """
INSERT INTO documents (id, org_id, filename, content_type, size_bytes, sha256, blob_path, status, created_at,
    updated_at)
SELECT '{id}', id, 'b', 'text/plain', 5000000000, '{hash}', 'b', 'PROCESSING', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP
FROM orgs
"""
_DOCUMENTS = "SELECT id, size_bytes, sha256 FROM documents ORDER BY size_bytes"


@on_both
def test_what_is_stored_already_is_counted(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0006")
        with engine.begin() as connection:
            fill_states(connection)
        do(engine, _LARGE_DOCUMENT.format(id="a" * 32, hash="b" * 64))
        documents = found(engine, _DOCUMENTS)
        for _ in range(2):
            flask_migrate.upgrade(revision="0007")
            assert found(engine, "SELECT sum(stored_bytes) FROM org_usage") == [(5_000_000_001,)]
            assert found(engine, _DOCUMENTS) == documents
            flask_migrate.downgrade(revision="0006")
            assert not {"org_usage", "query_embeddings"} & set(sa.inspect(engine).get_table_names())
            assert found(engine, _DOCUMENTS) == documents


_FILL_CHUNK = """
INSERT INTO chunks (id, org_id, document_id, ordinal, text, text_sha256, created_at)
VALUES ('{chunk}', '{id}', '{id}', {ordinal}, '{text}', 'a', CURRENT_TIMESTAMP)
"""
_FILL_CONNECTION = """
INSERT INTO connections (source_chunk_id, target_chunk_id, kind, org_id, score, created_at)
VALUES ('{source}', '{target}', 'near_duplicate', '{id}', 1, CURRENT_TIMESTAMP)
"""


@on_both
def test_connections_of_passages_that_say_nothing_go_and_the_passages_stay(unmigrated: Flask) -> None:
    texts = ["* * *", "…", "Rye", "Рожь", "* * *", "٣"]
    chunks = [new_id().hex for _ in texts]
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0007")
        with engine.begin() as connection:
            one = fill_document(connection)
            for ordinal, (chunk, text) in enumerate(zip(chunks, texts, strict=True)):
                values = {"chunk": chunk, "id": one, "ordinal": ordinal, "text": text}
                connection.exec_driver_sql(_FILL_CHUNK.format(**values))
            for source, target in ((0, 4), (1, 2), (3, 0), (2, 3), (5, 3)):
                ends = {"source": chunks[source], "target": chunks[target]}
                connection.exec_driver_sql(_FILL_CONNECTION.format(id=one, **ends))
        flask_migrate.upgrade()
        left = found(engine, "SELECT source_chunk_id, target_chunk_id FROM connections")
        assert len(found(engine, "SELECT id FROM chunks")) == len(texts)
    ends_left = {tuple(str(end).replace("-", "") for end in row) for row in left}
    assert ends_left == {(chunks[2], chunks[3]), (chunks[5], chunks[3])}


_TIMES = {"due": "'2020-01-01 00:00:00.000'", "delayed": "'2999-01-01 00:00:00.000'", "waiting": "NULL"}
_WAKES = "SELECT wakes_at IS NULL, available_at IS NULL FROM document_processing_jobs ORDER BY stage"
_WAITING = "SELECT CAST(wakes_at AS text) FROM document_processing_jobs WHERE stage = 'waiting'"


@on_both
def test_delayed_and_waiting_jobs_get_the_time_at_which_they_wake(unmigrated: Flask) -> None:
    """Stage by stage: a job that is due has none, one that waits for a run has one far away."""
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0008")
        with engine.begin() as connection:
            one = fill_document(connection)
            for stage, time in _TIMES.items():
                fill_job(connection, one, stage)
                change = f"UPDATE document_processing_jobs SET available_at = {time} WHERE stage = '{stage}'"
                connection.exec_driver_sql(change)
        for _ in range(2):
            flask_migrate.upgrade()
            assert found(engine, _WAKES) == [(False, False), (True, False), (False, True)], "delayed, due, waiting"
            assert str(found(engine, _WAITING)[0][0]).startswith(("9000-01-01", "8999-12-31"))
            flask_migrate.downgrade(revision="0008")
            columns = {column["name"] for column in sa.inspect(engine).get_columns("document_processing_jobs")}
            assert "wakes_at" not in columns
            assert len(found(engine, "SELECT id FROM document_processing_jobs")) == len(_TIMES)
