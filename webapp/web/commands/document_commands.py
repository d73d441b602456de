"""Documents from a terminal: process them again, give them new vectors."""

from collections.abc import Sequence
from uuid import UUID

import click

from webapp.accounts import orgs
from webapp.accounts.model import Org
from webapp.db import reading
from webapp.library import reread
from webapp.library.missing import find_missing
from webapp.library.reprocess import Queued, renew_vectors, reprocess, reprocess_matching
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter
from webapp.web.commands.terminal import Commands, org_named, org_option, services

group = Commands("documents", help="What has been uploaded.")


@group.command("reprocess")
@org_option
@click.argument("document_ids", nargs=-1, type=click.UUID)
@click.option("--all", "is_all", is_flag=True, help="All documents of the organisation.")
@click.option("--failed", "is_failed", is_flag=True, help="Those that failed or ran out of time.")
def _reprocess(org_name: str, document_ids: tuple[UUID, ...], *, is_all: bool, is_failed: bool) -> None:
    """Process documents again, after all other work. Their present results stay until that is done."""
    if sum((is_all, is_failed, bool(document_ids))) != 1:
        raise click.UsageError("Name the documents, or use --all or --failed.")
    with reading(everywhere=True):
        org_id = org_named(org_name).id
    if document_ids:
        queued = reprocess(services(), org_id, list(document_ids))
        _say(queued)
        if queued < len(document_ids):
            click.echo(f"{len(document_ids) - queued} are unknown, or queued already.", err=True)
        return
    states = [StatusFilter.FAILED, StatusFilter.TIMED_OUT] if is_failed else [None]
    _say(sum(_matching(org_id, Matching(status)).count for status in states))


@group.command("reembed")
@click.option("--org", "org_name", help="Only this organisation's documents.")
def _reembed(org_name: str | None) -> None:
    """Give documents with vectors of an earlier model new ones, when there is nothing else to do."""
    _say(sum(renew_vectors(services(), org.id).count for org in _orgs(org_name)))


@group.command("reread")
@click.option("--org", "org_name", help="Only this organisation's documents.")
def _reread(org_name: str | None) -> None:
    """Read documents again that an earlier reader read, when there is nothing else to do. Workers queue them."""
    for org in _orgs(org_name):
        reread.ask(services(), org.id)
        left = reread.progress(services(), org.id).left
        click.echo(f"{org.name}\t{left.number}{'+' if left.more else ''}")


@group.command("missing")
@click.option("--org", "org_name", help="Only this organisation's documents.")
@click.pass_context
def _missing(context: click.Context, org_name: str | None) -> None:
    """List the blobs that are gone and that documents need: organisation, document, path. The exit code is 1 then."""
    count = 0
    for org in _orgs(org_name):
        for found in find_missing(services(), org.id):
            click.echo(f"{org.name}\t{found.document_id}\t{found.path}")
            count += 1
    click.echo(f"{count} missing.", err=True)
    context.exit(1 if count else 0)


def _matching(org_id: UUID, wanted: Matching) -> Queued:
    return reprocess_matching(services(), org_id, wanted)


def _orgs(org_name: str | None) -> Sequence[Org]:
    with reading(everywhere=True):
        return [org_named(org_name)] if org_name else orgs.everyone()


def _say(count: int) -> None:
    click.echo(f"{count} {'document is' if count == 1 else 'documents are'} queued.")
