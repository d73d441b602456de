"""The settings of BullMQ and Redis: what is refused, and that no password is shown."""

import sys
from pathlib import Path

import pytest

from tests.bare import settings_for
from webapp.config import SettingsError
from webapp.config.dispatch import QueueKind
from webapp.wiring import bull_queues

POSTGRESQL = {"DATABASE_URL": "postgresql://app@db/docmill"}
GOOD = {**POSTGRESQL, "QUEUE": "bullmq", "REDIS_URL": "redis://:swordfish@redis.example.com:6380/0"}


def test_the_database_feeds_the_workers_unless_settings_say_otherwise(tmp_path: Path) -> None:
    settings = settings_for(tmp_path).dispatch
    assert (settings.queue, settings.uses_bullmq, settings.redis_prefix) == (QueueKind.DATABASE, False, "{docmill}")


def test_bullmq_is_used_where_it_is_asked_for(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, **GOOD)
    assert settings.dispatch.uses_bullmq
    assert settings.dispatch.redis_host == "redis.example.com:6380"
    assert "swordfish" not in repr(settings)


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"QUEUE": "bullmq"}, "QUEUE=bullmq needs PostgreSQL and worker processes"),
        ({**GOOD, "EXECUTION": "embedded"}, "QUEUE=bullmq needs PostgreSQL and worker processes"),
        ({**GOOD, "REDIS_URL": ""}, "QUEUE=bullmq needs REDIS_URL"),
        ({**GOOD, "REDIS_URL": "http://:swordfish@redis"}, "REDIS_URL is no address"),
        ({**GOOD, "REDIS_URL": "redis://"}, "REDIS_URL is no address"),
        ({**GOOD, "REDIS_URL": "redis://:swordfish@host:port"}, "REDIS_URL is no address"),
        ({**GOOD, "REDIS_PREFIX": "a b"}, "REDIS_PREFIX has letters"),
        ({**GOOD, "QUEUE": "rabbit"}, "QUEUE='rabbit' is not known"),
    ],
)
def test_what_cannot_be_right_is_refused(tmp_path: Path, variables: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError) as refused:
        settings_for(tmp_path, **variables)
    assert sentence in str(refused.value)
    assert "swordfish" not in str(refused.value)


@pytest.mark.parametrize("missing", ["bullmq", "redis"])
def test_a_missing_package_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    for module in [name for name in sys.modules if name.startswith("webapp.jobs.dispatch.bullmq")]:
        monkeypatch.delitem(sys.modules, module)
    for module in [name for name in sys.modules if name == missing or name.startswith(f"{missing}.")]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SettingsError, match=r"pip install -r requirements-bullmq\.txt"):
        bull_queues(settings_for(tmp_path, **GOOD))
