"""What every Recogniser promises. The one of this machine needs real words, and takes seconds."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import local_providers, sounds, speech_clip
from tests.emulators import live
from tests.emulators.openai import OpenAI
from tests.emulators.speechkit import SpeechKitServer
from tests.pipeline import studio
from webapp.provider_errors import FailureCode, ProviderError
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.local.speech import LocalRecogniser
from webapp.providers.speech_ports import UNKNOWN_LANGUAGE, Clip, Operation, Recogniser, Sound, Transcript


@pytest.fixture(scope="module")
def reader() -> Iterator[AudioDecoder]:
    reader = AudioDecoder()
    yield reader
    reader.close()


@pytest.fixture(
    params=[
        pytest.param("speechkit"),
        pytest.param("openai"),
        pytest.param("local", marks=[pytest.mark.slow, pytest.mark.timeout(300)]),
        pytest.param("live speechkit", marks=pytest.mark.live),
        pytest.param("live openai", marks=pytest.mark.live),
    ]
)
def recogniser(
    request: pytest.FixtureRequest, reader: AudioDecoder, speechkit: SpeechKitServer, openai: OpenAI
) -> Iterator[Recogniser]:
    match request.param:
        case "speechkit":
            yield studio.speechkit_at(speechkit, reader)
        case "openai":
            yield studio.openai_at(openai, reader)
        case "live speechkit":
            yield live.speechkit(reader)
        case "live openai":
            yield live.transcriber(reader)
        case _:
            local = LocalRecogniser(local_providers.speech_models_folder(), threads=2)
            yield local
            local.close()
    studio.close_clients()


Read = Callable[[bytes], tuple[Path, Sound]]


@pytest.fixture
def read(reader: AudioDecoder, tmp_path: Path) -> Read:
    def read(data: bytes) -> tuple[Path, Sound]:
        source, target = tmp_path / "source", tmp_path / "sound.ogg"
        source.write_bytes(data)
        target.touch()
        sound = reader.read(source, "audio/wav", target, timeout_seconds=30, progress=lambda _: None)
        return target, sound

    return read


def transcribe(recogniser: Recogniser, audio: Path, clip: Clip) -> Transcript:
    answer = recogniser.start(audio, clip, timeout_seconds=120, progress=lambda _: None)
    for _ in range(10):
        if isinstance(answer, Transcript):
            return answer
        found = recogniser.fetch(answer, clip)
        if found is not None:
            recogniser.forget(answer)
            return found
    raise AssertionError("the operation is never done")


def test_it_says_what_it_is(recogniser: Recogniser) -> None:
    assert recogniser.name
    assert recogniser.version
    assert recogniser.options_key()
    assert recogniser.clip_seconds_max >= 60
    recogniser.check()


@pytest.mark.slow
def test_it_hears_sentences_in_the_order_of_time(recogniser: Recogniser, read: Read) -> None:
    audio, sound = read(speech_clip.english())
    transcript = transcribe(recogniser, audio, Clip(0, sound.duration_seconds, is_whole=True))
    assert len(transcript.segments) >= 3
    assert all(0 <= each.start <= each.end <= sound.duration_seconds + 0.5 for each in transcript.segments)
    assert [each.start for each in transcript.segments] == sorted(each.start for each in transcript.segments)
    assert all(each.text == each.text.strip() != "" for each in transcript.segments)
    assert transcript.language == "en"
    if recogniser.name == "local":
        text = " ".join(each.text for each in transcript.segments).lower()
        assert [word for word in speech_clip.english_words() if word not in text] == []


@pytest.mark.slow
def test_times_of_a_clip_are_those_of_the_recording(recogniser: Recogniser, read: Read) -> None:
    audio, sound = read(speech_clip.english())
    start = sound.duration_seconds / 2
    transcript = transcribe(recogniser, audio, Clip(start, sound.duration_seconds))
    assert transcript.segments
    assert all(start - 0.1 <= each.start <= sound.duration_seconds + 0.5 for each in transcript.segments)


@pytest.mark.slow
def test_one_channel_can_be_heard_alone(recogniser: Recogniser, read: Read) -> None:
    if recogniser.tells_channels:
        audio, sound = read(sounds.wav(sounds.two_speakers(12), channels=2))
        transcript = transcribe(recogniser, audio, Clip(0, sound.duration_seconds, is_whole=True))
        assert {each.speaker for each in transcript.segments} == {"Speaker 1", "Speaker 2"}
    else:
        audio, sound = read(speech_clip.in_left_channel())
        assert sound.channels == 2
        transcript = transcribe(recogniser, audio, Clip(0, sound.duration_seconds, channel=0))
        assert transcript.segments


def test_an_operation_that_nobody_knows_is_an_error(recogniser: Recogniser) -> None:
    with pytest.raises(ProviderError):
        recogniser.fetch(Operation("nobody"), Clip(0, 1))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_local_one_tells_noise_from_a_language_that_is_none_of_the_library_s(read: Read) -> None:
    local = LocalRecogniser(local_providers.speech_models_folder(), languages=("ru", "de"))
    audio, sound = read(speech_clip.english())
    spoken = transcribe(local, audio, Clip(0, sound.duration_seconds))
    assert (spoken.segments, spoken.language) == ((), UNKNOWN_LANGUAGE)
    audio, sound = read(sounds.wav(sounds.babble(10)))
    noise = transcribe(local, audio, Clip(0, sound.duration_seconds))
    assert noise.segments == ()
    assert noise.language in {"ru", "de"}
    local.close()


@pytest.mark.parametrize("chosen", [None, "ru"])
def test_a_language_that_the_model_does_not_know_is_refused_at_once(
    read: Read, tmp_path: Path, chosen: str | None
) -> None:
    audio, sound = read(sounds.wav(sounds.babble(2)))
    english = LocalRecogniser(tmp_path, languages=("en",), language="auto" if chosen else "ru-RU")
    with pytest.raises(ProviderError) as caught:
        transcribe(english, audio, Clip(0, sound.duration_seconds, language=chosen))
    assert (caught.value.code, caught.value.permanent) == (FailureCode.LANGUAGE, True)


@pytest.mark.parametrize(
    ("language", "languages", "key"),
    [
        ("auto", (), "beam=5,languages=en+de+fr+es+it+pt+nl+pl+ru+uk"),
        ("auto", ("rus", "uk", "chi-sim", "xx"), "beam=5,languages=ru+uk+zh"),
        ("pt-BR", ("de", "fr"), "beam=5,languages=pt"),
        ("auto", ("en",), "beam=1,languages=en"),
    ],
)
def test_the_local_one_chooses_among_the_library_s_languages(
    tmp_path: Path, language: str, languages: tuple[str, ...], key: str
) -> None:
    assert LocalRecogniser(tmp_path, language=language, languages=languages).options_key() == key


def test_a_model_that_is_missing_says_how_to_get_it(read: Read, tmp_path: Path) -> None:
    audio, sound = read(sounds.wav(sounds.babble(2)))
    with pytest.raises(ProviderError, match="make setup") as caught:
        transcribe(LocalRecogniser(tmp_path), audio, Clip(0, sound.duration_seconds))
    assert caught.value.code is FailureCode.MODEL_MISSING
