"""What operators should know: how exposed it is, and which workers have their files elsewhere."""

import logging
from contextlib import suppress

from flask import Flask

from webapp.db.errors import DATABASE_ERRORS
from webapp.library import blob_marks
from webapp.web.access import services
from webapp.web.exposure import exposure

_log = logging.getLogger(__name__)


def installation_warnings() -> list[str]:
    """All of it, in sentences."""
    return [*exposure().warnings(), *_of_workers()]


def log_workers_elsewhere(app: Flask) -> None:
    """At the start of a web process: say which workers do not share its files."""
    with app.app_context(), suppress(*DATABASE_ERRORS):
        for warning in _of_workers():
            _log.warning(warning)


def _of_workers() -> list[str]:
    settings = services().settings
    if settings.is_embedded:
        return []
    found = blob_marks.workers_elsewhere(services().providers.blobs, settings.queue.worker_silent_seconds)
    return [each.warning for each in found]
