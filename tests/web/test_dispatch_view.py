"""What ops and `flask doctor` see of Redis, the relay and the offers."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from flask import Flask

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.redis_server import RedisServer, running_redis
from webapp.app import create_app
from webapp.jobs.dispatch.bullmq.queues import Offer
from webapp.web.ops import dispatch_view
from webapp.wiring import bull_queues

pytestmark = [pytest.mark.redis, pytest.mark.slow]
JSON, HTML = {"Accept": "application/json"}, {"Accept": "text/html"}


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
def app(postgresql_database: DatabaseUnderTest, redis: RedisServer, tmp_path: Path) -> Iterator[Flask]:
    url = postgresql_database.url
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=url, QUEUE="bullmq", REDIS_URL=redis.url))
    yield app
    if dispatch_view._QUEUES in app.extensions:
        app.extensions[dispatch_view._QUEUES].client.close()
    dispose(app)


def _token(app: Flask) -> dict[str, str]:
    made = app.test_cli_runner().invoke(args=["tokens", "create", "--org", "Acme", "--role", "ops"])
    return {"Authorization": f"Bearer {made.stdout.strip()}"}


def _page(app: Flask, token: dict[str, str]) -> str:
    answer = app.test_client().get("/ops", headers={**HTML, **token})
    assert answer.status_code == 200
    return answer.text


def test_ops_see_the_relay_and_the_offers(app: Flask, request: pytest.FixtureRequest) -> None:
    token = _token(app)
    settings = app.extensions["docmill"].settings
    queues = bull_queues(settings)
    request.addfinalizer(queues.client.close)
    queues.offer([Offer.of("analyze", uuid4(), uuid4(), uuid4()) for _ in range(3)])
    expected = {"queue": "bullmq", "redis": "ok", "relay": "host:77:a-worker", "waiting": 3, "active": 0}
    queues.look("host:77:a-worker")
    shown = app.test_client().get("/ops", headers={**JSON, **token}).get_json()["dispatch"]
    assert shown == expected
    queues.look("host:77:a-worker")
    page = _page(app, token)
    assert "Jobs are offered through BullMQ" in page
    assert "3 waiting, 0 taken" in page
    queues.look("host:77:a-worker")
    doctor = app.test_cli_runner().invoke(args=["doctor"])
    assert "redis: ok (relay: host:77:a-worker; offers: 3 waiting, 0 taken)" in doctor.stdout
    assert "QUEUE=bullmq" in doctor.stdout


def test_a_redis_that_is_away_is_said_and_pages_go_on(app: Flask, redis: RedisServer) -> None:
    token = _token(app)
    redis.kill()
    assert app.test_client().get("/ops", headers={**JSON, **token}).get_json()["dispatch"]["redis"] == "away"
    assert "Redis is away" in _page(app, token)
    assert app.test_client().get("/documents", headers={**JSON, **token}).status_code == 200
    doctor = app.test_cli_runner().invoke(args=["doctor"])
    assert "redis: Redis is away; workers claim jobs from the database" in doctor.stdout
    assert doctor.exit_code == 1


def test_a_redis_without_a_relay_is_said(app: Flask) -> None:
    assert "No worker offers jobs through BullMQ" in _page(app, _token(app))
    doctor = app.test_cli_runner().invoke(args=["doctor"])
    assert "redis: no worker is the relay; workers claim jobs from the database" in doctor.stdout


def test_without_bullmq_there_is_nothing_to_see(postgresql_database: DatabaseUnderTest, tmp_path: Path) -> None:
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=postgresql_database.url))
    token = _token(app)
    assert app.test_client().get("/ops", headers={**JSON, **token}).get_json()["dispatch"] is None
    assert "BullMQ" not in _page(app, token)
    assert "redis:" not in app.test_cli_runner().invoke(args=["doctor"]).stdout
    dispose(app)
