"""Transcribes speech with OpenAI's transcription, or any server that speaks its protocol.

Whisper models answer with sentences and their times. GPT models know no times, so they are given
short pieces, over which the sentences are spread; the diarising one tells speakers apart.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai

from webapp.provider_errors import ProviderUnavailable
from webapp.providers.openai.client import OpenAIRole, unusable
from webapp.providers.speech_files import CutFile
from webapp.providers.speech_ports import Clip, Operation, Segment, Transcript
from webapp.providers.speech_text import cleaned, spread

# Part of the cache's key: count it up when the same sound would give another result.
RULES = 1
TYPE = "audio/ogg"
# GPT models take 25 minutes, Whisper 25 MB.
LONG_SECONDS, SHORT_SECONDS = 1_200.0, 60.0
LANGUAGES = {
    "english": "en", "russian": "ru", "german": "de", "french": "fr", "spanish": "es", "italian": "it",
    "portuguese": "pt", "dutch": "nl", "polish": "pl", "ukrainian": "uk", "turkish": "tr", "arabic": "ar",
    "chinese": "zh", "japanese": "ja",
}  # fmt: skip


class OpenAIRecogniser(OpenAIRole):
    """A Recogniser that asks a server."""

    tells_channels = False
    result_wait_seconds = 0.0

    def __init__(self, client: openai.OpenAI, model: str, cut: CutFile, *, language: str = "auto") -> None:
        super().__init__(client)
        self.version = f"{RULES}+{model}"
        self._model = model
        self._format = _format(model)
        self.clip_seconds_max = SHORT_SECONDS if self._format == "json" else LONG_SECONDS
        self._language = language
        self._cut = cut

    def options_key(self) -> str:
        """Give the options that can change a result."""
        return f"language={self._language}"

    def start(
        self, audio: Path, clip: Clip, *, timeout_seconds: float, progress: Callable[[float], None]
    ) -> Transcript | Operation:
        """Transcribe a clip at once."""
        with self._cut(audio, clip, timeout_seconds) as file:
            content = self._ask(file, clip.language or self._language, timeout_seconds)
        progress(1.0)
        try:
            return cleaned(self._transcript(json.loads(content), clip))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise unusable("transcription: the answer could not be read") from error

    def fetch(self, operation: Operation, clip: Clip) -> Transcript | None:
        """There are no operations here: `start` answers."""
        raise ProviderUnavailable(f"there is no operation {operation.id}")

    def forget(self, operation: Operation) -> None:
        """Nothing is kept there."""

    def _ask(self, file: Path, language: str, timeout_seconds: float) -> bytes:
        more: dict[str, Any] = {"response_format": self._format}
        if self._format == "verbose_json":
            more["timestamp_granularities"] = ["segment"]
        if self._format == "diarized_json":
            more["chunking_strategy"] = "auto"
        if language != "auto":
            more["language"] = language.partition("-")[0]
        with file.open("rb") as opened, self._translated("transcription"):
            answer = self._client.audio.transcriptions.with_raw_response.create(
                file=("recording.ogg", opened, TYPE),
                model=self._model,
                timeout=timeout_seconds,
                **more,
            )
            content: bytes = answer.http_response.content
        return content

    def _transcript(self, found: dict[str, Any], clip: Clip) -> Transcript:
        named = str(found.get("language") or "").lower()
        language = LANGUAGES.get(named, named if len(named) == 2 else None)
        rows = found.get("segments")
        if not rows:
            return Transcript(tuple(spread(str(found["text"]), clip.start, clip.end)), language)
        return Transcript(tuple(_segment(row, clip) for row in rows), language)


def _format(model: str) -> str:
    if model.startswith("gpt-"):
        return "diarized_json" if "diarize" in model else "json"
    return "verbose_json"


def _segment(row: dict[str, Any], clip: Clip) -> Segment:
    speaker = row.get("speaker")
    return Segment(
        start=min(clip.end, clip.start + max(0.0, float(row["start"]))),
        end=min(clip.end, clip.start + max(0.0, float(row["end"]))),
        text=str(row["text"]),
        speaker=f"Speaker {speaker}" if speaker else None,
    )
