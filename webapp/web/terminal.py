"""What the commands share: naming an organisation, words that a terminal may be shown, and the services."""

import click
from flask import current_app

from webapp.accounts import orgs
from webapp.accounts.model import Org
from webapp.wiring import Services

org_option = click.option("--org", "org_name", required=True, help="The organisation's name.")

# Who did it, where the timeline and the log ask for a name.
NAME = "command line"


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
    """What the rooms below work with."""
    found: Services = current_app.extensions["docmill"]
    return found
