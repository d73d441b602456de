"""Transcribes English on this machine, in sandboxed children; no account, no network.

The model knows English only. For other languages it says so instead of writing nonsense.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from webapp.provider_errors import BadInput, FailureCode, ParserCrashed, ProviderUnavailable
from webapp.providers.local.versions import installed
from webapp.providers.models.whisper import MODEL, is_there, model_folder
from webapp.providers.speech_ports import Clip, Operation, Transcript
from webapp.providers.speech_text import cleaned
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.sandbox import Sandbox

# Part of the cache's key: count it up when the same sound would give another result.
RULES = 1
MODULE = "webapp.providers.local.whisper"
CHECK_SECONDS = 30.0
LANGUAGES = ("auto", "en")


class LocalRecogniser:
    """A Recogniser on Whisper tiny.en. One clip at a time, on so many threads."""

    name = "local"
    clip_seconds_max = 300.0
    tells_channels = False
    result_wait_seconds = 0.0

    def __init__(
        self,
        models: Path,
        *,
        threads: int = 2,
        language: str = "auto",
        memory_mb: int = 1024,
        requires_locks: bool = False,
    ) -> None:
        self.version = f"{RULES}+{MODEL}+fw{installed('faster-whisper')}+ct{installed('ctranslate2')}"
        self._models = models
        self._threads = threads
        self._language = language
        self._turn = threading.Lock()
        limits = ChildLimits(memory_bytes=memory_mb << 20, threads=threads, requires_locks=requires_locks)
        self._sandbox = Sandbox((MODULE,), limits)

    def options_key(self) -> str:
        """Give the options that can change a result."""
        return "beam=1"

    def close(self) -> None:
        """End the recogniser's process."""
        self._sandbox.close()

    def check(self) -> None:
        """ProviderUnavailable, with the cure, where the model is not there."""
        if not is_there(self._models):
            raise ProviderUnavailable(f"{MODEL} is missing: run `make setup`", code=FailureCode.MODEL_MISSING)
        self._sandbox.run(f"{MODULE}:ready", {}, timeout_seconds=CHECK_SECONDS)

    def start(
        self, audio: Path, clip: Clip, *, timeout_seconds: float, progress: Callable[[float], None]
    ) -> Transcript | Operation:
        """Transcribe a clip at once."""
        if self._language.partition("-")[0].lower() not in LANGUAGES:
            raise BadInput(f"{MODEL} knows no {self._language}", code=FailureCode.LANGUAGE)
        if not is_there(self._models):
            raise ProviderUnavailable(f"{MODEL} is missing: run `make setup`", code=FailureCode.MODEL_MISSING)
        model = model_folder(self._models).absolute()
        arguments = {
            "source": str(audio.absolute()),
            "model": str(model),
            "start": clip.start,
            "end": clip.end,
            "channel": clip.channel,
            "threads": self._threads,
        }
        # One clip at a time for all callers: that bounds processors and memory.
        with self._turn:
            plain = self._sandbox.run(
                f"{MODULE}:transcribe",
                arguments,
                timeout_seconds=timeout_seconds,
                readable=(audio, model),
                progress=progress,
            )
        try:
            return cleaned(Transcript.from_plain(plain))
        except ValueError as error:
            raise ParserCrashed("the recogniser's answer has the wrong form") from error

    def fetch(self, operation: Operation, clip: Clip) -> Transcript | None:
        """There are no operations here: `start` answers."""
        raise ProviderUnavailable(f"there is no operation {operation.id}")

    def forget(self, operation: Operation) -> None:
        """Nothing is kept here."""
