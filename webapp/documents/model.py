"""The tables of documents, their runs and what the newest complete run found."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Date,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, Embedding, Json, UtcDateTime, row_rules
from webapp.documents.states import DocumentStatus

# Words are read by ranges, so they sort by their characters whatever the language of the database is.
Word = Text().with_variant(Text(collation="C"), "postgresql")


def belongs_to_document() -> ForeignKeyConstraint:
    """The foreign key of a row that is deleted with its document, inside one org."""
    return ForeignKeyConstraint(["org_id", "document_id"], ["documents.org_id", "documents.id"], ondelete="CASCADE")


def belongs_to_run() -> ForeignKeyConstraint:
    """The key of a row that belongs to a run, inside one org."""
    return ForeignKeyConstraint(
        ["org_id", "run_id"], ["processing_runs.org_id", "processing_runs.id"], ondelete="CASCADE"
    )


# A file that nothing on this installation reads is kept: it is READY, for nothing is left to do, and no page of it was
# read. `webapp.library.status_filter` asks for these rows in the same words, by which both databases find the indexes.
KEPT = "status = 'READY' AND pages_read = 0"
NOT_KEPT = "status <> 'READY' OR pages_read IS NULL OR pages_read <> 0"
# Ready, and some of its text is missing or may be wrong.
PARTLY_READ = "status = 'READY' AND reading = 'in_part'"
# What lies in the bin is in no list: the indexes of the library leave it out, and who reads them says so like this.
IN_LIBRARY = "deleted_at IS NULL"
IN_BIN = "deleted_at IS NOT NULL"
_UPLOADED = f"parent_id IS NULL AND {IN_LIBRARY}"
READY = f"status = 'READY' AND {IN_LIBRARY}"
_ORDERS = ("created_at", "filename", "size_bytes")
IS_PART = "parent_id IS NOT NULL"


def _library_index(name: str, *columns: str, where: str, asks: str = "pages_read") -> Index:
    """An index of an org's documents in an order. It ends with what its condition asks, so that it answers alone."""
    return _index_without_bin(name, "org_id", *columns, "id", asks, where=where)


def _index_without_bin(name: str, *columns: str, where: str = "") -> Index:
    """An index of some of the documents that don't lie in the bin."""
    return _partial_index(name, *columns, "deleted_at", where=f"({where}) AND {IN_LIBRARY}" if where else IN_LIBRARY)


def _partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """An index of some documents; who asks for them uses its words, or words that imply them."""
    condition = text(where)
    return Index(name, *columns, unique=unique, postgresql_where=condition, sqlite_where=condition)


