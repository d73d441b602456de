"""Workers mode with the database role that an image hands out: a superuser."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests import postgres
from tests.bare import AS_FAST_AS_IT_GOES
from tests.journeys.site import END_SECONDS, Installation
from tests.pipeline.workplace import prose
from tests.worker.bench import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(240)]

NOTICE = (
    "The database role postgres is a superuser; Docmill serves as docmill_serving, to which row-level security applies."
)


@pytest.fixture(params=["an empty database", "one migrated without the role"])
def urls(
    request: pytest.FixtureRequest, postgres_server: postgres.Server, postgres_template: str, worker_id: str
) -> Iterator[postgres.DatabaseUrls]:
    name = f"superuser_{worker_id}"
    template = postgres_template if request.param == "one migrated without the role" else None
    yield postgres_server.create_database(name, template=template)
    postgres_server.drop_database(name)


def test_honcho_start_makes_a_document_ready(urls: postgres.DatabaseUrls, tmp_path: Path) -> None:
    variables = {
        **AS_FAST_AS_IT_GOES,
        "DATABASE_URL": urls.superuser_url,
        "DATA_DIR": str(tmp_path / "data"),
        "POLL_SECONDS": "0.1",
        "WORKER_THREADS": "2",
        "EMBED_THREADS": "1",
        "WEB_CONCURRENCY": "1",
        "DRAIN_SECONDS": "5",
    }
    team = Installation(variables, tmp_path / "team.log")
    with team.running("honcho", "start", "-c", "web=1,worker=1", "-p", str(team.port)) as honcho:
        team.wait_until_ready()
        team.token = team.flask("tokens", "create", "--org", "Team", "--role", "operator")
        (document,) = team.upload({"rye.md": prose(3)})
        team.wait_for_status(document["id"], "READY")
        assert team.get("/search?q=passage")["hits"] is not None
        assert team.get("/ops")["database_role"] == NOTICE
        assert f"row security: {NOTICE}" in team.flask("doctor").splitlines()
        wait_for(lambda: team.log.read_text().count(NOTICE) >= 2, "for web and worker to say as whom they serve")
        honcho.send_signal(signal.SIGTERM)
        honcho.wait(END_SECONDS)
    assert "Traceback" not in team.log.read_text()
    with psycopg.connect(urls.superuser_url) as connection:
        connection.execute("SET ROLE docmill_serving")
        assert connection.execute("SELECT count(*) FROM documents").fetchone() == (0,)
        connection.execute("RESET ROLE")
        assert connection.execute("SELECT count(*) FROM documents WHERE status = 'READY'").fetchone() == (1,)
