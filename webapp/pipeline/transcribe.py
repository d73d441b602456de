"""The stages `transcribe_start` and `transcribe_poll`: sound -> what was said.

A recording is heard in windows. What became of each window is a blob of its own under a name
that follows from the bytes and the recogniser: the text, or the id of the operation that works
on it. So a crash, a retry, and the same file uploaded again start no window a second time.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from webapp.clock import monotonic
from webapp.pipeline import lifecycle
from webapp.pipeline.artifacts import artifact_path, digest, read_artifact
from webapp.pipeline.audio import load_sound, speech
from webapp.pipeline.extract import cache_folder, find_source
from webapp.pipeline.ledger import record_call
from webapp.pipeline.stages import ANALYZE, START_TRANSCRIPTION, TRANSCRIBE, TRANSCRIBE_POLL
from webapp.pipeline.steps import Snoozed, StageContext, Stored
from webapp.providers.audio_levels import windows
from webapp.providers.errors import (
    BadInput,
    BlobMissing,
    FailureCode,
    OperationLost,
    ProviderError,
    RateLimited,
)
from webapp.providers.language import guess_language
from webapp.providers.speech_ports import UNKNOWN_LANGUAGE, Clip, Heard, Operation, Recogniser, Sound
from webapp.providers.speech_text import speaker_name


@dataclass(frozen=True)
class Part:
    """A clip, and where what becomes of it lies."""

    clip: Clip
    heard_path: str
    operation_path: str


@dataclass(frozen=True)
class Started:
    """How many parts were begun now, how many were known and how long they are, and how many others work on."""

    begun: int
    known: int
    waiting: int
    known_seconds: int = 0


def transcribe_start(context: StageContext) -> None:
    """The stage: hand over every part that nobody was asked about yet."""
    waiting = 0

    def compute() -> Started:
        nonlocal waiting
        started = _start_all(context)
        waiting = started.waiting
        return started

    context.step(
        START_TRANSCRIPTION,
        compute,
        lambda result: _started(context, result),
        end=lambda: lifecycle.hand_on(
            context.queue,
            context.lease,
            TRANSCRIBE_POLL,
            max_attempts=context.poll_attempts,
            checkpoint=context.checkpoint,
            delay_seconds=speech(context).recogniser.result_wait_seconds if waiting else 0,
        ),
    )


def transcribe_poll(context: StageContext) -> None:
    """The stage: look once. Snoozed while there is more to wait for, which holds no worker."""
    context.current = TRANSCRIBE
    context.check()
    recogniser = speech(context).recogniser
    try:
        waiting = _look(context, recogniser)
    except RateLimited as error:
        context.queue.slow(context.lease.stage, error.retry_after_seconds)
        raise Snoozed(max(recogniser.result_wait_seconds, error.retry_after_seconds or 0.0)) from error
    if waiting:
        raise Snoozed(recogniser.result_wait_seconds)
    context.step(
        TRANSCRIBE,
        lambda: _assemble(context),
        lambda result: Stored(artifacts={"transcript": result[0]}, details={"segments": result[1]}),
        end=lambda: lifecycle.hand_on(
            context.queue, context.lease, ANALYZE, max_attempts=context.job_attempts, checkpoint=context.checkpoint
        ),
    )


def load_transcript(context: StageContext) -> Heard:
    """Read what the step saved."""
    return Heard.from_json(read_artifact(context, TRANSCRIBE.artifact or ""))


def plan(sound: Sound, recogniser: Recogniser) -> list[Clip]:
    """Cut a recording into what the recogniser takes at once; where nothing is heard, nothing is asked."""
    if sound.channels == 1 or recogniser.tells_channels:
        return list(_clips(sound.loudest_levels(), sound, recogniser, None))
    return [
        clip
        for channel in range(sound.channels)
        for clip in _clips(sound.channel_levels(channel), sound, recogniser, channel)
    ]


def _clips(levels: bytes, sound: Sound, recogniser: Recogniser, channel: int | None) -> Iterator[Clip]:
    for start, end in windows(levels, sound.duration_seconds, recogniser.window_seconds):
        is_whole = channel is None and start == 0 and end >= sound.duration_seconds
        yield Clip(round(start, 2), round(end, 2), channel, is_whole)


def _parts(context: StageContext) -> list[Part]:
    recogniser = speech(context).recogniser
    source = find_source(context)
    sound_key = context.artifact("sound").rpartition("/")[2]
    folder = cache_folder(context.org_id, source.sha256)
    parts = []
    for clip in plan(load_sound(context), recogniser):
        known_by = (recogniser.version, recogniser.options_key(), sound_key, clip.start, clip.end, clip.channel)
        key = digest("\n".join(map(str, known_by)).encode())[:16]
        stem = f"{folder}speech-{recogniser.name}-{key}"
        parts.append(Part(clip, f"{stem}.json", f"{stem}.operation.json"))
    return parts


def _start_all(context: StageContext) -> Started:
    blobs, recogniser = context.providers.blobs, speech(context).recogniser
    parts = _parts(context)
    begun = waiting = known_seconds = 0
    with ExitStack() as stack:
        audio: Path | None = None
        for place, part in enumerate(parts):
            context.check()
            is_heard = blobs.exists(part.heard_path)
            is_known = is_heard or blobs.exists(part.operation_path)
            known_seconds += _seconds(part) if is_known else 0
            if not is_heard:
                if not is_known:
                    audio = audio or stack.enter_context(blobs.local_copy(context.artifact("audio")))
                    _start(context, recogniser, audio, part, _share(context, place, len(parts)))
                    begun += 1
                waiting += not blobs.exists(part.heard_path)
            context.progress((place + 1) / len(parts))
    return Started(begun, len(parts) - begun, waiting, known_seconds)


def _share(context: StageContext, place: int, count: int) -> Callable[[float], None]:
    return lambda fraction: context.progress((place + fraction) / count)


def _start(
    context: StageContext, recogniser: Recogniser, audio: Path, part: Part, progress: Callable[[float], None]
) -> None:
    """Ask about one part; the answer is durable before anything else is done."""
    began = monotonic()
    answer = recogniser.start(audio, part.clip, timeout_seconds=context.remaining_seconds(), progress=progress)
    if isinstance(answer, Operation):
        context.providers.blobs.put_bytes(part.operation_path, json.dumps({"id": answer.id}).encode())
    else:
        context.providers.blobs.put_bytes(part.heard_path, answer.to_json())
    seconds = monotonic() - began
    with context.transaction():
        record_call(context, recogniser.name, "transcribe", units=_seconds(part), seconds=seconds)


def _seconds(part: Part) -> int:
    return round(part.clip.end - part.clip.start)


def _started(context: StageContext, result: Started) -> Stored:
    if result.known:
        name = speech(context).recogniser.name
        record_call(context, name, "transcribe", units=result.known_seconds, seconds=0.0, reused=True)
    details = {"started": result.begun, "reused": result.known, "waiting": result.waiting}
    return Stored(details=details, reused=result.begun == 0 and result.known > 0)


def _look(context: StageContext, recogniser: Recogniser) -> int:
    """Fetch what is there; how many parts are still being worked on."""
    blobs = context.providers.blobs
    waiting = 0
    for part in _parts(context):
        if blobs.exists(part.heard_path):
            continue
        operation = _operation(context, part)
        try:
            heard = recogniser.fetch(operation, part.clip)
        except OperationLost:
            # The next run starts it anew.
            blobs.delete(part.operation_path)
            raise
        if heard is None:
            waiting += 1
            continue
        blobs.put_bytes(part.heard_path, heard.to_json())
        recogniser.forget(operation)
        blobs.delete(part.operation_path)
    return waiting


def _operation(context: StageContext, part: Part) -> Operation:
    try:
        found = json.loads(context.providers.blobs.read_bytes(part.operation_path))
        return Operation(str(found["id"]))
    except (BlobMissing, ValueError, KeyError, TypeError) as error:
        message = "neither a text nor an operation is there; a new run starts it again"
        raise ProviderError(message, permanent=True, code=FailureCode.BLOB_MISSING) from error


def _assemble(context: StageContext) -> tuple[str, int]:
    blobs = context.providers.blobs
    pieces = [(part.clip, Heard.from_json(blobs.read_bytes(part.heard_path))) for part in _parts(context)]
    heard = join(pieces)
    data = heard.to_json()
    path = artifact_path(context, "transcript", data, "json")
    blobs.put_bytes(path, data)
    return path, len(heard.segments)


def join(pieces: Sequence[tuple[Clip, Heard]]) -> Heard:
    """One transcript of all parts, in the order of time; who speaks on a channel of his own is named by it."""
    segments = [
        segment if clip.channel is None else replace(segment, speaker=speaker_name(clip.channel))
        for clip, heard in pieces
        for segment in heard.segments
    ]
    if not segments:
        foreign = any(heard.language == UNKNOWN_LANGUAGE for _, heard in pieces)
        code = FailureCode.LANGUAGE if foreign else FailureCode.NO_SPEECH
        raise BadInput("no words were made out", code=code)
    segments.sort(key=lambda segment: (segment.start, segment.end))
    languages = Counter(heard.language for _, heard in pieces if heard.language not in {None, UNKNOWN_LANGUAGE})
    language = languages.most_common(1)[0][0] if languages else None
    return Heard(tuple(segments), language or guess_language(" ".join(segment.text for segment in segments)))
