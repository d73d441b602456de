"""What is done from a terminal: people, tokens, jobs (job_commands), and a look at the installation.

What a command was asked for goes to the standard output; whatever else there is to say goes to
the standard error, so that `TOKEN=$(flask … tokens create …)` holds a token and nothing more.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Protocol
from uuid import UUID

import click
from flask import Flask
from flask.cli import with_appcontext
from sqlalchemy.engine import make_url

from webapp.accounts import orgs, passwords, tokens, users
from webapp.accounts.model import Org, User
from webapp.accounts.roles import Role
from webapp.accounts.users import BadEmail, EmailTaken
from webapp.config import Settings
from webapp.db import reading, transaction
from webapp.providers.errors import ProviderError
from webapp.web import document_commands, figures, health, job_commands
from webapp.web.terminal import Commands, one_line, org_named, org_option, services
from webapp.web.welcome import new_link

_users = Commands("users", help="People who sign in.")
_tokens = Commands("tokens", help="API tokens for programs.")

_role_option = click.option("--role", type=click.Choice([role.value for role in Role]), default=Role.MEMBER.value)


def register(app: Flask) -> None:
    """Make the commands known to `flask`."""
    for group in (_users, _tokens, job_commands.group, document_commands.group):
        app.cli.add_command(group)
    app.cli.add_command(_doctor)


@_users.command("create")
@org_option
@click.option("--email", required=True)
@_role_option
@click.option("--password", "asks_password", is_flag=True, help="Ask for a password instead of printing a link.")
def _create_user(org_name: str, email: str, role: str, *, asks_password: bool) -> None:
    """Add a person and print the link that signs them in once."""
    password_hash = _ask_password() if asks_password else None
    with transaction(everywhere=True):
        org = _made_org(org_name)
        try:
            user = users.create(org.id, email, Role(role), password_hash)
        except BadEmail as error:
            raise click.ClickException(f"“{email}” is no e-mail address.") from error
        except EmailTaken as error:
            raise click.ClickException(f"{email} is in “{org_name}” already.") from error
        link = None if asks_password else new_link(user, _settings())
    click.echo(f"{user.email} can sign in as {role} of “{org_name}”.", err=True)
    if link:
        _say_link(link)


@_users.command("list")
@click.option("--org", "org_name", help="Only this organisation's people.")
def _list_users(org_name: str | None) -> None:
    """List people: organisation, e-mail, role, and whether they may sign in."""
    with reading(everywhere=True):
        for org in [org_named(org_name)] if org_name else orgs.everyone():
            for user in users.of_org(org.id):
                state = "disabled" if user.disabled_at else "password" if user.password_hash else "link only"
                click.echo(f"{org.name}\t{user.email}\t{user.role}\t{state}")


@_users.command("disable")
@org_option
@click.option("--email", required=True)
def _disable_user(org_name: str, email: str) -> None:
    """Shut a person out at once; what they uploaded stays."""
    with transaction(everywhere=True):
        users.disable(_user(org_name, email))
    click.echo(f"{email} cannot sign in to “{org_name}” any more.", err=True)


@_users.command("enable")
@org_option
@click.option("--email", required=True)
def _enable_user(org_name: str, email: str) -> None:
    """Let a person in again who was shut out."""
    with transaction(everywhere=True):
        users.enable(_user(org_name, email))
    click.echo(f"{email} can sign in to “{org_name}” again.", err=True)


@_users.command("sign-in-link")
@org_option
@click.option("--email", required=True)
def _sign_in_link(org_name: str, email: str) -> None:
    """Print a link that signs a person in once: for a forgotten password."""
    with transaction(everywhere=True):
        user = _user(org_name, email)
        if user.disabled_at:
            raise click.ClickException(f"{email} is disabled.")
        link = new_link(user, _settings())
    _say_link(link)


@_tokens.command("create")
@org_option
@_role_option
@click.option("--name", default="command line", show_default=True, help="What the token is for.")
def _create_token(org_name: str, role: str, name: str) -> None:
    """Make a token and print it, alone. An organisation that does not exist yet is made."""
    with transaction(everywhere=True):
        text = tokens.create(_made_org(org_name).id, name, Role(role))
    click.echo(text)


@_tokens.command("list")
@org_option
def _list_tokens(org_name: str) -> None:
    """List tokens that open the door: id, how they begin, role, last use, name."""
    with reading(everywhere=True):
        for token in tokens.of_org(org_named(org_name).id):
            used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never used"
            click.echo(f"{token.id}\t{tokens.mark(token.id)}…\t{token.role}\t{used}\t{token.name}")


@_tokens.command("revoke")
@org_option
@click.argument("token_id", type=click.UUID)
def _revoke_token(org_name: str, token_id: UUID) -> None:
    """End a token for good."""
    with transaction(everywhere=True):
        ended = tokens.revoke(org_named(org_name).id, token_id)
    if ended is None:
        raise click.ClickException(f"“{org_name}” has no token {token_id}.")
    click.echo("Revoked.", err=True)


@click.command("doctor")
@with_appcontext
def _doctor() -> None:
    """Look at settings (secrets left out), database, tables, files and model."""
    _show_settings()
    failed = health.failures()
    for name in health.CHECKS:
        click.echo(f"{name}: {failed.get(name, 'ok')}")
    well = [_show_provider(role, provider) for role, provider in _providers()]
    if not failed:
        _show_work()
    if failed or not all(well):
        raise SystemExit(1)


def _show_settings() -> None:
    settings = _settings()
    shown = {item.name: getattr(settings, item.name) for item in fields(Settings) if item.repr}
    # The password is left out; the rest of the address says which database it is.
    shown["database_url"] = make_url(settings.database_url).render_as_string(hide_password=True)
    for name, value in sorted(shown.items()):
        click.echo(f"{name.upper()}={'' if value is None else value}")


class _Asked(Protocol):
    """What all providers have in common."""

    name: str

    def check(self) -> None: ...


def _providers() -> Iterator[tuple[str, _Asked]]:
    used = services().providers
    if used.slow_extractor is not None:
        yield "extraction", used.slow_extractor
    yield ("extraction" if used.slow_extractor is None else "extraction of the rest"), used.extractor
    yield "embeddings", used.embedder
    if used.speech is not None:
        yield "speech", used.speech.recogniser
        yield "analysis", used.speech.analyst


def _show_provider(role: str, provider: _Asked) -> bool:
    try:
        provider.check()
    except ProviderError as error:
        click.echo(f"{role}: {one_line(error.message)}")
        return False
    click.echo(f"{role}: ok ({provider.name})")
    return True


def _show_work() -> None:
    settings = _settings()
    with reading(everywhere=True):
        counts = services().queue.counts()
        found = figures.workers(4 * settings.heartbeat_seconds)
    click.echo("jobs: " + ", ".join(f"{number} {status.lower()}" for status, number in counts.items()))
    alive = [worker for worker in found if worker.alive]
    if not alive:
        click.echo("workers: none is at work")
    for worker in alive:
        kind = "embedded host" if settings.is_embedded else "worker"
        click.echo(f"{kind}: process {worker.pid} on {worker.host}, last seen {worker.last_seen:%H:%M:%S} UTC")


def _ask_password() -> str:
    password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    if not passwords.is_acceptable(password):
        raise click.ClickException(f"A password has {passwords.LENGTH_MIN} characters or more.")
    return passwords.hash_password(password)


def _made_org(name: str) -> Org:
    if not name.strip() or not name.isprintable():
        raise click.ClickException("An organisation needs a name that can be read.")
    org, is_new = orgs.named(name.strip())
    if is_new:
        click.echo(f"Organisation “{org.name}” was made.", err=True)
    return org


def _user(org_name: str, email: str) -> User:
    found = users.find(org_named(org_name).id, email)
    if found is None:
        raise click.ClickException(f"“{org_name}” has nobody with the address {email}.")
    return found


def _say_link(link: str) -> None:
    click.echo("Open this link to sign in. It works once, within a day:", err=True)
    click.echo(link)


def _settings() -> Settings:
    return services().settings
