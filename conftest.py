"""How the suite is ordered, and what it needs: for every test, whatever room it belongs to.

Fast tests come first (`make quick` runs no others), then those that are slow by nature; both share
all the workers of `pytest -n`. Heavy ones (alone, journey, browser) come last and one at a time, on
one worker: they start processes of their own, and a deadline that two of them fight over says nothing.
"""

import os

import hypothesis
import pytest

from tests.chromium import find_chromium
from tests.emulators import accounts, azurite

pytest_plugins = ["tests.emulators.fixtures"]

# A developer's own settings (a real database, a real key) are no business of the tests' processes.
os.environ["FLASK_SKIP_DOTENV"] = "1"
for name in ("DATABASE_URL", "DATABASE_OWNER_URL", "DATA_DIR", "EXECUTION", "HOST", "PORT", "SECRET_KEY"):
    os.environ.pop(name, None)
accounts.take(os.environ)

# How long one example takes says more about the machine than about the code; pytest-timeout watches the whole.
hypothesis.settings.register_profile("docmill", deadline=None)
hypothesis.settings.load_profile("docmill")

HEAVY = ("alone", "journey", "browser")
NO_BROWSER = "no Chromium: install chromium, or set CHROMIUM to its path"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests, leave the live ones out unless they were asked for, and check for a browser."""
    if "live" not in config.option.markexpr:
        _leave_out(config, items, "live")
    for item in items:
        if _has(item, *HEAVY):
            item.add_marker(pytest.mark.xdist_group("heavy"))
        elif _has(item, "azurite"):
            # It takes a second to start: one worker's is enough.
            item.add_marker(pytest.mark.xdist_group("azurite"))
    items.sort(key=lambda item: (_has(item, *HEAVY), _has(item, "slow")))
    _need_browser([item for item in items if item.get_closest_marker("browser")])
    _need_azurite([item for item in items if item.get_closest_marker("azurite")])


def _has(item: pytest.Item, *markers: str) -> bool:
    return any(item.get_closest_marker(name) for name in markers)


def _leave_out(config: pytest.Config, items: list[pytest.Item], marker: str) -> None:
    out = [item for item in items if item.get_closest_marker(marker)]
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=out)


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
    except azurite.NoAzurite as error:
        if os.environ.get("REQUIRE_AZURITE") == "1":
            raise pytest.UsageError(f"REQUIRE_AZURITE=1, but {error}") from error
        for item in items:
            item.add_marker(pytest.mark.skip(reason=str(error)))
