"""What the commands share: naming an organisation, words that a terminal may be shown, and the services."""

from typing import Any

import click
from flask import current_app
from flask.cli import AppGroup, ScriptInfo

from webapp.accounts import orgs
from webapp.accounts.model import Org
from webapp.db import schema_is_current
from webapp.db.errors import DATABASE_ERRORS, Trouble, trouble_of
from webapp.services import Services

_TROUBLES = {
    Trouble.AWAY: "The database does not answer. Nothing more was done.",
    Trouble.BUSY: "The database is too busy right now. Try again in a moment.",
    Trouble.FULL: "The database has no room left. Nothing more can be stored until somebody makes some.",
}

org_option = click.option("--org", "org_name", required=True, help="The organisation's name.")

# Who did it, where the timeline and the log ask for a name.
NAME = "command line"


class Commands(AppGroup):
    """Commands that say in one sentence what trouble they have with the database."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run one of them."""
        try:
            return super().invoke(ctx)
        except DATABASE_ERRORS as error:
            trouble = trouble_of(error)
            if trouble is not None:
                raise click.ClickException(_TROUBLES[trouble]) from error
            if not _has_tables(ctx):
                raise click.ClickException(
                    "The tables are not this version's. Run first: flask --app wsgi db upgrade"
                ) from error
            raise


def org_named(name: str) -> Org:
    """The organisation of this name, inside an open transaction."""
    found = orgs.by_name(name.strip())
    if found is None:
        raise click.ClickException(f"There is no organisation “{name}”.")
    return found


def one_line(text: str) -> str:
    """What came out of a file or a service must neither break lines nor speak to the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def services() -> Services:
    """The settings, the queue and the providers of this application."""
    found: Services = current_app.extensions["docmill"]
    return found


def _has_tables(ctx: click.Context) -> bool:
    with ctx.ensure_object(ScriptInfo).load_app().app_context():
        return schema_is_current()
