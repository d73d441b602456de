"""What can be typed behind `docmill`: put, get, search, watch, mcp."""

import argparse
import json
import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile
from typing import IO, Any
from uuid import UUID

from webapp.client.server import NO_DOCMILL, Server, ServerRefused
from webapp.config.client import ClientSettings
from webapp.config.reader import SettingsError

SUCCEEDED, FAILED, MISUSED = 0, 1, 2
_SNIPPET_CHARACTERS = 200
# Control characters, and those that turn the direction of what follows.
_STEERING = (*range(32), 127, *range(128, 160), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNCLEAN = {code: None for code in _STEERING if code not in (9, 10)}


def main(arguments: Sequence[str]) -> int:
    """Run a command; its exit code is 0, 1 where something was refused or failed, 2 where it can't be run."""
    asked = _parser().parse_args(arguments)
    try:
        settings = ClientSettings.from_environment()
    except SettingsError as error:
        return _misused(str(error))
    if settings.token is None:
        return _misused("DOCMILL_TOKEN is missing: create a token on the page Account and put it there.")
    server = Server(settings)
    try:
        code: int = asked.run(server, asked)
        return code
    except (ServerRefused, KeyError, TypeError) as error:
        # An answer without what each Docmill sends is of something else.
        _complain(str(error) if isinstance(error, ServerRefused) else NO_DOCMILL)
        return FAILED
    except BrokenPipeError:
        # Whoever reads has enough, as in `docmill get ID | head`. Python would complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SUCCEEDED
    except KeyboardInterrupt:
        return 130
    finally:
        server.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="docmill",
        description="Upload, read and search documents on a Docmill server.",
        epilog="DOCMILL_URL is the server's address (http://127.0.0.1:8000 if not set), DOCMILL_TOKEN an API token.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    put = commands.add_parser("put", help="upload files and folders")
    put.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file, or a folder with all that is in it")
    put.add_argument("--folder", help="the folder that they are shown in; else that of a folder that is uploaded")
    put.add_argument("--language", help="what is spoken in the recordings among them, as in en")
    put.add_argument("--wait", action="store_true", help="wait until all are processed")
    put.set_defaults(run=_put)

    get = commands.add_parser("get", help="read a document")
    get.add_argument("id", type=UUID, help="the id of the document")
    what = get.add_mutually_exclusive_group()
    for name, words in _PARTS.items():
        what.add_argument(f"--{name}", dest="part", action="store_const", const=name, help=words)
    get.add_argument("-o", "--output", type=Path, metavar="FILE", help="write into this file and not to the terminal")
    get.set_defaults(run=_get, part="text")

    search = commands.add_parser("search", help="search all documents")
    search.add_argument("words", nargs="+", help='words, "phrases", -not, kind:pdf, tag:tax, before:2025 …')
    search.add_argument("--limit", type=int, default=10, help="how many passages at most (10)")
    search.add_argument("--json", action="store_true", help="print the answer as JSON")
    search.set_defaults(run=_search)

    watch = commands.add_parser("watch", help="follow documents until they are processed")
    watch.add_argument("ids", nargs="*", type=UUID, metavar="ID", help="all that are being processed, if left out")
    watch.set_defaults(run=_watch)

    mcp = commands.add_parser("mcp", help="serve the library to an AI assistant (Model Context Protocol, stdio)")
    mcp.add_argument("--write", action="store_true", help="also tools that change something")
    mcp.set_defaults(run=_serve_assistant)
    return parser


_PARTS = {
    "text": "the text as Markdown (default)",
    "original": "the file as it was uploaded",
    "fields": "the fields as JSON",
    "tables": "the tables as JSON",
    "info": "all about the document as JSON",
}


def _put(server: Server, asked: argparse.Namespace) -> int:
    ids, refused = [], 0
    for path, folder in _files(asked.paths, asked.folder):
        try:
            document = _upload(server, path, folder, asked.language)
        except (ServerRefused, OSError) as error:
            _complain(f"{path}: {error}")
            refused += 1
            continue
        ids.append(document["id"])
        known = "  (already there)" if document["duplicate_of"] else ""
        _say(f"{document['id']}  {document['filename']}{known}")
    return _follow(server, ids, FAILED if refused else SUCCEEDED) if asked.wait else FAILED if refused else SUCCEEDED


def _files(paths: Sequence[Path], folder: str | None) -> Iterator[tuple[Path, str | None]]:
    """Each file, and the folder that it is shown in. Hidden files and links out of a folder are left out."""
    for path in paths:
        if not path.is_dir():
            yield path, folder
            continue
        name = path.resolve().name
        for found in sorted(path.rglob("*")):
            inside = found.relative_to(path)
            if found.is_file() and not found.is_symlink() and not any(part.startswith(".") for part in inside.parts):
                yield found, str(PurePosixPath(folder or name, *inside.parts[:-1]))


def _upload(server: Server, path: Path, folder: str | None, language: str | None) -> Mapping[str, Any]:
    fields = {name: value for name, value in (("folder", folder), ("language", language)) if value}
    with path.open("rb") as file:

        def make() -> Mapping[str, Any]:
            file.seek(0)
            # A name may be bytes that are no text.
            name = os.fsencode(path.name).decode(errors="replace")
            return {"files": {"file": (name, file)}, "data": fields}

        answer = server.post("/documents", make)
    document: Mapping[str, Any] = answer["documents"][0]
    return document


def _get(server: Server, asked: argparse.Namespace) -> int:
    if asked.output is None:
        _fetch(server, asked, sys.stdout.buffer)
        return SUCCEEDED
    # A file of this name is whole, or as it was before.
    unfinished: Path | None = None
    try:
        with NamedTemporaryFile(dir=asked.output.parent, prefix=".docmill-", delete=False) as out:
            unfinished = Path(out.name)
            _fetch(server, asked, out)
        unfinished.replace(asked.output)
    except OSError as error:
        raise ServerRefused(f"{asked.output} can't be written: {error.strerror}.") from error
    finally:
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)
    return SUCCEEDED


