"""Readers of a recording that gets new results: its transcript, its notes and its page are of one of them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from flask import Flask

from tests import sounds
from tests.hashed_words import HashedWords
from tests.web.databases import both_databases
from tests.web.looks import elsewhere, watched
from tests.web.people import Browser, Program
from tests.web.shelves import services_of, shelve, work_off
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.speech_ports import Analysis, Clip, Operation, Segment, SpeechProviders, Transcript

_VERSION = re.compile(r"version(\d{3})")


class Speech:
    """Gives another transcript and takes other notes each time its version changes: a recogniser and an analyst."""

    name = "versions"
    clip_seconds_max = 300.0
    tells_channels = True
    result_wait_seconds = 0.0

    def __init__(self) -> None:
        self.number = 0
        self.version = "0"

    def turn(self) -> None:
        """Another result from now on."""
        self.number += 1
        self.version = str(self.number)

    def options_key(self) -> str:
        return ""

    def check(self) -> None:
        """Always there."""

    def start(
        self, audio: Path, clip: Clip, *, timeout_seconds: float, progress: Callable[[float], None]
    ) -> Transcript | Operation:
        return Transcript((Segment(clip.start, clip.end, f"They spoke of version{self.number:03}."),), "en")

    def fetch(self, operation: Operation, clip: Clip) -> Transcript | None:
        raise AssertionError("nothing is fetched")

    def forget(self, operation: Operation) -> None:
        """There is nothing."""

    def analyze(self, segments: Sequence[Segment], *, timeout_seconds: float) -> Analysis:
        return Analysis(self.name, self.version, f"A summary of version{self.number:03}.")


@pytest.fixture(scope="module")
def reader() -> Iterator[AudioDecoder]:
    reader = AudioDecoder()
    yield reader
    reader.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
@both_databases
def test_each_answer_about_a_recording_is_of_one_result(
    app: Flask, program: Program, browser: Browser, reader: AudioDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    speech, services = Speech(), services_of(app)
    used = replace(services.providers, speech=SpeechProviders(reader, speech, speech), embedder=HashedWords())
    app.extensions["docmill"] = replace(services, providers=used)
    [document] = shelve(program, ("call.wav", sounds.wav(sounds.two_speakers(5), channels=2)))
    work_off(app)
    other = Program(app.test_client(), program.token, program.org_id)

    def publish() -> None:
        speech.turn()
        other.post(f"/documents/{document}/reprocess")
        work_off(app)

    pages = ("", "/transcript", "/transcript.txt")
    with watched(app, monkeypatch) as looks:
        for page in pages:
            for number in count(1):
                looks.before(number, lambda: elsewhere(publish))
                answer = browser.get(f"/documents/{document}{page}")
                assert answer.status_code == 200, (page, number)
                found = set(_VERSION.findall(answer.text))
                assert len(found) == 1, (page, number, found)
                if looks.seen < number:
                    break
            assert number > 1
    with browser.get(f"/documents/{document}/audio") as sound:
        assert sound.status_code == 200
