"""A database and an application on it that has nothing else: light, for the tests' own processes, too."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flask import Flask

from webapp.config import Settings
from webapp.db import db, init_database

# Tests ask more often than people do; those that are about the limits set them.
AS_FAST_AS_IT_GOES = dict.fromkeys(("RATE_REQUESTS", "RATE_POLLS", "RATE_UPLOADS", "RATE_SEARCHES", "RATE_LINKS"), "0")


@dataclass(frozen=True)
class DatabaseUnderTest:
    """A fresh, migrated database, and the URLs under which product and tests reach it."""

    name: str
    url: str
    owner_url: str
    superuser_url: str | None = None

    def environment(self, data_dir: Path, **more: str) -> dict[str, str]:
        """Variables with which a process of the product runs on it."""
        return {"DATABASE_URL": self.url, "DATA_DIR": str(data_dir), **AS_FAST_AS_IT_GOES, **more}


def settings_for(data_dir: Path, **variables: str) -> Settings:
    """Settings from these variables and nothing else: the tests' own environment plays no part."""
    given = {"DATA_DIR": str(data_dir), "SECRET_KEY": "a key for tests only", **AS_FAST_AS_IT_GOES, **variables}
    return Settings.from_environment(given)


def changed(settings: Settings, group: str, **fields: Any) -> Settings:
    """The same settings but for these of a group: `changed(settings, "queue", poll_seconds=600)`."""
    return replace(settings, **{group: replace(getattr(settings, group), **fields)})


def make_bare_app(settings: Settings) -> Flask:
    """An application that has its database and nothing else."""
    app = Flask("webapp")
    init_database(app, settings)
    return app


def dispose(app: Flask) -> None:
    """Close the connections that the application holds."""
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