def _fetch(server: Server, asked: argparse.Namespace, out: IO[bytes]) -> None:
    address = f"/documents/{asked.id}"
    if asked.part in {"text", "original"}:
        name = "markdown" if asked.part == "text" else "original"
        server.download(f"{address}/{name}", _writer(out, is_text=asked.part == "text"))
    else:
        path = address if asked.part == "info" else f"{address}/{asked.part}"
        out.write((_as_json(server.get(path), is_shown=out.isatty()) + "\n").encode())
    out.flush()


def _writer(out: IO[bytes], *, is_text: bool) -> Callable[[bytes], object]:
    """Text of a file must not steer the terminal that it is shown in."""
    if not is_text or not out.isatty():
        return out.write
    decoder = getincrementaldecoder("utf-8")(errors="replace")
    return lambda piece: out.write(decoder.decode(piece).translate(_UNCLEAN).encode())


def _as_json(found: Any, *, is_shown: bool) -> str:
    """JSON; in a terminal without letters that could steer it."""
    return json.dumps(found, indent=2, ensure_ascii=is_shown)


def _search(server: Server, asked: argparse.Namespace) -> int:
    found = server.get("/search", q=" ".join(asked.words), limit=asked.limit)
    if asked.json:
        sys.stdout.write(_as_json(found, is_shown=sys.stdout.isatty()) + "\n")
        return SUCCEEDED
    for hit in found["hits"]:
        page = f", page {hit['page_from']}" if hit["page_from"] else ""
        _say(f"{hit['filename']}{page}  {hit['document_id']}")
        _say(f"    {' '.join(hit['text'].split())[:_SNIPPET_CHARACTERS]}")
    for document in found.get("documents", ()):
        _say(f"{document['filename']}  {document['id']}")
    if not found["hits"] and not found.get("documents"):
        meant = found["did_you_mean"]
        _complain(f"Nothing found. Did you mean: {meant}" if meant else "Nothing found.")
        return FAILED
    return SUCCEEDED


def _watch(server: Server, asked: argparse.Namespace) -> int:
    ids = asked.ids or [each["id"] for each in _processing(server)]
    if not ids:
        _say("Nothing is being processed.")
    return _follow(server, ids, SUCCEEDED)


def _processing(server: Server) -> Iterator[Mapping[str, Any]]:
    cursor = None
    while True:
        page = server.get("/documents", status="processing", limit=100, **({"cursor": cursor} if cursor else {}))
        yield from page["documents"]
        cursor = page["next_cursor"]
        if cursor is None:
            return


def _follow(server: Server, ids: Sequence[str | UUID], code: int) -> int:
    """Wait for each document in turn, and say what became of it."""
    for document_id in ids:
        status = server.wait(document_id, _show)
        error = status["error"]
        _say(f"{document_id}  {status['status']}{'  ' + error['message'] if error else ''}")
        if status["status"] != "READY":
            code = FAILED
    return code


def _serve_assistant(server: Server, asked: argparse.Namespace) -> int:
    # It takes half a second to load, and no other command needs it.
    from webapp.client import assistant  # noqa: PLC0415

    assistant.serve(server, may_write=asked.write)
    return SUCCEEDED


def _show(status: Mapping[str, Any]) -> None:
    """How far it is, on the terminal's last line."""
    if sys.stderr.isatty():
        line = f"{status['id']}  {status['status']}  {status['progress']:.0%}".translate(_UNCLEAN)
        sys.stderr.write(f"\r\033[K{line}\r")
        sys.stderr.flush()


def _say(line: str) -> None:
    """Print a line without what would steer a terminal: it may come out of a file."""
    sys.stdout.write(line.translate(_UNCLEAN) + "\n")


def _complain(line: str) -> None:
    sys.stderr.write(f"docmill: {line.translate(_UNCLEAN)}\n")


def _misused(sentence: str) -> int:
    _complain(sentence)
    return MISUSED
