"""The parts of a recording: its sound to listen to, what was said to read, subtitles to take along."""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, jsonify

from webapp.db import reading
from webapp.documents.model import Document
from webapp.library import lookup
from webapp.pipeline.transcript import as_srt, as_text, as_vtt
from webapp.providers.speech_ports import Point, Transcript
from webapp.web import blobs
from webapp.web.access import get_document, org_id, services
from webapp.web.document import recordings
from webapp.web.errors import Problem
from webapp.web.security_log import note_download

pages = Blueprint("audio", __name__, url_prefix="/documents/<uuid:document_id>")


@pages.get("/audio")
def sound(document_id: UUID) -> Response:
    """The sound as Ogg Opus, whole or in ranges: made by us, so a page may play it."""
    _, paths = _with_paths(document_id)
    path = paths.get("audio")
    if path is None:
        raise Problem(404, detail="This document has no sound to play.")
    return blobs.play(services().providers.blobs, path)


@pages.get("/transcript")
def transcript(document_id: UUID) -> Response:
    """Everything that was said, with its times, and the notes: for programs."""
    found = recordings.find(services(), *_with_paths(document_id))
    if found is None:
        raise Problem(404, detail="This document has no transcript.")
    analysis = found.analysis
    return jsonify(
        {
            "duration_seconds": found.duration,
            "channels": found.sound.channels,
            "language": found.transcript.language,
            "segments": [
                {"start": each.start, "end": each.end, "speaker": each.speaker, "text": each.text}
                for each in found.transcript.segments
            ],
            "analyst": analysis.analyst,
            "summary": analysis.summary,
            "topics": analysis.topics,
            "action_items": _points(analysis.action_items),
            "questions": _points(analysis.questions),
            "promises": _points(analysis.promises),
        }
    )


@pages.get("/transcript.vtt")
def vtt(document_id: UUID) -> Response:
    """What was said as WebVTT."""
    return _written(document_id, "vtt", "text/vtt; charset=utf-8", as_vtt)


@pages.get("/transcript.srt")
def srt(document_id: UUID) -> Response:
    """What was said as SubRip."""
    return _written(document_id, "srt", "application/x-subrip; charset=utf-8", as_srt)


@pages.get("/transcript.txt")
def text(document_id: UUID) -> Response:
    """What was said as plain text."""
    return _written(document_id, "txt", "text/plain; charset=utf-8", as_text)


def _with_paths(document_id: UUID) -> tuple[Document, dict[str, str]]:
    """A document, and where the artifacts of its result lie: in one snapshot."""
    with reading(org_id()):
        document = get_document(document_id)
        return document, lookup.artifact_paths(document.org_id, document_id)


def _written(document_id: UUID, ending: str, content_type: str, write: Callable[[Transcript], str]) -> Response:
    document, paths = _with_paths(document_id)
    transcript = recordings.transcript(services(), paths)
    if transcript is None:
        raise Problem(404, detail="This document has no transcript.")
    note_download(document_id, ending, document.filename)
    name = f"{PurePosixPath(document.filename).stem}.{ending}"
    return blobs.download(write(transcript).encode(), name, content_type)


def _points(points: tuple[Point, ...]) -> list[dict[str, Any]]:
    return [{"text": point.text, "segment": point.segment} for point in points]
