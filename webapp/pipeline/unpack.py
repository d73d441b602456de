"""The stage `unpack`: makes documents of the files that lie in one, in batches, each with its place as the checkpoint.

It comes between reading the container and publishing its own text, so a container is READY once its parts have rows;
their own runs go on by themselves. What has a row already keeps it: a container that is processed again gets the parts
that it lacks.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from webapp.batches import batches
from webapp.db import reading
from webapp.library import lookup, parts
from webapp.library.intake import receive
from webapp.library.parts import ContainerDocument, HomeGone, NewPart
from webapp.pipeline.artifacts import artifact_path
from webapp.pipeline.extract import load_extraction
from webapp.pipeline.left_out import LeftOut
from webapp.pipeline.source import SourceFile, find_source
from webapp.pipeline.steps import StageContext
from webapp.pipeline.temporary_files import PartOfFile, temporary_file
from webapp.pipeline.unsaved import Stored
from webapp.providers.ports import Load, Unpacker
from webapp.readers.archives.members import NAMELESS, Entry, Obstacle
from webapp.runs.checkpoint import count_piece
from webapp.runs.stages import ADD_PARTS, INDEX, UNPACK

PARTS_PER_BATCH = 200
# What is fetched at once: an archive that is packed as a whole is read from its beginning for each load.
LOAD_FILES, LOAD_BYTES = 2_000, 256 << 20
# The checkpoint's entries: the place of the next member, and what was not unpacked so far.
PLACE, LEFT_OUT = "unpack_place", "left_out"


class HandedOn(Exception):
    """The job has ended, and the next stage's was enqueued: this one has nothing more to do."""


class _Full(Exception):
    """As much lies in the uploaded container as may: no more is added."""


def hand_on_container(context: StageContext) -> None:
    """Where files lie in the document, end the job, and enqueue the stage that unpacks them: HandedOn."""
    if context.providers.unpacker is None or not load_extraction(context).parts:
        return
    with context.transaction():
        context.hand_on(UNPACK)
    raise HandedOn


def unpack(context: StageContext) -> None:
    """Run the stage: add the parts that have no row yet, and say of the container what was not unpacked."""
    context.step(ADD_PARTS, lambda: _compute(context), lambda stored: stored, end=lambda: context.hand_on(INDEX))


def _compute(context: StageContext) -> Stored:
    source, left_out = find_source(context), LeftOut.of(context.checkpoint.get(LEFT_OUT))
    with reading(context.org_id):
        tree = parts.tree(context.org_id, context.document_id)
    if tree.depth >= context.tree_limits.depth:
        left_out.cut = Obstacle.TOO_DEEP
    elif (unpacker := context.providers.unpacker) is not None and unpacker.accepts(source.content_type):
        left_out = _Unpacking(context, source, unpacker, left_out).run()
    return _with_warnings(context, left_out)


def _with_warnings(context: StageContext, left_out: LeftOut) -> Stored:
    """The container's own text, with what is to be said of its parts."""
    sentences = left_out.sentences()
    if not sentences:
        return Stored()
    found = load_extraction(context)
    found = replace(found, warnings=(*found.warnings, *sentences), locked_parts=left_out.locked)
    data = found.to_json()
    path = artifact_path(context, "extraction", data, "json")
    context.make("extraction", path, data)
    # The next stage's job reads it, so it has to be there before this one ends.
    context.save()
    return Stored(artifacts={"extraction": path})


