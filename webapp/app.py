"""Builds the application: database, providers, pages, error pages; nothing else."""

from functools import partial
from pathlib import Path

from flask import Flask

from webapp.config import Settings
from webapp.db import db, init_database
from webapp.db.refusals import report_refusals
from webapp.statistics import incidents
from webapp.statistics.incidents import IncidentName
from webapp.web import register_pages
from webapp.wiring import wire

_ROOT = Path(__file__).resolve().parent.parent


def create_app(settings: Settings | None = None) -> Flask:
    """The Flask application for these settings (by default: those of the environment)."""
    settings = settings or Settings.from_environment()
    app = Flask(__name__, template_folder=str(_ROOT / "templates"), static_folder=str(_ROOT / "static"))
    app.config["SECRET_KEY"] = settings.secret_key or None
    init_database(app, settings)
    with app.app_context():
        report_refusals(db.engine, partial(incidents.record, IncidentName.FOREIGN_KEY_VIOLATION))
    app.extensions["docmill"] = wire(settings)
    register_pages(app, settings)
    return app
