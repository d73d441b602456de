"""A library from a terminal: export it into a ZIP, import it into an empty organisation."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast
from uuid import UUID

import click

from webapp.accounts import audit, orgs
from webapp.accounts.audit import COMMAND_LINE, Action
from webapp.clock import monotonic, new_id, utc_now
from webapp.db import reading, transaction
from webapp.library.exports import importing
from webapp.library.exports.document_members import Export
from webapp.library.exports.importing import Imported, NotEmpty, TakenElsewhere
from webapp.library.exports.manifest import NewerExport
from webapp.library.exports.member_names import MemberNames
from webapp.library.exports.opened_export import NoExport, OpenedExport
from webapp.library.exports.parts import ExportWish, WholeExport, lines_of_members, write_end, write_some
from webapp.library.exports.rows import DamagedExport
from webapp.library.exports.zip_writer import ZipWriter
from webapp.library.selection import Matching
from webapp.provider_errors import ProviderError
from webapp.web.commands.terminal import Commands, one_line, org_named, org_option, services
from webapp.web.formatting import filesize

group = Commands("library", help="Take a library along: export it, import it elsewhere.")

_path = click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
_EVERY = 100
_SAY_SECONDS = 10.0


@group.command("export")
@org_option
@_path
@click.option("--query", "q", default="", help="Only documents that match, as in the library. Default: everything.")
def _export(org_name: str, path: Path, q: str) -> None:
    """Write documents, or the whole library, into a ZIP at PATH."""
    if path.exists():
        raise click.ClickException(f"{path} exists already. Name another file.")
    with reading(everywhere=True):
        org = org_named(org_name)
    wish = ExportWish(None, Matching(q=q.strip()), utc_now())
    with _written(path) as file, TemporaryFile() as members:
        export = Export(services().providers, org.id, ZipWriter(file, cast(BinaryIO, members)), MemberNames())
        whole = _write(export, wish, org.name)
    with transaction(org.id):
        audit.record(org.id, COMMAND_LINE, Action.LIBRARY_EXPORTED, documents=whole.documents)
    click.echo(f"{_documents(whole.documents)} in {path} ({filesize(path.stat().st_size)}).")
    if whole.missing:
        click.echo(f"The files of {whole.missing} of them are missing from the storage.", err=True)


def _write(export: Export, wish: ExportWish, org: str) -> WholeExport:
    after: UUID | None = None
    documents = missing = number = 0
    while after is not None or not number:
        number += 1
        pause_at = monotonic() + _SAY_SECONDS
        written = write_some(export, wish, after, number, lambda at=pause_at: monotonic() > at)  # type: ignore[misc]
        after = written.last
        documents, missing = documents + len(written.ids), missing + len(written.missing)
        if after is not None:
            click.echo(_documents(documents), err=True)
    whole = WholeExport(new_id(), org, wish, documents, missing)
    write_end(export, whole, lambda: lines_of_members(export.writer.members), 0)
    return whole


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """A file that has its name only once it is whole."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("xb+") as file:
            yield cast(BinaryIO, file)
        part.rename(path)
    except FileExistsError as error:
        raise click.ClickException(f"{part} is there: another export writes it, or one was interrupted.") from error
    except OSError as error:
        raise click.ClickException(f"{path} can't be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)


@group.command("import")
@org_option
@_path
def _import(org_name: str, path: Path) -> None:
    """Read an export at PATH into an organisation without documents, which is made where there is none.

    All checksums are compared first. One that was interrupted goes on when it is run again.
    """
    name = org_name.strip()
    if not name.isprintable() or not name:
        raise click.ClickException("An organisation needs a name that can be read.")
    try:
        with OpenedExport(path) as export:
            _check(export)
            with transaction(everywhere=True):
                org_id = orgs.named(name)[0].id
            done = importing.import_export(services(), org_id, export, _note)
    except _REFUSALS as error:
        raise click.ClickException(_sentence(error, path, name)) from error
    _say(done, name)


def _check(export: OpenedExport) -> None:
    manifest = export.manifest
    click.echo(f"Comparing the checksums of {_documents(manifest.documents)} …", err=True)
    export.check()
    services().providers.blobs.check_space(manifest.size_bytes)


_REFUSALS = (NoExport, NewerExport, DamagedExport, NotEmpty, TakenElsewhere, ProviderError, OSError)


def _sentence(error: Exception, path: Path, org_name: str) -> str:
    """What is wrong, and what can be done."""
    if isinstance(error, DamagedExport):
        return f"The export is damaged: {one_line(str(error))}. Copy it again, or make a new one."
    if isinstance(error, ProviderError):
        return f"The files can't be stored: {one_line(error.message)}. Run this again to go on."
    if isinstance(error, OSError):
        return f"{path} can't be read: {error.strerror}."
    return _SENTENCES[type(error)].format(path=path, org=org_name)


_SENTENCES: Mapping[type[Exception], str] = {
    NoExport: "{path} is no export of Docmill.",
    NewerExport: "This export was made by a newer version of Docmill. Update this installation, then run this again.",
    NotEmpty: "“{org}” has documents already, and an import needs an organisation without any. Name another one with "
    "--org: it is made.",
    TakenElsewhere: "Documents of this export are in another organisation of this installation. Import it into another "
    "installation, or delete them there for good.",
}


def _note(done: Imported) -> None:
    number = done.added + done.there
    if number and not number % _EVERY:
        click.echo(_documents(number), err=True)


def _say(done: Imported, org_name: str) -> None:
    click.echo(f"{_documents(done.added + done.there)} in “{org_name}”.")
    if done.left_out:
        click.echo(f"{done.left_out} were left out: another document has the same file.", err=True)
    if done.queued:
        click.echo(f"{done.queued} are processed anew, since they were being processed at the export.", err=True)


def _documents(number: int) -> str:
    return f"{number} document{'' if number == 1 else 's'}"
