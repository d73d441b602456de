"""0014 and 0015: failures of earlier runs are superseded, the others are open with their code, and no row is lost."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import connections, do, found, on_both
from tests.migrations.filled import Filled, fill_document, fill_job
from tests.migrations.schema import schema_of
from webapp.clock import new_id

_LOG = """[{"code": "corrupt", "message": "a"}, {"code": "timed_out", "message": "b"}]"""
_RUN = """
INSERT INTO processing_runs (id, org_id, document_id, state, trigger, created_at)
SELECT '{run}', org_id, document_id, 'QUEUED', 'RETRY', '2099-01-01 00:00:00.000' FROM processing_runs WHERE id = '{id}'
"""
_OUTCOMES = "SELECT stage, status, error_code, resolution FROM document_processing_jobs ORDER BY stage, id"


@on_both
def test_failures_go_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0013")
        with engine.begin() as connection:
            one = fill_document(connection)
            for stage, status in (
                ("a", "FAILED"),
                ("b", "FAILED"),
                ("b", "COMPLETED"),
                ("c", "FAILED"),
                ("d", "PENDING"),
            ):
                fill_job(connection, one, stage, status)
            connection.execute(
                sa.text("UPDATE document_processing_jobs SET error_log = :log WHERE stage = 'a'"), {"log": _LOG}
            )
            filled = Filled(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        assert found(engine, _OUTCOMES) == [
            ("a", "FAILED", "timed_out", None),
            ("b", "FAILED", "unexpected", "SUPERSEDED"),  # its stage was tried again in the same run
            ("b", "COMPLETED", None, None),
            ("c", "FAILED", "unexpected", None),
            ("d", "PENDING", None, None),
        ]
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        flask_migrate.downgrade(revision="0013")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables
        do(engine, _RUN.format(run=new_id().hex, id=one))
        flask_migrate.upgrade()
        assert {row[3] for row in found(engine, _OUTCOMES) if row[1] == "FAILED"} == {"SUPERSEDED"}


@on_both
def test_impossible_rows_are_refused(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade()
        with engine.begin() as connection:
            one = fill_document(connection)
            fill_job(connection, one, "a", "FAILED")
            fill_job(connection, one, "b", "COMPLETED")
        change = "UPDATE document_processing_jobs SET {} WHERE stage = '{}'"
        now = "resolved_at = CURRENT_TIMESTAMP"
        for values, stage in (
            ("resolution = 'DISCARDED'", "a"),
            (now, "a"),
            (f"resolution = 'FORGOTTEN', {now}", "a"),
            (f"resolution = 'DISCARDED', {now}", "b"),
        ):
            with pytest.raises((sa.exc.IntegrityError, sa.exc.InternalError)):
                do(engine, change.format(values, stage))
        do(engine, change.format(f"resolution = 'DISCARDED', {now}", "a"))
