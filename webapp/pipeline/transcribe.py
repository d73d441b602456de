"""The stages `transcribe_start` and `transcribe_poll`: sound -> transcript.

A recording is cut into clips, and each clip is a call of its own (`remote_work`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from webapp.pipeline.artifacts import artifact_path, digest, read_artifact
from webapp.pipeline.audio import load_sound, speech
from webapp.pipeline.paid_calls.kept_answers import operation_path
from webapp.pipeline.paid_calls.ledger import record_saved
from webapp.pipeline.remote_work import Progress, RemotePiece, RemoteWork, local_file
from webapp.pipeline.source import find_source
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.provider_errors import BadInput, FailureCode, OperationLost
from webapp.providers.ports import Done, Failed, Polled, StillRunning
from webapp.providers.speech_ports import UNKNOWN_LANGUAGE, Clip, Operation, Recogniser, Sound, Transcript
from webapp.providers.speech_text import speaker_name
from webapp.readers.small_words import guess_language
from webapp.readers.sound.levels import clips
from webapp.runs.checkpoint import SPOKEN_LANGUAGE
from webapp.runs.stages import ANALYZE, START_TRANSCRIPTION, TRANSCRIBE, TRANSCRIBE_POLL

OPERATION = "transcribe"
# The checkpoint's entry for how many clips have no answer yet after `transcribe_start`.
UNANSWERED = "unanswered"


@dataclass(frozen=True)
class ClipOfRecording(RemotePiece[Transcript]):
    """The transcription of one clip."""

    context: StageContext
    clip: Clip
    audio: Callable[[], Path]

    @property
    def timeout_seconds(self) -> float:
        """A clip may take as long as the run has left."""
        return self.context.remaining_seconds()

    def start(self, progress: Progress) -> str | bytes:
        """Send the clip; some services answer at once."""
        recogniser = speech(self.context).recogniser
        found = recogniser.start(self.audio(), self.clip, timeout_seconds=self.timeout_seconds, progress=progress)
        return found.id if isinstance(found, Operation) else found.to_json()

    def poll(self, operation: str) -> Polled:
        """Poll for the result."""
        try:
            transcript = speech(self.context).recogniser.fetch(Operation(operation), self.clip)
        except OperationLost as error:
            return Failed(error)
        return StillRunning() if transcript is None else Done(transcript.to_json(), self.units)

    def forget(self, operation: str) -> None:
        """Remove the result at the service."""
        speech(self.context).recogniser.forget(Operation(operation))

    def read(self, answer: bytes) -> Transcript:
        """Read a stored answer."""
        return Transcript.from_json(answer)


@dataclass(frozen=True)
class Started:
    """How many clips were sent now and before, and how many have no answer yet."""

    sent: int
    known: int
    unanswered: int
    seconds: int
    """The length of all clips together."""


def transcribe_start(context: StageContext) -> None:
    """Run the stage: send every clip that was not sent yet."""
    context.step(
        START_TRANSCRIPTION,
        lambda: _start(context),
        lambda started: _store_started(context, started),
        end=lambda: context.hand_on(
            TRANSCRIBE_POLL,
            max_attempts=context.poll_attempts,
            delay_seconds=speech(context).recogniser.result_wait_seconds if context.checkpoint[UNANSWERED] else 0,
        ),
    )


def transcribe_poll(context: StageContext) -> None:
    """Run the stage: fetch the answers that are ready. While some are missing, the job is delayed."""
    context.step(
        TRANSCRIBE,
        lambda: _assemble(context),
        lambda result: Stored(artifacts={"transcript": result[0]}, details={"segments": result[1]}),
        end=lambda: context.hand_on(ANALYZE),
    )


def load_transcript(context: StageContext) -> Transcript:
    """Read what the step saved."""
    return Transcript.from_json(read_artifact(context, TRANSCRIBE.artifact or ""))


def plan(sound: Sound, recogniser: Recogniser) -> list[Clip]:
    """Cut a recording into what the recogniser takes at once; silent parts are left out."""
    if sound.channels == 1 or recogniser.tells_channels:
        return list(_clips(sound.loudest_levels(), sound, recogniser, None))
    return [
        clip
        for channel in range(sound.channels)
        for clip in _clips(sound.channel_levels(channel), sound, recogniser, channel)
    ]


def _clips(levels: bytes, sound: Sound, recogniser: Recogniser, channel: int | None) -> Iterator[Clip]:
    for start, end in clips(levels, sound.duration_seconds, recogniser.clip_seconds_max):
        is_whole = channel is None and start == 0 and end >= sound.duration_seconds
        yield Clip(round(start, 2), round(end, 2), channel, is_whole)


@contextmanager
def _work(context: StageContext) -> Iterator[RemoteWork[Transcript]]:
    recogniser = speech(context).recogniser
    folder, sound_path = find_source(context).answers_folder, context.artifact("sound")
    with local_file(context.providers.blobs, context.artifact("audio")) as audio:
        pieces = []
        language = context.checkpoint.get(SPOKEN_LANGUAGE)
        for planned in plan(load_sound(context), recogniser):
            clip = replace(planned, language=language)
            name = (recogniser.version, recogniser.options_key(), sound_path.rpartition("/")[2])
            # Where nobody chose a language, the key is that of earlier versions.
            parts = (*name, clip.start, clip.end, clip.channel, *filter(None, (language,)))
            key = digest("\n".join(map(str, parts)).encode())[:16]
            path = f"{folder}speech-{recogniser.name}-{key}.json"
            pieces.append(
                ClipOfRecording(path, operation_path(path), round(clip.end - clip.start), context, clip, audio)
            )
        yield RemoteWork(context, recogniser.name, OPERATION, pieces, poll_seconds=recogniser.result_wait_seconds)


def _start(context: StageContext) -> Started:
    with _work(context) as work:
        sent = work.start()
        return Started(sent, len(work.pieces) - sent, work.unanswered(), sum(piece.units for piece in work.pieces))


def _store_started(context: StageContext, started: Started) -> Stored:
    context.checkpoint[UNANSWERED] = started.unanswered
    reused = record_saved(context, speech(context).recogniser.name, OPERATION, started.seconds)
    details = {"started": started.sent, "reused": started.known, "waiting": started.unanswered}
    return Stored(details=details, reused=reused)


def _assemble(context: StageContext) -> tuple[str, int]:
    with _work(context) as work:
        planned = [piece.clip for piece in work.pieces if isinstance(piece, ClipOfRecording)]
        transcript = join(list(zip(planned, work.finish(), strict=True)))
    data = transcript.to_json()
    path = artifact_path(context, "transcript", data, "json")
    context.providers.blobs.put_bytes(path, data)
    return path, len(transcript.segments)


def join(pieces: Sequence[tuple[Clip, Transcript]]) -> Transcript:
    """One transcript of all parts, in the order of time; who speaks on a channel of his own is named by it."""
    segments = [
        segment if clip.channel is None else replace(segment, speaker=speaker_name(clip.channel))
        for clip, transcript in pieces
        for segment in transcript.segments
    ]
    if not segments:
        foreign = any(transcript.language == UNKNOWN_LANGUAGE for _, transcript in pieces)
        code = FailureCode.LANGUAGE if foreign else FailureCode.NO_SPEECH
        raise BadInput("no words were made out", code=code)
    segments.sort(key=lambda segment: (segment.start, segment.end))
    languages = Counter(
        transcript.language for _, transcript in pieces if transcript.language not in {None, UNKNOWN_LANGUAGE}
    )
    language = languages.most_common(1)[0][0] if languages else None
    # Paid notes are found by this transcript's bytes, so where no language is told, it says what it always said.
    return Transcript(tuple(segments), language or guess_language(" ".join(segment.text for segment in segments)))
