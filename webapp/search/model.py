"""The tables of passages: chunks, the cache of their vectors, what they hold, and their connections."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    Uuid,
)
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import now
from webapp.db import Base, Embedding, UtcDateTime


class Chunk(Base):
    """A passage of a published document. Its id follows from document, text and occurrence."""

    __tablename__ = "chunks"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "document_id"], ["documents.org_id", "documents.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "id"),
        UniqueConstraint("document_id", "ordinal"),
        CheckConstraint("length(text) > 0", name="text"),
        CheckConstraint("(embedding IS NULL) = (embedding_model IS NULL)", name="embedded"),
        CheckConstraint("page_from <= page_to", name="pages"),
        CheckConstraint("time_from <= time_to", name="times"),
        # No index begins with the org and goes on with anything but the id: before it has statistics, PostgreSQL
        # would read all of the org by it, for each passage that it is to find by its id. On SQLite there is one on
        # both columns of the key, by which it finds the passages of a document that is deleted.
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    document_id: Mapped[UUID] = mapped_column(Uuid)
    ordinal: Mapped[int] = mapped_column(Integer)
    text: Mapped[str] = mapped_column(Text)
    text_sha256: Mapped[str] = mapped_column(Text)
    page_from: Mapped[int | None] = mapped_column(Integer)
    page_to: Mapped[int | None] = mapped_column(Integer)
    # Of recordings: when it was said, in seconds from the beginning.
    time_from: Mapped[float | None] = mapped_column(Float)
    time_to: Mapped[float | None] = mapped_column(Float)
    heading: Mapped[str | None] = mapped_column(Text)
    embedding: Mapped[Any | None] = mapped_column(Embedding)
    embedding_model: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class CachedEmbedding(Base):
    """The vector of a text under a model: asked for once in an org, whatever holds the text."""

    __tablename__ = "embedding_cache"

    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"), primary_key=True)
    model: Mapped[str] = mapped_column(Text, primary_key=True)
    text_sha256: Mapped[str] = mapped_column(Text, primary_key=True)
    embedding: Mapped[Any] = mapped_column(Embedding)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class QueryEmbedding(Base):
    """The vector of a search under a model. The question itself is not stored, only its hash."""

    __tablename__ = "query_embeddings"
    __table_args__ = (Index("ix_query_embeddings_org_id_used_at", "org_id", "used_at"),)

    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"), primary_key=True)
    model: Mapped[str] = mapped_column(Text, primary_key=True)
    query_sha256: Mapped[str] = mapped_column(Text, primary_key=True)
    embedding: Mapped[Any] = mapped_column(Embedding)
    used_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class ChunkValue(Base):
    """An identifying value in a passage: a number, a code, an address."""

    __tablename__ = "chunk_values"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "chunk_id"], ["chunks.org_id", "chunks.id"], ondelete="CASCADE"),
        CheckConstraint("length(value) BETWEEN 1 AND 200", name="value"),
        Index("ix_chunk_values_org_id_value", "org_id", "value"),
        Index("ix_chunk_values_org_id_document_id", "org_id", "document_id"),
        Index("ix_chunk_values_org_id_chunk_id", "org_id", "chunk_id"),
    )

    chunk_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    value: Mapped[str] = mapped_column(Text, primary_key=True)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    document_id: Mapped[UUID] = mapped_column(Uuid)


class Connection(Base):
    """Two passages of different documents that belong together, and how.

    It is stored once, with the passage that found it, and read from both ends.
    """

    __tablename__ = "connections"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "source_chunk_id"], ["chunks.org_id", "chunks.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["org_id", "target_chunk_id"], ["chunks.org_id", "chunks.id"], ondelete="CASCADE"),
        CheckConstraint("source_chunk_id <> target_chunk_id", name="two_ends"),
        CheckConstraint("kind IN ('similar', 'near_duplicate', 'shared_value')", name="kind"),
        Index("ix_connections_org_id_target_chunk_id", "org_id", "target_chunk_id"),
        Index("ix_connections_org_id_source_chunk_id", "org_id", "source_chunk_id"),
    )

    source_chunk_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    target_chunk_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    kind: Mapped[str] = mapped_column(Text, primary_key=True)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    score: Mapped[float] = mapped_column(Float)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
