"""The steps `extract` and `save_markdown`: a file's bytes -> text, fields and tables; read once for the same bytes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from webapp.clock import monotonic
from webapp.library.searchable import WORDS
from webapp.pipeline.artifacts import artifact_path, digest, parsed
from webapp.pipeline.kept_parts import PartsOfFile
from webapp.pipeline.opened import opened
from webapp.pipeline.page_windows import OPERATION, read_windows
from webapp.pipeline.paid_calls.ledger import record_call, record_saved
from webapp.pipeline.remote_work import local_file
from webapp.pipeline.source import NothingReads, SourceFile, find_readable, find_source
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.provider_errors import BadInput, BlobMissing, FailureCode, ProviderError
from webapp.providers.ports import AnyExtractor, RemoteExtractor
from webapp.readers.cleaning import clean_extraction, clean_line
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import filetype
from webapp.readers.language import with_languages
from webapp.readers.page_reading import may_be_read_again
from webapp.readers.pictures.words_file import packed
from webapp.runs.stages import EXTRACT, INDEX, SAVE_MARKDOWN, UNPACK

_UNREADABLE = frozenset({FailureCode.UNSUPPORTED, FailureCode.CORRUPT})
PAGE_NUMBER_MAX = 1_000_000
LANGUAGE_CHARACTERS_MAX = 16
_NOT_IN_PATHS = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Extracted:
    """An extraction, and what it cost."""

    provider: str
    extraction: Extraction
    seconds: float
    is_cached: bool
    is_remote: bool
    """Whether a paid service read it; its calls have their ledger lines already."""


def extract(context: StageContext) -> None:
    """Run the step: read the file, unless the same bytes were read before. NothingReads."""
    source = find_readable(context)
    context.step(EXTRACT, lambda: _compute(context, source), lambda result: _store(context, result))


def extract_here(context: StageContext) -> None:
    """Run the step on this machine alone, whatever services there are: what is read again is not paid for."""
    source = find_readable(context, here=True)
    context.step(EXTRACT, lambda: _compute(context, source, here=True), lambda result: _store(context, result))


def clean_text_of_file(context: StageContext, data: bytes) -> bytes:
    """What a program over HTTP read out of a file, made fit to be stored; ValueError for anything else."""
    found = clean_extraction(Extraction.from_json(data))
    pages_of_parts = [*(field.page for field in found.fields), *(table.page for table in found.tables)]
    numbers = [found.page_count, *pages_of_parts]
    if any(number is not None and not 0 <= number <= PAGE_NUMBER_MAX for number in numbers):
        raise ValueError(f"not a valid Extraction: a page's number is not from 0 to {PAGE_NUMBER_MAX}")
    extractor, version = clean_line(found.extractor) or "http", clean_line(found.version) or ""
    language = clean_line(found.language, LANGUAGE_CHARACTERS_MAX)
    return replace(found, extractor=extractor, version=version, language=language).to_json()


def take_over_text(context: StageContext, path: str) -> None:
    """Run the step with what a program over HTTP read out of the file, at `path`; what follows is another stage's."""
    context.step(
        EXTRACT,
        lambda: Extraction.from_json(context.providers.blobs.read_bytes(path)),
        lambda found: Stored(artifacts={"extraction": path}, details={"pages": found.page_count or 1}),
        end=lambda: context.hand_on(_after_text(context)),
    )


def _after_text(context: StageContext) -> str:
    """The stage after a text that a program read; of the files that lie in a document it says nothing."""
    unpacker = context.providers.unpacker
    holds_files = unpacker is not None and unpacker.accepts(find_source(context).content_type)
    return UNPACK if holds_files else INDEX


def save_markdown(context: StageContext) -> None:
    """Run the step: store the text, and the words of pages that OCR read, as the artifacts that readers are served."""
    context.step(SAVE_MARKDOWN, lambda: _write_text(context), lambda made: Stored(artifacts=made))


def load_extraction(context: StageContext) -> Extraction:
    """Read what the step saved."""
    return parsed(context, "extraction", Extraction.from_json)


def keep_extraction(context: StageContext) -> None:
    """Store an extraction for later runs of the same bytes, unless it is stored already.

    It cost nothing and the file can be read again, so it is neither synced nor retried.
    """
    path = context.artifact("extraction")
    if unsaved := context.unsaved_blobs.pop(path, None):
        with suppress(ProviderError):
            context.providers.blobs.put_bytes(path, unsaved.data, durably=False)


def cache_path(source: SourceFile, extractor: AnyExtractor) -> str:
    """The path of a file's extraction, made of everything that can change it."""
    told = f"{extractor.version}\n{extractor.options_key()}\n{source.content_type}"
    if source.is_opened and filetype(source.content_type).is_archive:
        # Its list says what is locked, which changes with each password that opens some of it.
        told += f"\n{source.blob_path}"
    options = digest(told.encode())[:16]
    name = _NOT_IN_PATHS.sub("-", f"{extractor.name}-{extractor.version}")[:150]
    return f"{source.answers_folder}{name}-{options}.json"


