"""The sandboxed job that reads EPUB books: their chapters in reading order, each a page of its own."""

import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.creation import day_of_creation
from webapp.readers.epub.links import inner_links, with_chapters
from webapp.readers.epub.markdown import Chapter, read_chapter
from webapp.readers.extraction import Extraction, Field, Page, Table
from webapp.readers.markup.parse import RECURSION, parse_xml
from webapp.readers.markup.writer import Element, local_name, text_of
from webapp.readers.page_markdown import assemble, plain
from webapp.readers.titles import title_of
from webapp.readers.zip_members import MemberLimits, ZipMembers, inside
from webapp.sandbox.child import Report

NAME = "local"
CONTAINER, ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
MEMBER_BYTES_MAX = 32 << 20
MEMBERS_MAX = 20_000
CHAPTERS_MAX = 5_000
UNREADABLE = "{count} of {total} parts of the book could not be read: {names}."
NAMES_SHOWN = 5

_XHTML = {"application/xhtml+xml", "text/html", "text/x-oeb1-document"}
_FONT_SCRAMBLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_LABELS = {"creator": "Author", "publisher": "Publisher", "date": "Published", "identifier": "Identifier"}
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class _Item:
    """A file of the book, by its exact name in the archive."""

    path: str
    media_type: str


@dataclass(frozen=True)
class Package:
    """What the book says of itself."""

    spine: tuple[_Item | None, ...]
    titles: dict[str, str]
    title: str | None
    language: str | None
    fields: tuple[Field, ...]


