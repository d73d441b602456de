"""Hears speech with OpenAI's transcription, or any server that speaks its protocol.

Whisper models answer with sentences and their times. GPT models know no times, so they are given
short pieces, over which the sentences are spread; the diarising one tells speakers apart.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import openai

from webapp.providers.errors import ProviderUnavailable
from webapp.providers.openai_client import connect
from webapp.providers.openai_errors import openai_error
from webapp.providers.speech_files import CutFile
from webapp.providers.speech_ports import Clip, Heard, Operation, Segment
from webapp.providers.speech_text import cleaned, spread
from webapp.providers.vendor_http import redactor

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


class OpenAIRecogniser:
    """A Recogniser that asks a server."""

    name = "openai"
    tells_channels = False
    result_wait_seconds = 0.0

    def __init__(self, client: openai.OpenAI, model: str, cut: CutFile, *, language: str = "auto") -> None:
        self.version = f"{RULES}+{model}"
        self._client = client
        self._model = model
        self._format = _format(model)
        self.window_seconds = SHORT_SECONDS if self._format == "json" else LONG_SECONDS
        self._language = language
        self._cut = cut
        self._redact = redactor(client.api_key)

    @classmethod
    def connect(
        cls, base_url: str, api_key: str, model: str, cut: CutFile, *, language: str, timeout_seconds: float
    ) -> Self:
        """Make the client; it connects when it is first used."""
        return cls(connect(base_url, api_key, timeout_seconds), model, cut, language=language)

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def options_key(self) -> str:
        """Give the options that can change a result."""
        return f"language={self._language}"

    def check(self) -> None:
        """Ask for the list of models, which is free; a server that has none is at least there."""
        try:
            self._client.models.list()
        except openai.NotFoundError:
            return
        except openai.OpenAIError as error:
            raise openai_error(error, "models", self._redact) from error

    def start(
        self, audio: Path, clip: Clip, *, timeout_seconds: float, progress: Callable[[float], None]
    ) -> Heard | Operation:
        """Hear a clip at once."""
        with self._cut(audio, clip, timeout_seconds) as file:
            content = self._ask(file, timeout_seconds)
        progress(1.0)
        try:
            return cleaned(self._heard(json.loads(content), clip))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ProviderUnavailable("transcription: the answer could not be read") from error

    def fetch(self, operation: Operation, clip: Clip) -> Heard | None:
        """There are no operations here: `start` answers."""
        raise ProviderUnavailable(f"nobody works on {operation.id}")

    def forget(self, operation: Operation) -> None:
        """Nothing is kept there."""

    def _ask(self, file: Path, timeout_seconds: float) -> bytes:
        more: dict[str, Any] = {"response_format": self._format}
        if self._format == "verbose_json":
            more["timestamp_granularities"] = ["segment"]
        if self._format == "diarized_json":
            more["chunking_strategy"] = "auto"
        if self._language != "auto":
            more["language"] = self._language.partition("-")[0]
        try:
            with file.open("rb") as opened:
                answer = self._client.audio.transcriptions.with_raw_response.create(
                    file=("recording.ogg", opened, TYPE),
                    model=self._model,
                    timeout=timeout_seconds,
                    **more,
                )
                content: bytes = answer.http_response.content
        except openai.OpenAIError as error:
            raise openai_error(error, "transcription", self._redact) from error
        return content

    def _heard(self, found: dict[str, Any], clip: Clip) -> Heard:
        named = str(found.get("language") or "").lower()
        language = LANGUAGES.get(named, named if len(named) == 2 else None)
        rows = found.get("segments")
        if not rows:
            return Heard(tuple(spread(str(found["text"]), clip.start, clip.end)), language)
        return Heard(tuple(_segment(row, clip) for row in rows), language)


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
