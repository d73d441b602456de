"""What is done from a terminal: people, tokens, jobs (job_commands), and a look at the installation.

What a command was asked for goes to the standard output; whatever else there is to say goes to
the standard error, so that `TOKEN=$(flask … tokens create …)` holds a token and nothing more.
"""

from uuid import UUID

import click
from flask import Flask

from webapp.accounts import actors, audit, orgs, passwords, people, tokens, users
from webapp.accounts.audit import COMMAND_LINE, Action
from webapp.accounts.model import Org, User
from webapp.accounts.roles import PEOPLE_ROLES, SCOPE_OF_ROLE, Role, Scope
from webapp.accounts.users import BadEmail, EmailTaken
from webapp.clock import new_id
from webapp.db import reading, transaction
from webapp.library import shares
from webapp.web.account.welcome import new_link
from webapp.web.commands import doctor, document_commands, job_commands, library_commands
from webapp.web.commands.terminal import NAME, Commands, org_named, org_option, services

_users = Commands("users", help="People who sign in.")
_tokens = Commands("tokens", help="API tokens for programs.")

_email_option = click.option("--email", required=True)
_person_role = click.Choice([role.value for role in PEOPLE_ROLES])


def register(app: Flask) -> None:
    """Make the commands known to `flask`."""
    for group in (_users, _tokens, job_commands.group, document_commands.group, library_commands.group):
        app.cli.add_command(group)
    app.cli.add_command(doctor.command)


@_users.command("create")
@org_option
@_email_option
@click.option("--role", type=_person_role, default=Role.MEMBER.value, show_default=True)
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
        _note(org, Action.USER_CREATED, user, role=role)
        link = None if asks_password else new_link(user, services().settings)
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
@_email_option
def _disable_user(org_name: str, email: str) -> None:
    """Disable a person: their sessions, links and tokens end at once. What they uploaded stays."""
    with transaction(everywhere=True):
        org = org_named(org_name)
        user = _user(org, email)
        users.disable(user)
        shares.revoke_all_by(org.id, user.id)
        _note(org, Action.USER_DISABLED, user)
    click.echo(f"{email} cannot sign in to “{org_name}” any more.", err=True)


@_users.command("enable")
@org_option
@_email_option
def _enable_user(org_name: str, email: str) -> None:
    """Enable a disabled person. Their tokens stay revoked."""
    with transaction(everywhere=True):
        org = org_named(org_name)
        user = _user(org, email)
        users.enable(user)
        _note(org, Action.USER_ENABLED, user)
    click.echo(f"{email} can sign in to “{org_name}” again.", err=True)


@_users.command("role")
@org_option
@_email_option
@click.option("--role", type=_person_role, required=True)
def _change_role(org_name: str, email: str, role: str) -> None:
    """Change a person's role, from their next request on. With a higher one an open sign-in link ends."""
    with transaction(everywhere=True):
        org = org_named(org_name)
        people.one_at_a_time(org.id)
        user = _user(org, email)
        before = user.role
        users.set_role(user, Role(role))
        if role == Role.VIEWER:
            shares.revoke_all_by(org.id, user.id)
        _note(org, Action.ROLE_CHANGED, user, before=before, role=role)
    click.echo(f"{email} is {role} of “{org_name}” now.", err=True)


@_users.command("reset")
@org_option
@_email_option
def _reset_user(org_name: str, email: str) -> None:
    """Forget a person's password, end their sessions, tokens and all links, and print one that signs them in once."""
    with transaction(everywhere=True):
        org = org_named(org_name)
        user = _enabled(_user(org, email))
        users.reset(user)
        shares.revoke_all_by(org.id, user.id)
        _note(org, Action.USER_RESET, user)
        link = new_link(user, services().settings)
    _say_link(link)


@_users.command("sign-in-link")
@org_option
@_email_option
def _sign_in_link(org_name: str, email: str) -> None:
    """Print a link that signs a person in once: for a forgotten password. An earlier link of theirs ends."""
    with transaction(everywhere=True):
        org = org_named(org_name)
        user = _enabled(_user(org, email))
        _note(org, Action.LINK_CREATED, user)
        link = new_link(user, services().settings)
    _say_link(link)


@_tokens.command("create")
@org_option
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    help="What it may do, as a person of this role. Default: member.",
)
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    help="What it may do, more precisely: upload, for a scanner.",
)
@click.option("--days", type=click.IntRange(1, 36_500), help="End it after so many days. Without: it has no end date.")
@click.option("--name", default="command line", show_default=True, help="What the token is for.")
def _create_token(org_name: str, role: str | None, scope: str | None, days: int | None, name: str) -> None:
    """Make a token and print it, alone. An organisation that does not exist yet is made."""
    if role and scope:
        raise click.UsageError("Give a role or a scope, not both.")
    wanted = Scope(scope) if scope else SCOPE_OF_ROLE[Role(role or Role.MEMBER)]
    with transaction(everywhere=True):
        org = _made_org(org_name)
        token_id = new_id()
        text = tokens.create(org.id, name, wanted, days=days, token_id=token_id)
        target, details = f"token:{token_id}", {"name": name, "scope": wanted.value, "days": days}
        audit.record(org.id, COMMAND_LINE, Action.TOKEN_CREATED, target, **details)
    click.echo(text)


@_tokens.command("list")
@org_option
def _list_tokens(org_name: str) -> None:
    """List tokens that were not revoked: id, how they begin, scope, last use, end date, owner, name."""
    with reading(everywhere=True):
        org = org_named(org_name)
        found = tokens.of_org(org.id)
        owners = actors.names(org.id, [f"user:{token.user_id}" for token in found if token.user_id])
    for token in found:
        used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never used"
        ends = f"{token.expires_at:%Y-%m-%d}" if token.expires_at else "no end"
        owner = owners.get(f"user:{token.user_id}", NAME)
        click.echo("\t".join([str(token.id), f"{tokens.mark(token.id)}…", token.scope, used, ends, owner, token.name]))


@_tokens.command("revoke")
@org_option
@click.argument("token_id", type=click.UUID)
def _revoke_token(org_name: str, token_id: UUID) -> None:
    """End a token for good, and the share links that it made."""
    with transaction(everywhere=True):
        org = org_named(org_name)
        ended = tokens.revoke(org.id, token_id)
        shares.revoke_all_by_token(org.id, token_id)
        if ended is not None:
            audit.record(org.id, COMMAND_LINE, Action.TOKEN_REVOKED, f"token:{token_id}")
    if ended is None:
        raise click.ClickException(f"“{org_name}” has no token {token_id}.")
    click.echo("Revoked.", err=True)


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
        if doctor.is_operator_missing():
            click.echo(doctor.NO_OPERATOR, err=True)
    return org


def _user(org: Org, email: str) -> User:
    found = users.find(org.id, email)
    if found is None:
        raise click.ClickException(f"“{org.name}” has nobody with the address {email}.")
    return found


def _enabled(user: User) -> User:
    if user.disabled_at:
        raise click.ClickException(f"{user.email} is disabled.")
    return user


def _note(org: Org, action: Action, user: User, **details: str) -> None:
    audit.record(org.id, COMMAND_LINE, action, f"user:{user.id}", email=user.email, **details)


def _say_link(link: str) -> None:
    click.echo("Open this link to sign in. It works once, within a day:", err=True)
    click.echo(link)
