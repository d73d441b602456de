"""`flask doctor`: a look at the installation, line by line."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Protocol

import click
from flask.cli import with_appcontext
from sqlalchemy.engine import make_url

from webapp.accounts import orgs, users
from webapp.config import Settings
from webapp.config.group import Group
from webapp.db import reading, row_security
from webapp.library import selection, webhooks
from webapp.library.reprocess import with_other_vectors
from webapp.library.sources import registry
from webapp.provider_errors import ProviderError
from webapp.sandbox import state as sandbox_state
from webapp.web import htmx
from webapp.web.commands.terminal import one_line, services
from webapp.web.exposure import exposure
from webapp.web.ops import figures, health
from webapp.web.ops.dispatch_view import dispatch_state
from webapp.web.ops.warnings import installation_warnings

NO_OPERATOR = (
    "There are several organisations and nobody is operator: the pages let nobody pause, resume or limit stages. "
    "Choose somebody: flask --app wsgi users role --org NAME --email ADDRESS --role operator"
)


@click.command("doctor")
@with_appcontext
def command() -> None:
    """Look at settings (secrets left out), database, tables, files and model."""
    _show_settings()
    failed = health.failures()
    for name in health.CHECKS:
        click.echo(f"{name}: {failed.get(name, 'ok')}")
    well = [_show_provider(role, provider) for role, provider in _providers()]
    well += [_show_locks(), _show_htmx(), _show_dispatch()]
    if not failed:
        well.append(_show_row_security())
    for warning in exposure().warnings() if failed else installation_warnings():
        click.echo(f"warning: {warning}")
    if not failed:
        _show_operators()
        _show_space()
        _show_vectors()
        _show_sources()
        _show_webhooks()
        _show_work()
    if failed or not all(well):
        raise SystemExit(1)


def _show_settings() -> None:
    settings = _settings()
    shown = _shown(settings)
    # The password is left out; the rest of the address says which database it is.
    shown["DATABASE_URL"] = make_url(settings.database_url).render_as_string(hide_password=True)
    for name, value in sorted(shown.items()):
        click.echo(f"{name}={'' if value is None else value}")


def _shown(group: Group) -> dict[str, object]:
    """The variables of a group and of those within, without secrets."""
    found: dict[str, object] = {}
    for item in fields(group):
        value = getattr(group, item.name)
        if item.repr:
            found |= _shown(value) if isinstance(value, Group) else {group.variable(item.name): value}
    return found


def _show_dispatch() -> bool:
    """Whether Redis answers and a relay makes offers; False where jobs come from the database although QUEUE=bullmq."""
    state = dispatch_state()
    if state is None:
        return True
    if state.redis == "ok" and state.relay is not None:
        click.echo(f"redis: ok (relay: {state.relay}; offers: {state.waiting} waiting, {state.active} taken)")
        return True
    reason = f"Redis is {state.redis}" if state.redis != "ok" else "no worker is the relay"
    click.echo(f"redis: {reason}; workers claim jobs from the database")
    return False


def _show_locks() -> bool:
    """What holds the processes that read files; False where SANDBOX=require misses something."""
    try:
        lacking = sandbox_state.missing()
    except ProviderError as error:
        click.echo(f"sandbox: {one_line(error.message)}")
        return False
    held = ", ".join(name for name in sandbox_state.locks() if name not in lacking)
    click.echo(f"sandbox: {'missing ' + ', '.join(lacking) if lacking else 'ok'} (held: {held or 'nothing'})")
    return not lacking or not _settings().parsers.requires_locks


def _show_row_security() -> bool:
    """Whether the database keeps orgs apart; a fault that is allowed is shown all the same."""
    found = row_security.fault()
    click.echo(f"row security: {found or row_security.notice() or 'ok'}")
    return found is None or row_security.refusal(_settings()) is None


def _show_operators() -> None:
    """Whether anybody may pause, resume and limit stages. The command line always may."""
    with reading(everywhere=True):
        if is_operator_missing():
            click.echo(f"warning: {NO_OPERATOR}")


def _show_space() -> None:
    """Whether paid calls may be made: their answers need room. Less than that is no fault of the installation's."""
    try:
        services().providers.blobs.check_space()
    except ProviderError as error:
        click.echo(f"room: {one_line(error.message)}; no paid call is made until there is some")
    else:
        click.echo("room: ok")


def _show_vectors() -> None:
    """Which model makes the vectors, and how many documents still have those of another one."""
    with reading(everywhere=True):
        ids = [org.id for org in orgs.everyone()]
    waiting = 0
    for org_id in ids:
        with reading(org_id):
            waiting += selection.count(org_id, with_other_vectors(services())).number
    others = f"; {waiting} documents have those of another model" if waiting else ""
    click.echo(f"vectors: {services().providers.embedder.model}{others}")


def _show_sources() -> None:
    """How many folders and mailboxes are polled, when one was last, and which are in trouble."""
    with reading(everywhere=True):
        found = registry.summary()
    if found is None:
        click.echo("sources: none")
        return
    polled = f"; last polled {found.last_poll_at:%H:%M:%S} UTC" if found.last_poll_at else "; not polled yet"
    trouble = f"; in trouble: {one_line(', '.join(found.in_trouble))}" if found.in_trouble else ""
    click.echo(f"sources: {found.on} on, {found.paused} paused{polled}{trouble}")


def _show_webhooks() -> None:
    """How many webhooks are on, and how many deliveries nobody has taken for a day."""
    with reading(everywhere=True):
        found = webhooks.summary()
    if not found.on + found.paused:
        click.echo("webhooks: none")
        return
    number = f"{found.given_up.number}{'+' if found.given_up.more else ''}"
    given_up = f"; deliveries given up: {number}" if found.given_up else ""
    click.echo(f"webhooks: {found.on} on, {found.paused} paused{given_up}")


class _Asked(Protocol):
    """What all providers have in common."""

    name: str

    def check(self) -> None: ...


def _providers() -> Iterator[tuple[str, _Asked]]:
    used = services().providers
    if used.remote_extractor is not None:
        yield "extraction", used.remote_extractor
    yield ("extraction" if used.remote_extractor is None else "extraction of the rest"), used.extractor
    yield "embeddings", used.embedder
    if used.field_finder is not None:
        yield "fields", used.field_finder
    if used.answerer is not None:
        yield "answers", used.answerer
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


def _show_htmx() -> bool:
    """False only where pages are left without HTMX; that they depend on its CDN is worth a word."""
    found = htmx.installed()
    if found.copy:
        click.echo("htmx: ok")
        return True
    click.echo(
        f"htmx: {htmx.MISSING}; {f'it comes from {found.url} alone' if found.url else 'HTMX_URL=local needs it'}"
    )
    return found.url is not None


def _show_work() -> None:
    settings = _settings()
    with reading(everywhere=True):
        counts = services().queue.counts()
        found = figures.workers(settings.queue.worker_silent_seconds)
    click.echo("jobs: " + ", ".join(f"{number} {status.lower()}" for status, number in counts.items()))
    alive = [worker for worker in found if worker.alive]
    if not alive:
        click.echo("workers: none is running")
    for worker in alive:
        kind = "embedded host" if settings.is_embedded else "worker"
        click.echo(f"{kind}: process {worker.pid} on {worker.host}, last seen {worker.last_seen:%H:%M:%S} UTC")


def is_operator_missing() -> bool:
    """The ops of an only org are operators, too; with a second org they no longer are."""
    return len(orgs.everyone()) > 1 and not users.is_there_an_operator()


def _settings() -> Settings:
    return services().settings
