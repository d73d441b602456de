"""The migration of the ledger: no line of what was paid for is lost, forward or back."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.test_migrations import _FILL, _see_everything, on_both, unmigrated  # noqa: F401 - a fixture
from webapp.clock import new_id

_FILL_CALL = """
INSERT INTO provider_calls (id, org_id, run_id, provider, operation, units, seconds, outcome, reused, price, created_at)
VALUES ('{call}', '{id}', {run}, 'openai', 'embed', 16, 0.25, '{outcome}', {reused}, 0.5, {now})
"""


@on_both
def test_a_ledger_keeps_every_line_and_outlives_its_documents(unmigrated: Flask) -> None:  # noqa: F811 - it is asked for
    with unmigrated.app_context():
        flask_migrate.upgrade(revision="0003")
        engine = sa.create_engine(unmigrated.config["DOCMILL_SETTINGS"].database_owner_url, poolclass=sa.NullPool)
        sa.event.listen(engine, "connect", _see_everything)
        one = new_id().hex
        with engine.begin() as connection:
            for statement in _FILL:
                connection.exec_driver_sql(statement.format(id=one, hash=one * 2, now="CURRENT_TIMESTAMP"))
            for outcome, run in (("ok", f"'{one}'"), ("unknown", f"'{one}'"), ("error", "NULL")):
                values = {"call": new_id().hex, "id": one, "run": run, "outcome": outcome, "now": "CURRENT_TIMESTAMP"}
                connection.exec_driver_sql(_FILL_CALL.format(reused="false", **values))
        before = _lines(engine)
        assert len(before) == 3
        flask_migrate.upgrade()
        assert _lines(engine) == before
        with engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM documents")
        assert _lines(engine) == before, "the document is gone, and its runs with it"
        # An older version has no lines without a run's row: they lose its id, and nothing else.
        flask_migrate.downgrade(revision="0003")
        assert [line[:2] + line[3:] for line in _lines(engine)] == [line[:2] + line[3:] for line in before]
        flask_migrate.upgrade()
        assert len(_lines(engine)) == 3
        with engine.connect() as connection, pytest.raises(sa.exc.IntegrityError):
            connection.exec_driver_sql("UPDATE provider_calls SET outcome = 'free'")
        engine.dispose()


def _lines(engine: sa.Engine) -> list[tuple[object, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql("SELECT * FROM provider_calls ORDER BY id")]