class Document(Base):
    """A file that somebody uploaded, or a part of one, and what is known of it."""

    __tablename__ = "documents"
    __table_args__ = (
        CheckConstraint("status IN ('PROCESSING', 'READY', 'FAILED', 'TIMED_OUT')", name="status"),
        CheckConstraint("status <> 'READY' OR published_run_id IS NOT NULL", name="ready_has_result"),
        CheckConstraint("size_bytes > 0", name="size"),
        CheckConstraint("length(sha256) = 64", name="sha256"),
        UniqueConstraint("org_id", "id"),
        # The same bytes that are uploaded twice are one document: the second upload finds the first.
        # What lies in the bin is found first, and restored.
        _partial_index("uq_documents_uploaded_contents", "org_id", "sha256", where=_UPLOADED, unique=True),
        # The bin: all that was deleted together, files by their contents, and what was deleted by itself in its order.
        CheckConstraint("(deleted_at IS NULL) = (deleted_with IS NULL)", name="deleted"),
        _partial_index("ix_documents_bin", "org_id", "deleted_with", "id", "deleted_at", where=IN_BIN),
        _partial_index("ix_documents_bin_contents", "org_id", "sha256", where=IN_BIN),
        _partial_index("ix_documents_bin_listed", "org_id", "deleted_at", "id", where="deleted_with = id"),
        # A part is always a document of its own. Its place in its container is unique, so no part is made twice.
        _partial_index("ix_documents_contents_of_parts", "org_id", "sha256", where=IS_PART),
        _partial_index("uq_documents_parts", "parent_id", "part_number", where=IS_PART, unique=True),
        ForeignKeyConstraint(["org_id", "parent_id"], ["documents.org_id", "documents.id"], ondelete="CASCADE"),
        CheckConstraint(
            "(parent_id IS NULL) = (part_number IS NULL) AND (parent_id IS NULL) = (path_in_parent IS NULL)",
            name="part",
        ),
        CheckConstraint("pages_read >= 0", name="pages_read"),
        CheckConstraint("reading IN ('well', 'in_part')", name="reading"),
        CheckConstraint("(document_date IS NULL) = (document_date_from IS NULL)", name="document_date"),
        # Two for each order of the library. The whole library is read as its statuses, merged; files that nothing
        # reads lie apart, so that neither they nor the ready ones are looked for among the others.
        *(_library_index(f"ix_documents_org_id_status_{by}_id", "status", by, where=NOT_KEPT) for by in _ORDERS),
        *(_library_index(f"ix_documents_kept_{by}", by, where=KEPT) for by in _ORDERS),
        *(_library_index(f"ix_documents_partly_{by}", by, where=PARTLY_READ, asks="reading") for by in _ORDERS),
        _index_without_bin("ix_documents_folder", "org_id", "folder", "id", where="folder IS NOT NULL"),
        # Tells the models that an org's vectors are of, without reading all documents.
        _index_without_bin("ix_documents_org_id_embedding_model_id", "org_id", "embedding_model", "id"),
        # Finds what an earlier reader read, of all orgs, without reading all documents.
        _index_without_bin("ix_documents_read_by", "read_by", "org_id", "id", "reread_for", where="status = 'READY'"),
        # Counts the documents of an org that were queued for some versions.
        # Finds those whose passages are yet to be found by their words, after an upgrade.
        _partial_index("ix_documents_words_by", "id", where="words_by IS NULL"),
        _partial_index("ix_documents_reread_for", "org_id", "reread_for", "id", where="reread_for IS NOT NULL"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    # The container that it lies in, its place there, from 0, and the name that it has there, with folders.
    parent_id: Mapped[UUID | None] = mapped_column(Uuid)
    part_number: Mapped[int | None] = mapped_column(Integer)
    path_in_parent: Mapped[str | None] = mapped_column(Text)
    # The folder that it was uploaded with, as people see it: "Tax/2025". It is no path of this machine.
    folder: Mapped[str | None] = mapped_column(Word)
    filename: Mapped[str] = mapped_column(Text)
    content_type: Mapped[str] = mapped_column(Text)
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(Text)
    blob_path: Mapped[str] = mapped_column(Text)
    # The copy that needs no password, of a file that does.
    opened_path: Mapped[str | None] = mapped_column(Text)
    # Where the answers that were paid for lie, in a folder that no other document ever has: deleting the document
    # may clear it while the same bytes are uploaded anew. NULL for documents from before this column.
    answers_folder: Mapped[str | None] = mapped_column(Text)
    status: Mapped[str] = mapped_column(Text, default="PROCESSING")
    title: Mapped[str | None] = mapped_column(Text)
    page_count: Mapped[int | None] = mapped_column(Integer)
    # The pages that were read, well or in part: 0 where nothing here reads the file, NULL where its format has no
    # pages, and for documents that were processed before this column.
    pages_read: Mapped[int | None] = mapped_column(Integer)
    # How well what is served was read; NULL where nothing was, and for documents from before these columns.
    reading: Mapped[str | None] = mapped_column(Text)
    # Whether nobody called the document so, and its title is its first heading.
    title_is_guess: Mapped[bool | None]
    kind: Mapped[str | None] = mapped_column(Text)
    # The day that it is of, and what says so: the kind of a field, a mail, or the file's metadata.
    document_date: Mapped[date | None] = mapped_column(Date)
    document_date_from: Mapped[str | None] = mapped_column(Text)
    # What was found where a person says otherwise: by the fact's name (see webapp/library/facts.py), the values that
    # its columns would have; NULL where nobody does.
    found: Mapped[dict[str, Any] | None] = mapped_column(Json)
    note: Mapped[str | None] = mapped_column(Text)
    favourite: Mapped[bool | None]
    language: Mapped[str | None] = mapped_column(Text)
    # Nobody who shows a document needs it, and to read 50 of them takes longer than the rest of a page.
    embedding: Mapped[Any | None] = mapped_column(Embedding, deferred=True)
    embedding_model: Mapped[str | None] = mapped_column(Text)
    # By which version, names and language the words of its passages were indexed; NULL where they are yet to be.
    words_by: Mapped[str | None] = mapped_column(Text)
    # How many files in it were not unpacked because a password locks them; NULL where none, or nobody has counted.
    locked_parts: Mapped[int | None] = mapped_column(Integer)
    warnings: Mapped[list[str] | None] = mapped_column(Json)
    # Which reader read the result that is served (webapp/readers/versions.py); NULL until that has been found out for
    # documents from before this column. And the versions of all readers for which it was last to be read again.
    read_by: Mapped[str | None] = mapped_column(Text)
    reread_for: Mapped[str | None] = mapped_column(Text)
    # The run whose result readers see; no foreign key, since runs already point at documents.
    published_run_id: Mapped[UUID | None] = mapped_column(Uuid)
    # When and by whom it was put into the bin, and together with what: itself, or the container that it lies in.
    deleted_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    deleted_by: Mapped[str | None] = mapped_column(Text)
    deleted_with: Mapped[UUID | None] = mapped_column(Uuid)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now(), onupdate=now())

    @property
    def readable_path(self) -> str:
        """The blob that is read and drawn: the uploaded file, or its opened copy."""
        return self.opened_path or self.blob_path

    @property
    def has_text(self) -> bool:
        """Whether a complete result with something to read is served, of the newest run or of an earlier one."""
        return self.published_run_id is not None and self.pages_read != 0

    @property
    def is_kept(self) -> bool:
        """Whether it is a file that nothing here reads, and nothing is left to do."""
        return self.status == DocumentStatus.READY and self.pages_read == 0

    @property
    def is_partly_read(self) -> bool:
        """Whether some of the text that is served is missing, or may be wrong."""
        return self.has_text and self.reading == "in_part"

    @property
    def chosen_title(self) -> str | None:
        """Its title, unless that is a guess."""
        return None if self.title_is_guess else self.title


class DocumentWord(Base):
    """A word of a document's file name or title, by whose beginning the document is found."""

    __tablename__ = "document_words"
    __table_args__ = (
        belongs_to_document(),
        Index("ix_document_words_org_id_word_document_id", "org_id", "word", "document_id"),
    )

    # The whole row is its key, so an index answers without the table.
    org_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    document_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    word: Mapped[str] = mapped_column(Word, primary_key=True)


# The rules of a row, which no statement can break.
_RULES_OF_RUNS = {
    "state": "state IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED')",
    "finished": "(state IN ('SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED')) = (finished_at IS NOT NULL)",
    "failure": "(state IN ('FAILED', 'CANCELLED')) = (failure_type IS NOT NULL)",
    "started": "state NOT IN ('RUNNING', 'SUCCEEDED', 'TIMED_OUT') OR started_at IS NOT NULL",
    "not_started": "state <> 'QUEUED' OR started_at IS NULL",
    "failure_type": (
        "failure_type IN ('PROCESS_TERMINATED', 'STEP_FAILED', 'ATTEMPTS_EXHAUSTED', 'BAD_INPUT', 'CANCELLED')"
    ),
    "trigger": "trigger IN ('UPLOAD', 'REPROCESS', 'RETRY', 'CONTINUED', 'REREAD', 'REEMBED')",
}


LIVE_REREAD = "trigger = 'REREAD' AND state IN ('QUEUED', 'RUNNING')"


class ProcessingRun(Base):
    """A run: one pass over a document from beginning to end; never deleted, never reopened."""

    __tablename__ = "processing_runs"
    __table_args__ = (
        *row_rules("run_is_possible(state, failure_type, trigger, started_at, finished_at)", _RULES_OF_RUNS),
        belongs_to_document(),
        UniqueConstraint("org_id", "id"),
        # What jobs refer to: a run and its document, together. It also finds the runs of a document.
        UniqueConstraint("org_id", "document_id", "id"),
        Index(
            "uq_processing_runs_one_running",
            "document_id",
            unique=True,
            postgresql_where=text("state = 'RUNNING'"),
            sqlite_where=text("state = 'RUNNING'"),
        ),
        Index(
            "ix_processing_runs_live",
            "started_at",
            postgresql_where=text("state IN ('QUEUED', 'RUNNING')"),
            sqlite_where=text("state IN ('QUEUED', 'RUNNING')"),
        ),
        Index(
            "ix_processing_runs_live_rereads",
            "org_id",
            postgresql_where=text(LIVE_REREAD),
            sqlite_where=text(LIVE_REREAD),
        ),
        Index("ix_processing_runs_document_id_created_at_id", "document_id", "created_at", "id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    document_id: Mapped[UUID] = mapped_column(Uuid)
    state: Mapped[str] = mapped_column(Text, default="QUEUED")
    failure_type: Mapped[str | None] = mapped_column(Text)
    # The finer code behind a failure (ENCRYPTED, CORRUPT …); pages have a sentence for each.
    failure_code: Mapped[str | None] = mapped_column(Text)
    error: Mapped[str | None] = mapped_column(Text)
    trigger: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class RunEvent(Base):
    """One line of a run's timeline."""

    __tablename__ = "run_events"
    __table_args__ = (
        belongs_to_run(),
        belongs_to_document(),
        Index("ix_run_events_document_id_org_id_id", "document_id", "org_id", "id"),
        Index("ix_run_events_org_id_run_id", "org_id", "run_id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    document_id: Mapped[UUID] = mapped_column(Uuid)
    run_id: Mapped[UUID] = mapped_column(Uuid)
    job_id: Mapped[UUID | None] = mapped_column(Uuid)
    kind: Mapped[str] = mapped_column(Text)
    step: Mapped[str | None] = mapped_column(Text)
    details: Mapped[dict[str, Any] | None] = mapped_column(Json)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class DocumentField(Base):
    """A named value that was read from a document."""

    __tablename__ = "document_fields"
    __table_args__ = (
        belongs_to_document(),
        CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
        UniqueConstraint("document_id", "ordinal"),
        Index("ix_document_fields_org_id_document_id", "org_id", "document_id"),
        # The queue of those that a person should look at.
        _partial_index("ix_document_fields_to_check", "org_id", "check_order", "id", where="check_order IS NOT NULL"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    document_id: Mapped[UUID] = mapped_column(Uuid)
    ordinal: Mapped[int] = mapped_column(Integer)
    name: Mapped[str] = mapped_column(Text)
    value: Mapped[str] = mapped_column(Text)
    confidence: Mapped[float | None] = mapped_column(Float)
    page: Mapped[int | None] = mapped_column(Integer)
    polygon: Mapped[list[float] | None] = mapped_column(Json)
    kind: Mapped[str | None] = mapped_column(Text)
    """What the value means, where that is known; `normalized` is the value as programs read it."""
    normalized: Mapped[str | None] = mapped_column(Text)
    doubt: Mapped[str | None] = mapped_column(Text)
    """The code of what contradicts the value."""
    check_order: Mapped[float | None] = mapped_column(Float)
    """When it is its turn to be checked by a person: -1 where something contradicts it, else how sure its reader was;
    NULL where nobody need look at it, or somebody has."""


class DocumentTable(Base):
    """A table that was read from a document: rows of cells."""

    __tablename__ = "document_tables"
    __table_args__ = (
        belongs_to_document(),
        UniqueConstraint("document_id", "ordinal"),
        Index("ix_document_tables_org_id_document_id", "org_id", "document_id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    document_id: Mapped[UUID] = mapped_column(Uuid)
    ordinal: Mapped[int] = mapped_column(Integer)
    page: Mapped[int | None] = mapped_column(Integer)
    caption: Mapped[str | None] = mapped_column(Text)
    rows: Mapped[list[list[str]]] = mapped_column(Json)
    columns: Mapped[list[str] | None] = mapped_column(Json)
    """What each column holds, where that is known."""
    values: Mapped[list[list[Any]] | None] = mapped_column(Json)
    """Row, column and value of each cell that is shown in another way than its value."""
    spans: Mapped[list[list[int]] | None] = mapped_column(Json)
    """Row, column, number of rows and of columns of each cell that takes several places."""


class Artifact(Base):
    """A blob that a step produced and that readers are served."""

    __tablename__ = "artifacts"
    __table_args__ = (belongs_to_document(), Index("ix_artifacts_org_id_document_id", "org_id", "document_id"))

    document_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    kind: Mapped[str] = mapped_column(Text, primary_key=True)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    path: Mapped[str] = mapped_column(Text, unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class ReplacedArtifact(Base):
    """A blob that readers were served until a newer result replaced it.

    Readers that were given its path before may still open it, so it is removed a day later.
    """

    __tablename__ = "replaced_artifacts"
    __table_args__ = (
        belongs_to_document(),
        Index("ix_replaced_artifacts_replaced_at", "replaced_at"),
        Index("ix_replaced_artifacts_org_id_document_id", "org_id", "document_id"),
    )

    path: Mapped[str] = mapped_column(Text, primary_key=True)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    document_id: Mapped[UUID] = mapped_column(Uuid)
    replaced_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class OrgUsage(Base):
    """How much an org's files take, in several parts that are added up: see `webapp.library.usage`."""

    __tablename__ = "org_usage"

    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"), primary_key=True)
    part: Mapped[int] = mapped_column(Integer, primary_key=True)
    stored_bytes: Mapped[int] = mapped_column(BigInteger)