class _Unpacking:
    """The unpacking of one container, from where an earlier attempt ended."""

    def __init__(self, context: StageContext, source: SourceFile, unpacker: Unpacker, left_out: LeftOut) -> None:
        self._context, self._source, self._unpacker, self._left_out = context, source, unpacker, left_out
        self._blobs = context.providers.blobs
        self._container = ContainerDocument(
            context.org_id, context.document_id, context.job_attempts, context.tree_limits
        )
        self._expected = load_extraction(context).parts or 1

    def run(self) -> LeftOut:
        """Add all parts, or as many as may lie in one container; returns what was left out."""
        with self._blobs.local_copy(self._source.blob_path) as file:
            try:
                while not self._load(file):
                    pass
            except _Full:
                self._left_out.cut = Obstacle.TOO_LARGE
        return self._left_out

    @property
    def _place(self) -> int:
        return int(self._context.checkpoint.get(PLACE, 0))

    def _load(self, file: Path) -> bool:
        """Fetch the next files and add them; returns whether they were the last."""
        context = self._context
        with temporary_file(self._blobs.incoming(), "unpacked-") as target:
            found = self._unpacker.unpack(
                file,
                self._source.content_type,
                target,
                Load(self._place, LOAD_FILES, LOAD_BYTES),
                timeout_seconds=min(context.extract_timeout_seconds, context.remaining_seconds()),
                progress=lambda _: context.progress(self._place / self._expected),
            )
            for batch in batches(found.entries, PARTS_PER_BATCH):
                context.check()
                self._add(target, batch)
        self._left_out.cut = found.cut
        return found.is_last

    def _add(self, target: Path, batch: Sequence[Entry]) -> None:
        """Add a batch, again where a document that it was to share a file with has gone meanwhile."""
        left_out = self._left_out.with_entries(batch)
        whole = [entry for entry in batch if entry.obstacle is None]
        with reading(self._context.org_id):
            there = parts.numbers(self._context.org_id, self._context.document_id, [each.number for each in whole])
        new = [entry for entry in whole if entry.number not in there]
        while True:
            try:
                self._store(target, new, batch[-1].number + 1, left_out)
            except HomeGone:
                continue
            self._left_out = left_out
            return

    def _store(self, target: Path, new: Sequence[Entry], place: int, left_out: LeftOut) -> None:
        """Store the files, then their rows with the place that is reached, in one transaction; HomeGone, _Full."""
        context = self._context
        with ExitStack() as files:
            stored = parts.store(self._blobs, self._container, list(self._received(target, new, files)))
            with self._place_restored_unless_committed(), context.transaction():
                if stored:
                    self._refuse_too_many(stored)
                    parts.add(context.queue, self._container, stored)
                count_piece(context.checkpoint)
                context.checkpoint[LEFT_OUT] = left_out.plain()
                context.remember(PLACE, place, min(1.0, place / self._expected))

    @contextmanager
    def _place_restored_unless_committed(self) -> Iterator[None]:
        """The end of an attempt may write the checkpoint: what was rolled back must not be taken for done then."""
        checkpoint = self._context.checkpoint
        before = {name: checkpoint[name] for name in (PLACE, LEFT_OUT) if name in checkpoint}
        try:
            yield
        except BaseException:
            for name in (PLACE, LEFT_OUT):
                checkpoint.pop(name, None)
            checkpoint.update(before)
            raise

    def _received(self, target: Path, new: Sequence[Entry], files: ExitStack) -> Iterator[NewPart]:
        for entry in new:
            with PartOfFile(target, entry.offset, entry.size) as part:
                incoming = receive(self._blobs.incoming(), part, entry.size)
            files.callback(incoming.discard)
            incoming.close()
            yield NewPart(entry.number, entry.path or self._name_without_end(), incoming)

    def _name_without_end(self) -> str:
        """The name of what is packed alone, where nothing tells it: "report.csv" of "report.csv.gz"."""
        with reading(self._context.org_id):
            document = lookup.get(self._context.org_id, self._context.document_id)
        return PurePosixPath(document.filename).stem if document else NAMELESS

    def _refuse_too_many(self, stored: Sequence[parts.StoredPart]) -> None:
        tree, limits = parts.tree(self._context.org_id, self._context.document_id), self._context.tree_limits
        size = sum(part.size_bytes for part in stored)
        if tree.files + len(stored) > limits.files or tree.bytes + size > limits.bytes:
            raise _Full
