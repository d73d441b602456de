"""The stage `extract_audio`: a recording in any format -> Ogg Opus, once for the same bytes."""

from contextlib import suppress
from dataclasses import dataclass

from webapp.clock import monotonic
from webapp.pipeline.artifacts import digest, read_artifact
from webapp.pipeline.paid_calls.ledger import record_call
from webapp.pipeline.source import SourceFile, find_readable
from webapp.pipeline.steps import StageContext
from webapp.pipeline.temporary_files import temporary_file
from webapp.pipeline.unsaved import Stored
from webapp.provider_errors import BlobExists, BlobMissing, ProviderUnavailable
from webapp.providers.ports import BlobStore
from webapp.providers.speech_ports import Sound, SpeechProviders
from webapp.runs.stages import READ_SOUND, TRANSCRIBE_START


@dataclass(frozen=True)
class ExtractedSound:
    """The sound, what is known of it, and how long extracting it took."""

    facts_path: str
    audio_path: str
    sound: Sound
    seconds: float
    reused: bool


def extract_audio(context: StageContext) -> None:
    """Run the stage: one step, then the job of the transcription. NothingReads."""
    source = find_readable(context)
    context.step(
        READ_SOUND,
        lambda: _compute(context, source),
        lambda result: _store(context, result),
        end=lambda: context.hand_on(TRANSCRIBE_START),
    )


def speech(context: StageContext) -> SpeechProviders:
    """The providers for recordings; ProviderUnavailable where there are none."""
    if context.providers.speech is None:
        raise ProviderUnavailable("no provider for recordings is configured")
    return context.providers.speech


def load_sound(context: StageContext) -> Sound:
    """Read what the step saved."""
    return Sound.from_json(read_artifact(context, READ_SOUND.artifact or ""))


def _compute(context: StageContext, source: SourceFile) -> ExtractedSound:
    started = monotonic()
    key = digest(f"{speech(context).reader.version}\n{source.content_type}".encode())[:16]
    stem = f"{source.answers_folder}sound-{key}"
    facts_path, audio_path = f"{stem}.json", f"{stem}.ogg"
    sound = _cached(context.providers.blobs, facts_path, audio_path)
    reused = sound is not None
    if sound is None:
        sound = _read(context, source, audio_path)
        # Written last, so that where the facts exist, the sound does.
        context.providers.blobs.put_bytes(facts_path, sound.to_json())
    return ExtractedSound(facts_path, audio_path, sound, monotonic() - started, reused)


def _cached(blobs: BlobStore, facts_path: str, audio_path: str) -> Sound | None:
    try:
        sound = Sound.from_json(blobs.read_bytes(facts_path))
    except (BlobMissing, ValueError):
        return None
    return sound if blobs.exists(audio_path) else None


def _read(context: StageContext, source: SourceFile, audio_path: str) -> Sound:
    blobs = context.providers.blobs
    with blobs.local_copy(source.blob_path) as file, temporary_file(blobs.incoming(), "sound-") as target:
        sound = speech(context).reader.read(
            file,
            source.content_type,
            target,
            timeout_seconds=context.remaining_seconds(),
            progress=context.progress,
        )
        # It exists where an attempt died before it wrote the facts; it is the same sound.
        with suppress(BlobExists):
            blobs.put_file(audio_path, target)
    return sound


def _store(context: StageContext, result: ExtractedSound) -> Stored:
    units = round(result.sound.duration_seconds)
    record_call(context, "local", "extract_audio", units=units, seconds=result.seconds, reused=result.reused)
    return Stored(
        artifacts={"sound": result.facts_path, "audio": result.audio_path},
        details={"seconds": units, "channels": result.sound.channels},
        reused=result.reused,
    )
