"""The sandboxed job that transcribes speech: Whisper, 8 bit, on CTranslate2.

Each clip has a child of its own: the model loads in a third of a second, the memory is free
again afterwards, and a crash costs the clip.
"""

from typing import Any, cast

import numpy as np
from faster_whisper import WhisperModel
from faster_whisper.transcribe import Segment
from numpy.typing import NDArray

from webapp.providers.speech_ports import UNKNOWN_LANGUAGE
from webapp.providers.spoken import SPOKEN
from webapp.readers.sound.levels import Samples
from webapp.readers.sound.recording import piece
from webapp.sandbox.child import Report

RATE = 16_000
# Told another language than the spoken one, Whisper is unsure of itself or says the same again and again. Measured:
# base, the right language, -0.2 to -0.45 and 0.9 to 1.8; Russian as German below -1.1; synthetic voices to -0.9, or
# above 4.
UNSURE = -0.9
LOOPING = 2.4
# The probability that nobody speaks: speech has 0.1 to 0.3, tones and noise 0.8.
SILENT = 0.6
# A share above this says that another language is spoken than those that are asked for: recorded speech has 0.94 and
# more, tones and noise 0.5.
CLEARLY = 0.8
ENOUGH_SECONDS = 8.0
DOUBTFUL_SHARE_MAX = 0.5


def transcribe(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Transcribe a clip of an Ogg Opus file; the answer is a Transcript as plain data."""
    start, end = float(str(arguments["start"])), float(str(arguments["end"]))
    channel = None if arguments["channel"] is None else int(str(arguments["channel"]))
    samples = _samples(str(arguments["source"]), start, end, channel)
    threads = int(str(arguments["threads"]))
    model = WhisperModel(str(arguments["model"]), compute_type="int8", cpu_threads=threads, local_files_only=True)
    language = _spoken(model, samples, [str(each) for each in cast("list[object]", arguments["languages"])])
    if language is None:
        return {"language": UNKNOWN_LANGUAGE, "segments": []}
    found, _ = model.transcribe(
        samples,
        language=language,
        beam_size=int(str(arguments["beam_size"])),
        best_of=1,
        temperature=(0.0, 0.4),
        condition_on_previous_text=False,
    )
    segments = []
    for segment in found:
        segments.append(segment)
        report.progress(min(1.0, segment.end / max(0.1, end - start)))
    if _is_not_understood(segments):
        return {"language": UNKNOWN_LANGUAGE, "segments": []}
    kept = [_plain(each, start, end) for each in segments if not _is_doubtful(each)]
    return {"language": language, "segments": kept}


def ready(_: dict[str, object], __: Report) -> bool:
    """Answer: that is all it takes to see that children can be started."""
    return True


def _spoken(model: WhisperModel, samples: NDArray[np.float32], candidates: list[str]) -> str | None:
    """The candidate that is spoken most likely; None where it is clearly none of them."""
    if len(candidates) == 1:
        return candidates[0]
    _, _, shares = model.detect_language(samples)
    likely = dict(shares)
    best = max(candidates, key=lambda code: likely.get(code, 0.0))
    # Of noise and music the model says Norwegian Nynorsk or Latin, which nobody speaks to it.
    others = {code: share for code, share in likely.items() if code in SPOKEN and code not in candidates}
    return None if max(others.values(), default=0.0) >= CLEARLY else best


def _samples(source: str, start: float, end: float, channel: int | None) -> NDArray[np.float32]:
    pieces = piece(source, (start, end), 1 if channel is None else 2, RATE)
    parts: list[Samples] = [part if channel is None else part[channel::2] for part in pieces]
    joined = np.concatenate(parts) if parts else np.zeros(RATE, np.int16)
    return joined.astype(np.float32) / np.float32(32768)


def _plain(segment: Segment, start: float, end: float) -> dict[str, Any]:
    first = min(end, start + max(0.0, segment.start))
    last = max(first, min(end, start + segment.end))
    return {"start": round(first, 2), "end": round(last, 2), "text": segment.text, "speaker": None}


def _is_doubtful(segment: Segment) -> bool:
    """Whether this is rather noise, music, or another language."""
    sureness, repetition = float(segment.avg_logprob), float(segment.compression_ratio)
    return sureness < UNSURE or repetition > LOOPING


def _is_not_understood(segments: list[Segment]) -> bool:
    """Whether somebody speaks, most of the time in words that the model only guesses."""
    spoken = [each for each in segments if float(each.no_speech_prob) < SILENT]
    seconds = sum(float(each.end - each.start) for each in spoken)
    doubtful = sum(float(each.end - each.start) for each in spoken if _is_doubtful(each))
    return seconds >= ENOUGH_SECONDS and doubtful > DOUBTFUL_SHARE_MAX * seconds
