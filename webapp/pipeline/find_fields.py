"""The step `find_fields`: where a chat model is set, it reads the fields of documents of a known kind, or short ones.

Its answer is kept by the file, the text and the question. Only values that the text holds become fields, each time
anew, so that a better reader or rule is used without another call.
"""

import re
from dataclasses import dataclass

from webapp.pipeline.artifacts import artifact_path, digest
from webapp.pipeline.extract import load_extraction
from webapp.pipeline.paid_calls.kept_answers import operation_path
from webapp.pipeline.paid_calls.ledger import record_saved
from webapp.pipeline.remote_work import Progress, RemotePiece, RemoteWork
from webapp.pipeline.source import find_source
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.provider_errors import BlobMissing
from webapp.providers.ports import FieldFinder
from webapp.readers.extraction import Extraction
from webapp.readers.fields.kinds import KIND_BY_FIELD
from webapp.readers.fields.proposed import ProposedFields, with_proposed
from webapp.readers.filetypes import DOC, OFFICE, OPEN, PDF, RTF, filetype
from webapp.readers.page_markdown import taken_apart
from webapp.runs.stages import FIND_FIELDS

OPERATION = "fields"
# Of a longer document whose kind no rule knows, nobody pays to hear that it is a manual or a book.
UNKNOWN_PAGES_MAX, UNKNOWN_CHARACTERS_MAX = 5, 15_000
_LETTERS_AND_FORMS = frozenset({PDF, DOC, RTF, OFFICE + "wordprocessingml.document", OPEN + "text"})
_FAMILIES = frozenset({"text", "picture", "mail", "spreadsheet"})
_PATH = re.compile(r".*/fields-[^/]+\.json")


@dataclass(frozen=True)
class FieldsOf(RemotePiece[ProposedFields]):
    """One call for the fields of a document."""

    context: StageContext
    finder: FieldFinder
    paper: str | None
    pages: tuple[tuple[int, str], ...]

    @property
    def timeout_seconds(self) -> float:
        """The model may take as long as the run has left."""
        return self.context.remaining_seconds()

    def start(self, progress: Progress) -> bytes:
        """Ask the model."""
        return self.finder.find(self.paper, self.pages, timeout_seconds=self.timeout_seconds).to_json()

    def read(self, answer: bytes) -> ProposedFields:
        """Read a stored answer."""
        return ProposedFields.from_json(answer)


def find_fields(context: StageContext) -> None:
    """Run the step, where there is a model to ask and something to ask it about."""
    if piece := _question(context):
        context.step(FIND_FIELDS, lambda: _compute(context, piece), lambda added: _store(context, piece, added))


def use_kept_fields(context: StageContext) -> None:
    """Run the step with an answer that was kept, and without a call: what is read again is not paid for."""
    if answer := _newest_answer(context):
        context.step(FIND_FIELDS, lambda: _with_answer(context, answer), lambda added: _stored(added, reused=True))


def paper_of(extraction: Extraction) -> str | None:
    """The kind of document that the rules took it for."""
    kinds = {field.kind for field in extraction.fields}
    return next((paper for kind, paper in KIND_BY_FIELD.items() if kind in kinds), None)


def _question(context: StageContext) -> FieldsOf | None:
    finder = context.providers.field_finder
    if finder is None:
        return None
    source, extraction = find_source(context), load_extraction(context)
    paper, pages = paper_of(extraction), _texts(extraction)
    if not pages or not _is_worth_asking(source.content_type, paper, pages):
        return None
    asked = f"{finder.version}\n{finder.options_key()}\n{paper}\n{pages}"
    path = f"{source.answers_folder}fields-{finder.name}-{digest(asked.encode())[:16]}.json"
    return FieldsOf(path, operation_path(path), len(pages), context, finder, paper, pages)


def _texts(extraction: Extraction) -> tuple[tuple[int, str], ...]:
    """The pages' numbers and texts; a text without pages is one."""
    pages = taken_apart(extraction.markdown) or {1: extraction.markdown.strip()}
    return tuple((number, text) for number, text in pages.items() if text)


def _is_worth_asking(content_type: str, paper: str | None, pages: tuple[tuple[int, str], ...]) -> bool:
    kind = filetype(content_type)
    if paper is not None:
        return kind.family in _FAMILIES
    is_short = len(pages) <= UNKNOWN_PAGES_MAX and sum(len(text) for _, text in pages) <= UNKNOWN_CHARACTERS_MAX
    return is_short and (kind.is_picture or content_type in _LETTERS_AND_FORMS)


def _compute(context: StageContext, piece: FieldsOf) -> int:
    (answer,) = RemoteWork(context, piece.finder.name, OPERATION, [piece]).finish()
    return _with_answer(context, answer)


def _with_answer(context: StageContext, answer: ProposedFields) -> int:
    """Store the extraction with the values that its text holds, and count the fields that came from them."""
    before = load_extraction(context)
    after = with_proposed(before, answer)
    data = after.to_json()
    path = artifact_path(context, "extraction", data, "json")
    context.make("extraction", path, data)
    context.parsed[path] = after
    return len(after.fields) - len(before.fields)


def _store(context: StageContext, piece: FieldsOf, added: int) -> Stored:
    return _stored(added, reused=record_saved(context, piece.finder.name, OPERATION, piece.units))


def _stored(added: int, *, reused: bool) -> Stored:
    return Stored(details={"fields": added}, reused=reused)


def _newest_answer(context: StageContext) -> ProposedFields | None:
    blobs = context.providers.blobs
    kept = [info for info in blobs.list(find_source(context).answers_folder) if _PATH.fullmatch(info.path)]
    for info in sorted(kept, key=lambda each: each.modified_at, reverse=True):
        try:
            return ProposedFields.from_json(blobs.read_bytes(info.path))
        except (BlobMissing, ValueError):
            continue
    return None
