"""The stage `analyze`: a summary, topics and action items from a transcript."""

import json
from dataclasses import asdict, dataclass, replace

from webapp.pipeline.artifacts import artifact_path, digest
from webapp.pipeline.audio import load_sound, speech
from webapp.pipeline.paid_calls.kept_answers import operation_path
from webapp.pipeline.paid_calls.ledger import record_saved
from webapp.pipeline.remote_work import Progress, RemotePiece, RemoteWork
from webapp.pipeline.source import find_source
from webapp.pipeline.steps import StageContext
from webapp.pipeline.transcribe import load_transcript
from webapp.pipeline.transcript import clock_time, write
from webapp.pipeline.unsaved import Stored
from webapp.providers.speech_ports import Analysis, Point, Sound, Transcript
from webapp.providers.speech_text import cleaned_analysis
from webapp.readers.cleaning import clean_line
from webapp.readers.extraction import Extraction, Field
from webapp.runs.stages import INDEX, TAKE_NOTES

OPERATION = "analyze"


@dataclass(frozen=True)
class NotesOf(RemotePiece[Analysis]):
    """One call for the notes on a whole transcript."""

    context: StageContext
    transcript: Transcript

    @property
    def timeout_seconds(self) -> float:
        """Notes may take as long as the run has left."""
        return self.context.remaining_seconds()

    def start(self, progress: Progress) -> bytes:
        """Ask the analyst for the notes."""
        found = speech(self.context).analyst.analyze(self.transcript.segments, timeout_seconds=self.timeout_seconds)
        return found.to_json()

    def read(self, answer: bytes) -> Analysis:
        """Read a stored answer."""
        return Analysis.from_json(answer)


@dataclass(frozen=True)
class Noted:
    """The path of the notes, and how many segments they are about."""

    extraction_path: str
    analysis_path: str
    segments: int


def take_notes(context: StageContext) -> None:
    """Run the stage: have notes taken, put the recording into the form of any document, and hand it on."""
    context.step(
        TAKE_NOTES,
        lambda: _compute(context),
        lambda result: _store(context, result),
        end=lambda: context.hand_on(INDEX),
    )


def clean_notes(context: StageContext, data: bytes) -> bytes:
    """Notes that a program over HTTP took, made fit to be stored; ValueError for anything else."""
    notes = cleaned_analysis(Analysis.from_json(data), len(load_transcript(context).segments))
    if not notes.summary:
        raise ValueError("not a valid Analysis: the summary is empty")
    named = replace(notes, analyst=clean_line(notes.analyst) or "http", version=clean_line(notes.version) or "")
    return named.to_json()


def take_over_notes(context: StageContext, path: str) -> None:
    """Run the stage with notes that a program over HTTP took; they lie at `path`."""
    context.step(
        TAKE_NOTES,
        lambda: _from_http(context, path),
        lambda noted: Stored(
            artifacts={"extraction": noted.extraction_path, "analysis": noted.analysis_path},
            details={"segments": noted.segments},
        ),
        end=lambda: context.hand_on(INDEX),
    )


def _from_http(context: StageContext, path: str) -> Noted:
    transcript, sound = load_transcript(context), load_sound(context)
    notes = Analysis.from_json(context.providers.blobs.read_bytes(path))
    extraction_path = _put_extraction(context, as_extraction(transcript, sound, notes))
    return Noted(extraction_path, path, len(transcript.segments))


def _compute(context: StageContext) -> Noted:
    transcript, sound = load_transcript(context), load_sound(context)
    path, segments = _answer_path(context, transcript), len(transcript.segments)
    piece = NotesOf(path, operation_path(path), segments, context, transcript)
    (analysis,) = RemoteWork(context, speech(context).analyst.name, OPERATION, [piece]).finish()
    return Noted(_put_extraction(context, as_extraction(transcript, sound, analysis)), path, segments)


def _put_extraction(context: StageContext, extraction: Extraction) -> str:
    data = extraction.to_json()
    path = artifact_path(context, "extraction", data, "json")
    context.providers.blobs.put_bytes(path, data)
    return path


def _answer_path(context: StageContext, transcript: Transcript) -> str:
    analyst = speech(context).analyst
    # This JSON is hashed into the path, so it must stay as earlier versions wrote it.
    written = json.dumps(asdict(transcript), ensure_ascii=False, separators=(",", ":")).encode()
    key = digest(f"{analyst.version}\n{analyst.options_key()}\n{digest(written)}".encode())[:16]
    return f"{find_source(context).answers_folder}notes-{analyst.name}-{key}.json"


def as_extraction(transcript: Transcript, sound: Sound, analysis: Analysis) -> Extraction:
    """A recording in the form of any document: its text, and the notes as fields."""
    return Extraction(
        extractor=analysis.analyst,
        version=analysis.version,
        markdown=write(transcript).markdown,
        title=sound.title,
        language=transcript.language,
        fields=tuple(_fields(transcript, sound, analysis)),
        warnings=sound.warnings,
        partial=bool(sound.warnings),
    )


def _fields(transcript: Transcript, sound: Sound, analysis: Analysis) -> list[Field]:
    speakers = dict.fromkeys(segment.speaker for segment in transcript.segments if segment.speaker)
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
    reused = record_saved(context, speech(context).analyst.name, OPERATION, result.segments)
    artifacts = {"extraction": result.extraction_path, "analysis": result.analysis_path}
    return Stored(artifacts=artifacts, details={"segments": result.segments}, reused=reused)