def _compute(context: StageContext, source: SourceFile, *, here: bool = False) -> Extracted:
    source = opened(context, source)
    context.content_type = source.content_type
    remote = None if here else context.providers.remote_for(source.content_type)
    extractor: AnyExtractor = remote or context.providers.extractor
    path = cache_path(source, extractor)
    started = monotonic()
    extraction = _cached(context, path)
    is_cached = extraction is not None
    if extraction is None:
        extraction = _read_remotely(context, source, remote, path) if remote else _read(context, source, path)
    if extraction.parts is None:
        extraction = replace(extraction, parts=_count_parts(context, source))
    context.made["extraction"], context.parsed[path] = path, extraction
    return Extracted(extractor.name, extraction, monotonic() - started, is_cached, remote is not None)


def _cached(context: StageContext, path: str) -> Extraction | None:
    try:
        found = Extraction.from_json(context.providers.blobs.read_bytes(path))
    except (BlobMissing, ValueError):
        # An unreadable one is replaced.
        return None
    # To process a document again is to try such pages again.
    return None if may_be_read_again(found.pages) else found


def _read(context: StageContext, source: SourceFile, path: str) -> Extraction:
    with context.providers.blobs.local_copy(source.blob_path) as file, _kept_without_text(source):
        found = context.providers.extractor.extract(
            file,
            source.content_type,
            timeout_seconds=min(context.extract_timeout_seconds, context.remaining_seconds()),
            progress=context.progress,
            parts=PartsOfFile(context, f"{path.removesuffix('.json')}/"),
        )
    return _kept(context, path, _with_languages(context, found))


@contextmanager
def _kept_without_text(source: SourceFile) -> Iterator[None]:
    """A picture on which nothing is written is kept, and nothing failed; nor did an old file that no library reads."""
    try:
        yield
    except BadInput as error:
        kind = filetype(source.content_type)
        is_kept = error.code is FailureCode.NO_TEXT if kind.is_picture else kind.is_old and error.code in _UNREADABLE
        if is_kept and not source.was_read:
            raise NothingReads from error
        raise


def _read_remotely(context: StageContext, source: SourceFile, extractor: RemoteExtractor, path: str) -> Extraction:
    """Read a file at a service; Snoozed until all answers are there."""
    question = digest(extractor.answers_key(source.content_type).encode())[:16]
    folder = f"{source.answers_folder}{extractor.name}-{question}/"
    with local_file(context.providers.blobs, source.blob_path) as file:
        found = read_windows(context, extractor, source.content_type, folder, file)
    # In this attempt or an earlier one.
    context.has_paid = True
    named = _with_languages(context, found)
    # A service names the language of what it read, and not what the file says of itself.
    return _kept(context, path, replace(named, language=found.language or named.language))


def _with_languages(context: StageContext, found: Extraction) -> Extraction:
    teller = context.providers.languages
    return with_languages(found, teller.language_of, teller.known) if teller else found


def _count_parts(context: StageContext, source: SourceFile) -> int:
    """How many files lie in one whose reader does not tell: a service does not."""
    unpacker = context.providers.unpacker
    if unpacker is None or not unpacker.accepts(source.content_type):
        return 0
    with context.providers.blobs.local_copy(source.blob_path) as file:
        seconds = min(context.extract_timeout_seconds, context.remaining_seconds())
        return unpacker.count(file, source.content_type, timeout_seconds=seconds)


def _kept(context: StageContext, path: str, extraction: Extraction) -> Extraction:
    context.make("extraction", path, extraction.to_json())
    return extraction


def _store(context: StageContext, result: Extracted) -> Stored:
    pages, reused = result.extraction.page_count or 1, result.is_cached
    if result.is_remote:
        reused = record_saved(context, result.provider, OPERATION, len(result.extraction.pages)) or reused
    elif reused:
        record_saved(context, result.provider, OPERATION, pages)
    else:
        record_call(context, result.provider, OPERATION, units=pages, seconds=result.seconds)
    details = {"pages": pages} | ({"partial": True} if result.extraction.partial else {})
    return Stored(details=details, reused=reused)


def _write_text(context: StageContext) -> dict[str, str]:
    extraction = load_extraction(context)
    data, words = extraction.markdown.encode(), packed(extraction.pages)
    context.make("markdown", artifact_path(context, "markdown", data, "md"), data, is_published=True)
    if words is None:
        return {}
    path = artifact_path(context, WORDS, words, "gz")
    context.make(WORDS, path, words, is_published=True)
    return {WORDS: path}
