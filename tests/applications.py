"""Applications that the tests of one worker use one after the other.

To build one, compile its templates and its statements, and warm its connections costs more than
most tests do. So one is kept for each database and each choice of settings; between two tests it
gets new services and an empty database, and a test that left anything else behind on
it is told so. A test that changes the application itself (routes, hooks, listeners) makes its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from jinja2.bccache import Bucket, BytecodeCache
from sqlalchemy import Engine, event, make_url

from tests.bare import dispose, make_bare_app
from webapp.app import create_app
from webapp.config import Settings
from webapp.db import db
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.opener import LocalOpener
from webapp.providers.local.pictures import LocalPictures
from webapp.services import Services
from webapp.web.ops.health import Readiness
from webapp.wiring import wire

# What a parser of a test may take.
MEMORY_MB = 512


class Client(FlaskClient):
    """Reads and closes each answer, as gunicorn does; not with `buffered=False`."""

    def open(self, *args: Any, buffered: bool = True, **more: Any) -> Any:
        return super().open(*args, buffered=buffered, **more)


@dataclass
class Keeper:
    """The applications of one worker of the test run, and the processes of their parsers."""

    extractor: LocalExtractor = field(default_factory=lambda: LocalExtractor(memory_mb=MEMORY_MB))
    pictures: LocalPictures = field(default_factory=LocalPictures)
    opener: LocalOpener = field(default_factory=LocalOpener)
    _apps: dict[tuple[str, Settings], Flask] = field(default_factory=dict)
    _traits: dict[Flask, list[Any]] = field(default_factory=dict)

    def bare(self, settings: Settings) -> Flask:
        """The database alone."""
        app = self._kept("bare", settings, make_bare_app)
        app.config["DOCMILL_SETTINGS"] = settings
        return app

    def whole(self, settings: Settings) -> Flask:
        """Everything, with services of these settings that nobody has used."""
        app = self._kept("whole", settings, create_app)
        app.testing, app.test_client_class = True, Client
        app.config["DOCMILL_SETTINGS"] = settings
        app.extensions["docmill"] = self._services(settings)
        app.extensions["docmill_readiness"] = Readiness()
        return app

    def take_back(self, app: Flask) -> None:
        """After a test: as it was before, or the next one gets another."""
        with app.app_context():
            db.session.remove()
        if self._traits[app] != _traits(app):
            self.forget(app)
            raise AssertionError("the test left something on an application that others use: `own_app` is its own")

    def forget(self, app: Flask) -> None:
        """Build another one next time."""
        self._apps = {key: kept for key, kept in self._apps.items() if kept is not app}
        del self._traits[app]
        dispose(app)

    def close_connections(self, database_url: str) -> None:
        """All that are idle, so that the database can be replaced."""
        for engine in self._engines(database_url):
            engine.dispose()

    def backends(self, database_url: str) -> list[int]:
        """The PostgreSQL processes behind connections that lie idle in a pool and may be used again."""
        return [pid for engine in self._engines(database_url) for pid in _idle(engine)]

    def close(self) -> None:
        """The test run is over."""
        for app in self._apps.values():
            dispose(app)
        self.extractor.close()
        self.pictures.close()
        self.opener.close()

    def _kept(self, kind: str, settings: Settings, make: Callable[[Settings], Flask]) -> Flask:
        # Where things lie differs from test to test, and nothing of the application depends on it.
        key = (kind, replace(settings, data_dir=Path("/")))
        if key not in self._apps:
            app = self._apps[key] = make(settings)
            _wait_for_no_disk(app)
            self._traits[app] = _traits(app)
        return self._apps[key]

    def _services(self, settings: Settings) -> Services:
        services = wire(settings)
        if settings.parsers.extract_memory_mb != MEMORY_MB:
            return services
        own = replace(services.providers, extractor=self.extractor, artist=self.pictures, opener=self.opener)
        return replace(services, providers=own)

    def _engines(self, database_url: str) -> Iterator[Engine]:
        wanted = make_url(database_url)
        for app in self._apps.values():
            with app.app_context():
                if db.engine.url.set(drivername=wanted.drivername) == wanted:
                    yield db.engine


class CompiledTemplates(BytecodeCache):
    """Templates as the first application of this process compiled them, for all others."""

    def __init__(self) -> None:
        self._compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._compiled:
            bucket.bytecode_from_string(self._compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._compiled[bucket.key] = bucket.bytecode_to_string()


def _wait_for_no_disk(app: Flask) -> None:
    """Power does not fail here; what a process that ends leaves behind is the same."""
    with app.app_context():
        engine = db.engine
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", lambda connection, record: connection.execute("PRAGMA synchronous=OFF"))


def _traits(app: Flask) -> list[Any]:
    """What a test could change for the tests after it."""
    ours = {"docmill", "docmill_readiness"}
    with app.app_context():
        dispatch = db.engine.dispatch
        listeners = [list(getattr(dispatch, name)) for name in ("before_cursor_execute", "begin", "commit", "rollback")]
    return [
        {name: value for name, value in app.config.items() if name not in {"DOCMILL_SETTINGS", "TESTING"}},
        {name: id(value) for name, value in app.extensions.items() if name not in ours},
        len(app.view_functions),
        [sum(len(found) for found in hooks.values()) for hooks in _hooks(app)],
        sorted(app.jinja_env.globals),
        sorted(app.jinja_env.filters),
        listeners,
        dict(app.extensions["docmill_upload_seats"].taken) if "docmill_upload_seats" in app.extensions else {},
    ]


def _hooks(app: Flask) -> list[dict[Any, Any]]:
    return [
        app.before_request_funcs,
        app.after_request_funcs,
        app.teardown_request_funcs,
        app.template_context_processors,
    ]


def _idle(engine: Engine) -> Iterator[int]:
    pooled = [record.dbapi_connection for record in list(engine.pool._pool.queue)]  # type: ignore[attr-defined] # QueuePool's
    for connection in pooled:
        if connection is not None and not connection.closed:
            yield connection.info.backend_pid
