"""How the suite is ordered, and what it needs: for every test, whatever room it belongs to.

Fast tests come first (`make quick` runs no others), then those that are slow by nature; both share
all the workers of `pytest -n`, and so do the journeys, which come last. What is marked alone or
browser stays with one worker, one test at a time: deadlines that two of them fight over say nothing,
and one Chromium is enough.
"""

import gc
import os

import hypothesis
import pytest

from tests.chromium import find_chromium
from tests.emulators import accounts, azurite, nodejs
from tests.pace import mark_slow, pytest_addoption, pytest_configure  # noqa: F401 - these two for pytest
from tests.redis_server import need_redis

pytest_plugins = ["tests.emulators.fixtures"]

# A developer's own settings (a real database, a real key) are no business of the tests' processes.
os.environ["FLASK_SKIP_DOTENV"] = "1"
for name in ("DATABASE_URL", "DATABASE_OWNER_URL", "DATA_DIR", "EXECUTION", "HOST", "PORT", "SECRET_KEY"):
    os.environ.pop(name, None)
accounts.take(os.environ)

# How long one example takes says more about the machine than about the code; pytest-timeout watches the whole.
hypothesis.settings.register_profile("docmill", deadline=None)
hypothesis.settings.load_profile("docmill")

HEAVY = ("alone", "browser", "journey")
# What starts something that is enough for all of its tests, or needs the machine.
GROUPS = ("alone", "browser", "azurite")
NO_BROWSER = "no Chromium: install chromium, or set CHROMIUM to its path"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests, leave the live ones out unless they were asked for, and check for what some need."""
    _leave_out_redis_without_postgresql(items)
    if "live" not in config.option.markexpr:
        _leave_out(config, items, "live")
    mark_slow(config, items)
    for item in items:
        for name in GROUPS:
            if _has(item, name) and not _has(item, "xdist_group", "journey"):
                item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=_turn)
    if getattr(config.option, "loadgroup", False):
        _tell_the_scheduler(items)
    _need_browser([item for item in items if item.get_closest_marker("browser")])
    _need_azurite([item for item in items if item.get_closest_marker("azurite")])
    need_redis([item for item in items if item.get_closest_marker("redis")])


def pytest_collection_finish() -> None:
    """All modules and tests stay to the end: no collection should look through them for garbage."""
    gc.collect()
    gc.freeze()


def _turn(item: pytest.Item) -> tuple[bool, int]:
    """Long groups before what can be dealt out one by one."""
    order = [_has(item, name) for name in HEAVY]
    return (_has(item, "slow", *HEAVY), order.index(True) if any(order) else -1)


def _tell_the_scheduler(items: list[pytest.Item]) -> None:
    """pytest-xdist 3.8 adds the group to an attribute that pytest no longer reads; tests/guards looks."""
    for item in items:
        for group in item.iter_markers("xdist_group"):
            item._id = type(item._id).parse(f"{item.nodeid}@{group.args[0]}")  # noqa: SLF001 - see above


def _has(item: pytest.Item, *markers: str) -> bool:
    return any(item.get_closest_marker(name) for name in markers)


def _leave_out(config: pytest.Config, items: list[pytest.Item], marker: str) -> None:
    out = [item for item in items if item.get_closest_marker(marker)]
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=out)


def _leave_out_redis_without_postgresql(items: list[pytest.Item]) -> None:
    """BullMQ is in front of PostgreSQL only, so there is no such test on SQLite."""
    items[:] = [item for item in items if not (_has(item, "redis") and _param(item, "database") == "sqlite")]


def _param(item: pytest.Item, name: str) -> object:
    return item.callspec.params.get(name) if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None


def _need_browser(items: list[pytest.Item]) -> None:
    if not items or find_chromium():
        return
    if os.environ.get("REQUIRE_BROWSER") == "1":
        raise pytest.UsageError(f"REQUIRE_BROWSER=1, but there is {NO_BROWSER}")
    for item in items:
        item.add_marker(pytest.mark.skip(reason=NO_BROWSER))


def _need_azurite(items: list[pytest.Item]) -> None:
    """Install it now: the first time that takes longer than a test may take."""
    if not items:
        return
    try:
        azurite.ensure()
    except nodejs.NotInstalled as error:
        if os.environ.get("REQUIRE_AZURITE") == "1":
            raise pytest.UsageError(f"REQUIRE_AZURITE=1, but {error}") from error
        for item in items:
            item.add_marker(pytest.mark.skip(reason=str(error)))
