"""A workplace for recordings: the real reader, and recognisers that speak to emulators."""

import threading
from dataclasses import replace
from typing import Any
from uuid import UUID

from tests.emulators.openai import OpenAI
from tests.emulators.speechkit import SpeechKitServer
from tests.pipeline.workplace import Crash, Workplace
from webapp.db import transaction
from webapp.jobs.interruptions import Snoozed
from webapp.jobs.model import Job
from webapp.jobs.queue import JobQueue, Lease
from webapp.pipeline.handlers import HANDLERS
from webapp.pipeline.steps import StageContext
from webapp.providers.local.analysis import LocalAnalyst
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.openai.answers import OpenAIAnswerer
from webapp.providers.openai.chat import OpenAIAnalyst
from webapp.providers.openai.client import OpenAIRole, connect
from webapp.providers.openai.fields import OpenAIFieldFinder
from webapp.providers.openai.transcribe import OpenAIRecogniser
from webapp.providers.speech_files import cut_with
from webapp.providers.speech_ports import Analyst, Recogniser, SpeechProviders
from webapp.providers.speechkit.client import Options, SpeechKit
from webapp.runs.stages import PIPELINES

SOON = 0.01
NEVER = threading.Event()
_opened: list[SpeechKit | OpenAIRole] = []


def close_clients() -> None:
    """End the connections of a test's recognisers and analysts."""
    while _opened:
        _opened.pop().close()


def speechkit_at(server: SpeechKitServer, reader: AudioDecoder, *, clip_seconds_max: float | None = None) -> SpeechKit:
    recogniser = SpeechKit(
        server.url, server.url, server.key, Options(poll_seconds=SOON), cut_with(reader), timeout_seconds=5
    )
    _opened.append(recogniser)
    if clip_seconds_max is not None:
        recogniser.clip_seconds_max = clip_seconds_max
    return recogniser


def openai_at(server: OpenAI, reader: AudioDecoder) -> OpenAIRecogniser:
    recogniser = OpenAIRecogniser(connect(server.base_url, server.key, 5), "whisper-1", cut_with(reader))
    _opened.append(recogniser)
    return recogniser


def chat_at(server: OpenAI) -> OpenAIAnalyst:
    analyst = OpenAIAnalyst(connect(server.base_url, server.key, 5), "gpt-test")
    _opened.append(analyst)
    return analyst


def fields_at(server: OpenAI) -> OpenAIFieldFinder:
    finder = OpenAIFieldFinder(connect(server.base_url, server.key, 5), "gpt-test")
    _opened.append(finder)
    return finder


def answers_at(server: OpenAI) -> OpenAIAnswerer:
    answerer = OpenAIAnswerer(connect(server.base_url, server.key, 5), "gpt-test")
    _opened.append(answerer)
    return answerer


def equip(
    workplace: Workplace, reader: AudioDecoder, recogniser: Recogniser, analyst: Analyst | None = None
) -> Workplace:
    """Let a workplace take recordings."""
    speech = SpeechProviders(reader, recogniser, analyst or LocalAnalyst())
    workplace.providers = replace(workplace.providers, speech=speech)
    return workplace


def work(workplace: Workplace, lease: Lease | None = None, **more: Any) -> Lease | None:
    """Do the next stage, or this one; None where nothing is due. A stage that waits is put back."""
    lease = lease or claim(workplace)
    if lease is None:
        return None
    context = workplace.context(lease, **more)
    try:
        HANDLERS[lease.stage](context)
    except Snoozed as snoozed:
        with transaction(lease.org_id):
            workplace.queue.snooze(lease, snoozed.seconds, context.checkpoint)
    return lease


def claim(workplace: Workplace) -> Lease | None:
    workplace.queue.wake_delayed()
    return next(iter(workplace.queue.claim("worker")), None)


def reach(workplace: Workplace, stage: str, looks: int = 1_000) -> Lease:
    """Work until a job of this stage is in hand."""
    for _ in range(looks):
        lease = claim(workplace)
        if lease is not None and lease.stage == stage:
            return lease
        if lease is not None:
            work(workplace, lease)
    raise AssertionError(f"{stage} was not reached")


def finish(workplace: Workplace, document_id: UUID, looks: int = 1_000) -> str:
    """Work until the document is no longer processing."""
    for _ in range(looks):
        work(workplace)
        status = workplace.document(document_id).status
        if status != "PROCESSING":
            return status
    raise AssertionError("the recording is still being processed")


def jobs(workplace: Workplace) -> list[Job]:
    """The jobs of the way to a result, in their order; what follows a result is another matter."""
    way = PIPELINES[1]
    return sorted((job for job in workplace.all(Job) if job.stage in way), key=lambda job: job.id)


def stages(workplace: Workplace) -> list[tuple[str, str]]:
    return [(job.stage, job.status) for job in jobs(workplace)]


class DyingQueue:
    """A queue whose worker dies with its first completion: the transaction is never committed."""

    def __init__(self, real: JobQueue) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def complete(self, lease: Lease) -> None:
        self._real.complete(lease)
        raise Crash


def dying(workplace: Workplace, lease: Lease) -> StageContext:
    """A context in which the process dies at the very end of the stage."""
    queue: Any = DyingQueue(workplace.queue)
    return replace_queue(workplace.context(lease), queue)


def replace_queue(context: StageContext, queue: JobQueue) -> StageContext:
    context.queue = queue
    return context
