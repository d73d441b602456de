"""A process that polls the source that is due, and kills itself, hard, at the point that it is told."""

import os
import signal
import sys
from typing import Any

from flask import Flask

from webapp.config import Settings
from webapp.db import init_database
from webapp.library.sources import ledger, taking
from webapp.library.sources.folder import FolderPlace
from webapp.library.sources.polling import poll_due
from webapp.wiring import wire


def _die_after(owner: Any, name: str) -> None:
    real = getattr(owner, name)

    def die(*given: Any, **more: Any) -> None:
        real(*given, **more)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, die)


def main(point: str) -> None:
    """Poll until death."""
    settings = Settings.from_environment()
    app = Flask("webapp")
    init_database(app, settings)
    # In the transaction of the document; after it; and when the file has been moved.
    where = {"ledger": (ledger, "take"), "take_in": (taking, "take_in"), "settle": (FolderPlace, "settle")}
    _die_after(*where[point])
    with app.app_context():
        poll_due(wire(settings))


if __name__ == "__main__":
    main(sys.argv[1])