def parse_epub(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Read the book at `source`; the answer is an Extraction as plain data."""
    sys.setrecursionlimit(RECURSION)
    archive, package = opened_book(arguments)
    _refuse_encrypted(archive, package)
    chapters, missing = chapters_of(archive, package, report)
    if not any(chapter.markdown for chapter in chapters):
        code = FailureCode.CORRUPT if missing else FailureCode.NO_TEXT
        raise BadInput("none of the book's chapters holds text", code=code)
    return asdict(_extraction(package, chapters, missing))


def opened_book(arguments: dict[str, object]) -> tuple[ZipMembers, Package]:
    """The files of the book at `source`, and what it says of itself."""
    limits = MemberLimits(MEMBERS_MAX, MEMBER_BYTES_MAX, int(str(arguments["bytes_max"])))
    archive = ZipMembers(Path(str(arguments["source"])), limits, "book")
    return archive, _package(archive)


def _extraction(package: Package, chapters: list[Chapter], missing: list[str]) -> Extraction:
    pages = [chapter.markdown for chapter in chapters]
    text = "\n\n".join(pages)
    tables: list[Table] = [
        replace(table, page=number) for number, chapter in enumerate(chapters, 1) for table in chapter.tables
    ]
    names = ", ".join(missing[:NAMES_SHOWN]) + (" …" if len(missing) > NAMES_SHOWN else "")
    total = len(package.spine)
    title, is_guess = title_of(package.title, text)
    return Extraction(
        extractor=NAME,
        version="",
        markdown=assemble(pages),
        pages=tuple(Page(number=number, text=page, width=None, height=None) for number, page in enumerate(pages, 1)),
        page_count=len(pages),
        title=title,
        title_is_guess=is_guess,
        created=day_of_creation(next((each.value for each in package.fields if each.name == "Published"), None)),
        language=package.language,
        fields=package.fields,
        tables=tuple(tables),
        partial=bool(missing),
        warnings=(UNREADABLE.format(count=len(missing), total=total, names=names),) if missing else (),
    )


def chapters_of(archive: ZipMembers, package: Package, report: Report) -> tuple[list[Chapter], list[str]]:
    """Each part of the reading order once; those with text are the pages. Says which could not be read."""
    chapters: list[Chapter] = []
    missing: list[str] = []
    seen: set[str] = set()
    paths = [item.path if item else None for item in package.spine]
    places = {path: place for place, path in enumerate(paths) if path}
    for number, item in enumerate(package.spine, start=1):
        if item is None:
            missing.append(f"part {number}")
        elif item.path not in seen and item.media_type in _XHTML:
            seen.add(item.path)
            chapter = _chapter(archive, item, package, places)
            if chapter is None or not chapter.is_whole:
                missing.append(posixpath.basename(item.path))
            if chapter is not None and chapter.markdown:
                chapters.append(chapter)
        report.progress(0.95 * number / len(package.spine))
    numbers = {chapter.path: number for number, chapter in enumerate(chapters, 1)}
    return [replace(each, markdown=with_chapters(each.markdown, paths, numbers)) for each in chapters], missing


def _chapter(archive: ZipMembers, item: _Item, package: Package, places: Mapping[str, int]) -> Chapter | None:
    try:
        chapter = read_chapter(archive.read(item.path), inner_links(item.path, places))
    except BadInput as error:
        if error.code is FailureCode.TOO_LARGE:
            raise
        return None
    return replace(chapter, path=item.path, markdown=_headed(chapter.markdown, package.titles.get(item.path)))


def _headed(markdown: str, title: str | None) -> str:
    """A chapter begins with its name: its own first heading, or the one that the contents give it."""
    first = _HEADING.search(markdown)
    if first and not markdown[: first.start()].strip():
        # Whatever size the writer found pretty, it is the chapter's.
        return f"# {first[1]}{markdown[first.end() :]}" if markdown else markdown
    if not title or not markdown or (first and plain(first[1]).casefold() == title.casefold()):
        return markdown
    return f"# {title}\n\n{markdown}"


def _package(archive: ZipMembers) -> Package:
    container = parse_xml(archive.read(CONTAINER))
    path = next((each.get("full-path") for each in container.iter() if local_name(each) == "rootfile"), None)
    if not path:
        raise BadInput("the book does not say where its contents are", code=FailureCode.CORRUPT)
    root, folder = parse_xml(archive.read(path)), posixpath.dirname(path)
    items = {
        each.get("id"): _Item(inside(folder, each.get("href") or ""), each.get("media-type") or "")
        for each in _named(root, "item")
    }
    references = [items.get(each.get("idref")) for each in _named(root, "itemref")]
    if not references:
        raise BadInput("the book has no chapters", code=FailureCode.CORRUPT)
    if len(references) > CHAPTERS_MAX:
        raise BadInput(f"more than {CHAPTERS_MAX} chapters", code=FailureCode.TOO_LARGE)
    metadata = list(_metadata(root))
    return Package(
        spine=tuple(references),
        titles=_titles(archive, root, items),
        title=next((value for name, value in metadata if name == "title"), None),
        language=next((value[:2].lower() for name, value in metadata if name == "language"), None),
        fields=tuple(
            Field(_LABELS[name], value, confidence=None, page=None, polygon=None)
            for name, value in metadata
            if name in _LABELS
        ),
    )


def _metadata(root: Element) -> Iterator[tuple[str, str]]:
    for block in _named(root, "metadata"):
        for each in block.iter():
            if text := text_of(each) if isinstance(each.tag, str) and "purl.org/dc" in each.tag else "":
                yield local_name(each), text


def _titles(archive: ZipMembers, root: Element, items: dict[Any, _Item]) -> dict[str, str]:
    """The names of the chapters by file, from the table of contents; none where there is none that can be read."""
    nav = next((each.get("id") for each in _named(root, "item") if "nav" in (each.get("properties") or "").split()), "")
    ncx = next((each.get("toc") for each in _named(root, "spine")), None)
    for item in (items.get(nav), items.get(ncx)):
        if item is None or not archive.has(item.path):
            continue
        try:
            entries = list(_entries(parse_xml(archive.read(item.path)), posixpath.dirname(item.path)))
        except BadInput as error:
            if error.code is FailureCode.TOO_LARGE:
                raise
            continue
        if entries:
            # The first entry of a file names it; the others name parts of it.
            return dict(reversed(entries))
    return {}


def _entries(root: Element, folder: str) -> Iterator[tuple[str, str]]:
    for each in root.iter():
        name = local_name(each)
        if name == "a" and each.get("href") and (title := text_of(each)):
            yield inside(folder, each.get("href")), title
        elif name == "navpoint":
            source = next((found.get("src") for found in each if local_name(found) == "content"), None)
            label = next((text_of(found) for found in each if local_name(found) == "navlabel"), "")
            if source and label:
                yield inside(folder, source), label


def _refuse_encrypted(archive: ZipMembers, package: Package) -> None:
    """Scrambled fonts are no matter; scrambled chapters can't be read by anybody without the shop's key."""
    if not archive.has(ENCRYPTION):
        return
    chapters = {item.path for item in package.spine if item is not None}
    for block in _named(parse_xml(archive.read(ENCRYPTION)), "encrypteddata"):
        algorithm = next((each.get("Algorithm") for each in _named(block, "encryptionmethod")), None)
        paths = {inside("", each.get("URI") or "") for each in _named(block, "cipherreference")}
        if algorithm not in _FONT_SCRAMBLING and paths & chapters:
            raise BadInput("the book's chapters are encrypted", code=FailureCode.ENCRYPTED)


def _named(root: Element, name: str) -> Iterator[Element]:
    return (each for each in root.iter() if local_name(each) == name)
