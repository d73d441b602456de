"""The function that does each stage's work."""

from collections.abc import Mapping

from webapp.pipeline.analyze import analyze
from webapp.pipeline.audio import extract_audio
from webapp.pipeline.connect import detect_connections
from webapp.pipeline.embed_anew import embed_anew
from webapp.pipeline.process import process_document
from webapp.pipeline.transcribe import transcribe_poll, transcribe_start
from webapp.runs.stages import (
    ANALYZE,
    DETECT_CONNECTIONS,
    EMBED_ANEW,
    EXTRACT_AUDIO,
    PROCESS_DOCUMENT,
    TRANSCRIBE_POLL,
    TRANSCRIBE_START,
)
from webapp.worker.attempt import Handler

HANDLERS: Mapping[str, Handler] = {
    PROCESS_DOCUMENT: process_document,
    EXTRACT_AUDIO: extract_audio,
    TRANSCRIBE_START: transcribe_start,
    TRANSCRIBE_POLL: transcribe_poll,
    ANALYZE: analyze,
    DETECT_CONNECTIONS: detect_connections,
    EMBED_ANEW: embed_anew,
}
