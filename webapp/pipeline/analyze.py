"""The stage `analyze`: what was said -> what it was about, and passages that can be found."""

from dataclasses import dataclass

from webapp.clock import monotonic
from webapp.pipeline.artifacts import artifact_path, digest
from webapp.pipeline.audio import load_sound, speech
from webapp.pipeline.chunk import chunk
from webapp.pipeline.embed import embed
from webapp.pipeline.extract import cache_folder, find_source, save_markdown
from webapp.pipeline.ledger import record_call
from webapp.pipeline.publish import publish
from webapp.pipeline.stages import TAKE_NOTES
from webapp.pipeline.steps import StageContext, Stored
from webapp.pipeline.transcribe import load_transcript
from webapp.pipeline.transcript import clock_time, write
from webapp.providers.errors import BlobMissing
from webapp.providers.ports import Extraction, Field
from webapp.providers.speech_ports import Analysis, Heard, Point, Sound


@dataclass(frozen=True)
class Noted:
    """The notes, where they lie, and what they took."""

    extraction_path: str
    analysis_path: str
    segments: int
    seconds: float
    reused: bool


def analyze(context: StageContext) -> None:
    """All steps in their order; those that an earlier attempt finished are skipped."""
    context.step(TAKE_NOTES, lambda: _compute(context), lambda result: _store(context, result))
    save_markdown(context)
    chunk(context)
    embed(context)
    publish(context)


def _compute(context: StageContext) -> Noted:
    started = monotonic()
    heard, sound = load_transcript(context), load_sound(context)
    path = _cache_path(context, heard)
    analysis = _cached(context, path)
    reused = analysis is not None
    if analysis is None:
        analysis = speech(context).analyst.analyze(heard.segments, timeout_seconds=context.remaining_seconds())
        # Saved before it is counted: an answer that was paid for is never asked for again.
        context.providers.blobs.put_bytes(path, analysis.to_json())
    data = as_extraction(heard, sound, analysis).to_json()
    extraction_path = artifact_path(context, "extraction", data, "json")
    context.providers.blobs.put_bytes(extraction_path, data)
    return Noted(extraction_path, path, len(heard.segments), monotonic() - started, reused)


def _cache_path(context: StageContext, heard: Heard) -> str:
    analyst = speech(context).analyst
    key = digest(f"{analyst.version}\n{analyst.options_key()}\n{digest(heard.to_json())}".encode())[:16]
    return f"{cache_folder(context.org_id, find_source(context).sha256)}notes-{analyst.name}-{key}.json"


def _cached(context: StageContext, path: str) -> Analysis | None:
    try:
        return Analysis.from_json(context.providers.blobs.read_bytes(path))
    except (BlobMissing, ValueError):
        return None


def as_extraction(heard: Heard, sound: Sound, analysis: Analysis) -> Extraction:
    """A recording in the form of any document: its text, and the notes as fields."""
    return Extraction(
        extractor=analysis.analyst,
        version=analysis.version,
        markdown=write(heard).markdown,
        title=sound.title,
        language=heard.language,
        fields=tuple(_fields(heard, sound, analysis)),
        warnings=sound.warnings,
        partial=bool(sound.warnings),
    )


def _fields(heard: Heard, sound: Sound, analysis: Analysis) -> list[Field]:
    speakers = dict.fromkeys(segment.speaker for segment in heard.segments if segment.speaker)
    return [
        Field("Summary", analysis.summary),
        *(Field("Topic", topic) for topic in analysis.topics),
        *_points("Action item", analysis.action_items),
        *_points("Question", analysis.questions),
        *_points("Promise", analysis.promises),
        *(Field("Speaker", speaker) for speaker in speakers),
        Field("Duration", clock_time(sound.duration_seconds)),
    ]


def _points(name: str, points: tuple[Point, ...]) -> list[Field]:
    return [Field(name, point.text) for point in points]


def _store(context: StageContext, result: Noted) -> Stored:
    name = speech(context).analyst.name
    record_call(context, name, "analyze", units=result.segments, seconds=result.seconds, reused=result.reused)
    artifacts = {"extraction": result.extraction_path, "analysis": result.analysis_path}
    return Stored(artifacts=artifacts, details={"segments": result.segments}, reused=result.reused)
