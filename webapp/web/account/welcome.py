"""What a start prints: the address of the pages, and a sign-in link for the owner."""

import shlex
import sys

from flask import Flask

from webapp.accounts import links, orgs, users
from webapp.accounts.model import User
from webapp.accounts.roles import Role
from webapp.config import Settings
from webapp.db import transaction
from webapp.services import Services

FIRST_ORG = "Home"
FIRST_EMAIL = "owner@localhost"


def announce(app: Flask) -> None:
    """Say where the pages are, once the server has started.

    The embedded mode is one person's: who reads its terminal owns the machine, so a start at a
    terminal prints a fresh link that signs in once. So does every start until somebody has signed
    in, wherever its output goes. After that, output that is no terminal is a log that others may
    read, as in the workers mode: there no link is printed, only how to make one.
    """
    services: Services = app.extensions["docmill"]
    settings = services.settings
    with app.app_context():
        lines = _embedded_lines(settings) if settings.is_embedded else _workers_lines(settings)
    sys.stdout.write("\n".join(["", *lines, "", ""]))
    sys.stdout.flush()


def base_url(settings: Settings) -> str:
    """The address of the pages, as people type it."""
    server = settings.server
    if server.public_url:
        return server.public_url.rstrip("/")
    everywhere = server.host in {"0.0.0.0", "::", ""}  # noqa: S104 - compared with, not listened on
    host = "127.0.0.1" if everywhere else server.host
    return f"http://{f'[{host}]' if ':' in host else host}:{server.port}"


def new_link(user: User, settings: Settings, life_seconds: int = links.LIFE_SECONDS) -> str:
    """A link that signs this person in once; inside the caller's transaction."""
    return f"{base_url(settings)}/sign-in/{links.create(user, life_seconds)}"


def _embedded_lines(settings: Settings) -> list[str]:
    lines = [f"Docmill is ready: {base_url(settings)}"]
    with transaction(everywhere=True):
        owner = _owner()
        if owner is None:
            return lines
        if not sys.stdout.isatty() and users.has_anybody_signed_in():
            org = orgs.get(owner.org_id)
            command = f"flask --app wsgi users sign-in-link --org {shlex.quote(org.name if org else '')}"
            return [*lines, "", f"For a sign-in link: {command} --email {shlex.quote(owner.email)}"]
        link = new_link(owner, settings, links.PRINTED_LIFE_SECONDS)
    return [*lines, "", "Sign in with this link. It works once, within an hour:", link]


def _workers_lines(settings: Settings) -> list[str]:
    with transaction(everywhere=True):
        is_empty = not users.are_there_any()
    lines = [f"Docmill is ready: {base_url(settings)}"]
    command = "flask --app wsgi users create --org NAME --email ADDRESS --role operator"
    return [*lines, f"Nobody can sign in yet. Let the first person in with: {command}"] if is_empty else lines


def _owner() -> User | None:
    """Who owns a one-person installation; made on the first start."""
    if users.are_there_any():
        return users.first_ops()
    # A token may have been made before the first start: then its org is the first one.
    known = orgs.everyone()
    org = known[0] if known else orgs.create(FIRST_ORG)
    return users.create(org.id, FIRST_EMAIL, Role.OPS)
