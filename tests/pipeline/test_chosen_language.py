"""The language that a person chose for a recording: asked of each service, and paid for once."""

import pytest

from tests import sounds
from tests.emulators.openai import OpenAI
from tests.emulators.speechkit import SpeechKitServer
from tests.pipeline import studio
from tests.pipeline.workplace import Workplace
from webapp.provider_errors import BadInput, FailureCode
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.speech_ports import Recogniser
from webapp.runs.checkpoint import SPOKEN_LANGUAGE
from webapp.runs.stages import (
    TRANSCRIBE_START,
)


@pytest.fixture
def at_yandex(workplace: Workplace, reader: AudioDecoder, speechkit: SpeechKitServer) -> Workplace:
    return studio.equip(workplace, reader, studio.speechkit_at(speechkit, reader))


def call(seconds: float = 8.0) -> bytes:
    return sounds.wav(sounds.babble(seconds))


@pytest.mark.parametrize(("service", "asked"), [("speechkit", ["auto", "ru-RU"]), ("openai", ["auto", "ru"])])
def test_a_chosen_language_is_asked_for_and_paid_for_once(
    workplace: Workplace,
    reader: AudioDecoder,
    speechkit: SpeechKitServer,
    openai: OpenAI,
    service: str,
    asked: list[str],
) -> None:
    at_yandex = service == "speechkit"
    server: SpeechKitServer | OpenAI = speechkit if at_yandex else openai
    recogniser: Recogniser = studio.speechkit_at(speechkit, reader) if at_yandex else studio.openai_at(openai, reader)
    studio.equip(workplace, reader, recogniser)
    document_id = workplace.upload(call(), "call.wav").document.id
    studio.finish(workplace, document_id)
    for _ in range(2):
        workplace.reprocess(document_id, checkpoint={SPOKEN_LANGUAGE: "ru"})
        assert studio.finish(workplace, document_id) == "READY"
    # A run for which nobody chooses finds the first answer again.
    workplace.reprocess(document_id)
    assert studio.finish(workplace, document_id) == "READY"
    assert server.asked_languages == asked


def test_a_language_that_a_service_does_not_know_fails_before_it_is_paid(
    at_yandex: Workplace, speechkit: SpeechKitServer
) -> None:
    document_id = at_yandex.upload(call(), "call.wav").document.id
    studio.finish(at_yandex, document_id)
    at_yandex.reprocess(document_id, checkpoint={SPOKEN_LANGUAGE: "vi"})
    lease = studio.reach(at_yandex, TRANSCRIBE_START)
    with pytest.raises(BadInput) as caught:
        studio.work(at_yandex, lease)
    assert caught.value.code is FailureCode.LANGUAGE
    assert speechkit.asked_languages == ["auto"]
