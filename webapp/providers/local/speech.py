"""Transcribes speech on this machine, in sandboxed children; no account, no network.

Which language is spoken is said by a person or by SPEECH_LANGUAGE, or is told by the model among the library's
languages. Among all 99 that the model knows it is often wrong, and then takes ten times as long and writes nothing.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from webapp.provider_errors import BadInput, FailureCode, ParserCrashed, ProviderUnavailable
from webapp.providers.local.versions import installed
from webapp.providers.models.ocr import CODES
from webapp.providers.models.whisper import model_for
from webapp.providers.speech_ports import Clip, Operation, Transcript
from webapp.providers.speech_text import cleaned
from webapp.providers.spoken import SPOKEN, USUAL
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.sandbox import Sandbox

# Part of the cache's key: count it up when the same sound would give another result.
RULES = 2
MODULE = "webapp.providers.local.whisper"
CHECK_SECONDS = 30.0
AUTO = "auto"
_SHORT = {code: short for short, code in CODES.items()}


class LocalRecogniser:
    """A Recogniser on Whisper: base, or tiny.en where the library is all English. One clip at a time.

    `languages` are those of the library, `language` is the one that is always spoken.
    """

    name = "local"
    clip_seconds_max = 300.0
    tells_channels = False
    result_wait_seconds = 0.0

    def __init__(
        self,
        models: Path,
        *,
        threads: int = 2,
        language: str = AUTO,
        languages: Sequence[str] = (),
        memory_mb: int = 1024,
        requires_locks: bool = False,
    ) -> None:
        self._model = model_for(languages)
        self.version = f"{RULES}+{self._model.name}+fw{installed('faster-whisper')}+ct{installed('ctranslate2')}"
        self._models = models
        self._threads = threads
        self._candidates = _candidates(language, languages)
        self._turn = threading.Lock()
        limits = ChildLimits(memory_bytes=memory_mb << 20, threads=threads, requires_locks=requires_locks)
        self._sandbox = Sandbox((MODULE,), limits)

    def options_key(self) -> str:
        """Give the options that can change a result."""
        return f"beam={self._model.beam_size},languages={'+'.join(self._candidates)}"

    def close(self) -> None:
        """End the recogniser's process."""
        self._sandbox.close()

    def check(self) -> None:
        """ProviderUnavailable, with the cure, where the model is not there."""
        self._expect_model()
        self._sandbox.run(f"{MODULE}:ready", {}, timeout_seconds=CHECK_SECONDS)

    def start(
        self, audio: Path, clip: Clip, *, timeout_seconds: float, progress: Callable[[float], None]
    ) -> Transcript | Operation:
        """Transcribe a clip at once."""
        candidates = [clip.language] if clip.language else list(self._candidates)
        known = ("en",) if self._model.knows_english_only else SPOKEN
        if not set(candidates) <= set(known):
            raise BadInput(f"{self._model.name} knows no {'+'.join(candidates)}", code=FailureCode.LANGUAGE)
        self._expect_model()
        model = self._model.folder(self._models).absolute()
        arguments = {
            "source": str(audio.absolute()),
            "model": str(model),
            "start": clip.start,
            "end": clip.end,
            "channel": clip.channel,
            "languages": candidates,
            "beam_size": self._model.beam_size,
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

    def _expect_model(self) -> None:
        if not self._model.is_there(self._models):
            raise ProviderUnavailable(
                f"{self._model.name} is missing: run `make setup`", code=FailureCode.MODEL_MISSING
            )


def _candidates(language: str, languages: Sequence[str]) -> tuple[str, ...]:
    """The languages that may be spoken: the one that is set, else the library's, else the usual ones."""
    if language != AUTO:
        return (language.partition("-")[0],)
    codes = dict.fromkeys(_SHORT.get(each, each) for each in languages)
    return tuple(code for code in codes if code in SPOKEN) or USUAL
