"""The parts of a recording: its sound to listen to, what was said to read, subtitles to take along."""

from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, jsonify

from webapp.documents.model import Document
from webapp.pipeline.transcript import as_srt, as_text, as_vtt
from webapp.providers.speech_ports import Heard, Point
from webapp.web import blobs, recordings
from webapp.web.access import get_document, services
from webapp.web.errors import Problem

pages = Blueprint("audio", __name__, url_prefix="/documents/<uuid:document_id>")

_FORMS = {
    "vtt": (as_vtt, "text/vtt; charset=utf-8"),
    "srt": (as_srt, "application/x-subrip; charset=utf-8"),
    "txt": (as_text, "text/plain; charset=utf-8"),
}


@pages.get("/audio")
def sound(document_id: UUID) -> Response:
    """The sound as Ogg Opus, whole or in ranges: made by us, so a page may play it."""
    document = get_document(document_id)
    path = recordings.path_of(document.org_id, document.id, "audio")
    if path is None:
        raise Problem(404, detail="This document has no sound to play.")
    return blobs.play(services().providers.blobs, path)


@pages.get("/transcript")
def transcript(document_id: UUID) -> Response:
    """Everything that was said, with its times, and the notes: for programs."""
    found = recordings.find(services(), get_document(document_id))
    if found is None:
        raise Problem(404, detail="This document has no transcript.")
    analysis = found.analysis
    return jsonify(
        {
            "duration_seconds": found.duration,
            "channels": found.sound.channels,
            "language": found.heard.language,
            "segments": [
                {"start": each.start, "end": each.end, "speaker": each.speaker, "text": each.text}
                for each in found.heard.segments
            ],
            "analyst": analysis.analyst,
            "summary": analysis.summary,
            "topics": analysis.topics,
            "action_items": _points(analysis.action_items),
            "questions": _points(analysis.questions),
            "promises": _points(analysis.promises),
        }
    )


@pages.get("/transcript.<any(vtt, srt, txt):form>")
def subtitles(document_id: UUID, form: str) -> Response:
    """What was said as WebVTT, SubRip or plain text."""
    document = get_document(document_id)
    write, content_type = _FORMS[form]
    name = f"{PurePosixPath(document.filename).stem}.{form}"
    return blobs.download(write(_heard(document)).encode(), name, content_type)


def _heard(document: Document) -> Heard:
    heard = recordings.transcript(services(), document)
    if heard is None:
        raise Problem(404, detail="This document has no transcript.")
    return heard


def _points(points: tuple[Point, ...]) -> list[dict[str, Any]]:
    return [{"text": point.text, "segment": point.segment} for point in points]
