"""A recording's page and its parts: sound in ranges, what was said in every form, hits that play from their moment."""

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from flask import Flask
from sqlalchemy import select

from tests import sounds
from tests.emulators.speechkit import SpeechKitServer
from tests.hashed_words import HashedWords
from tests.pipeline import studio
from tests.web.databases import both_databases
from tests.web.people import Browser, People, Program
from tests.web.shelves import shelve
from webapp.clock import monotonic
from webapp.db import transaction
from webapp.jobs.interruptions import Snoozed
from webapp.jobs.model import Job
from webapp.library.intake import ingest, receive
from webapp.pipeline.handlers import HANDLERS
from webapp.pipeline.steps import StageContext
from webapp.providers.local.analysis import LocalAnalyst
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.speech_ports import SpeechProviders
from webapp.runs.checkpoint import SPOKEN_LANGUAGE
from webapp.services import Services


@pytest.fixture(scope="module")
def reader() -> Iterator[AudioDecoder]:
    reader = AudioDecoder()
    yield reader
    reader.close()


@pytest.fixture
def recording(app: Flask, people: People, reader: AudioDecoder, speechkit: SpeechKitServer) -> Iterator[UUID]:
    """A call of two speakers that is ready."""
    services = app.extensions["docmill"]
    speech = SpeechProviders(reader, studio.speechkit_at(speechkit, reader), LocalAnalyst())
    providers = replace(services.providers, speech=speech, embedder=HashedWords())
    app.extensions["docmill"] = services = replace(services, providers=providers)
    with app.app_context():
        data = sounds.wav(sounds.two_speakers(20), channels=2)
        yield _process(services, people.org(), data)
    studio.close_clients()


def _process(services: Services, org_id: UUID, data: bytes) -> UUID:
    incoming = receive(services.providers.blobs.incoming(), io.BytesIO(data), 1 << 30)
    document_id = ingest(services, org_id, incoming, "weekly call.wav").document.id
    while True:
        services.queue.wake_delayed()
        leases = services.queue.claim("tests")
        for lease in leases:
            context = StageContext(lease, services.queue, services.providers, 2, monotonic() + 60, studio.NEVER)
            try:
                HANDLERS[lease.stage](context)
            except Snoozed:
                with transaction(org_id):
                    services.queue.snooze(lease, 0)
            if lease.stage == "index":
                return document_id


@both_databases
def test_the_page_has_player_transcript_and_notes(browser: Browser, recording: UUID) -> None:
    answer = browser.get(f"/documents/{recording}")
    assert "media-src 'self'" in answer.headers["Content-Security-Policy"], "sound may come from here alone"
    page = answer.text
    assert f'<source src="/documents/{recording}/audio" type="audio/ogg">' in page
    assert "Speaker 1" in page
    assert f'href="/documents/{recording}/audio#t=0.0"' in page
    assert "Good morning everyone." in page
    assert "Action items" in page
    assert "Picked automatically from the transcript" in page
    assert "0:20" in browser.get(f"/documents/{recording}/fields").text


def test_the_sound_comes_whole_and_in_ranges(browser: Browser, recording: UUID) -> None:
    whole = browser.get(f"/documents/{recording}/audio", buffered=True)
    assert (whole.status_code, whole.mimetype, whole.headers["Accept-Ranges"]) == (200, "audio/ogg", "bytes")
    assert whole.data.startswith(b"OggS")
    assert "attachment" not in whole.headers.get("Content-Disposition", "")
    part = browser.get(f"/documents/{recording}/audio", buffered=True, headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.data) == (206, whole.data[100:200])
    assert part.headers["Content-Range"] == f"bytes 100-199/{len(whole.data)}"
    beyond = browser.get(f"/documents/{recording}/audio", buffered=True, headers={"Range": f"bytes={len(whole.data)}-"})
    assert beyond.status_code == 416


def test_subtitles_are_well_formed(browser: Browser, recording: UUID) -> None:
    vtt = browser.get(f"/documents/{recording}/transcript.vtt", buffered=True)
    assert vtt.mimetype == "text/vtt"
    assert 'filename="weekly call.vtt"' in vtt.headers["Content-Disposition"]
    assert vtt.text.startswith("WEBVTT\n\n1\n00:00:00.000 --> 00:00:0")
    assert "<v Speaker 2>" in vtt.text
    srt = browser.get(f"/documents/{recording}/transcript.srt", buffered=True).text
    assert srt.startswith("1\n00:00:00,000 --> 00:00:0")
    assert "\n\n2\n" in srt
    assert browser.get(f"/documents/{recording}/transcript.txt", buffered=True).text.startswith(
        "[0:00] Speaker 1: Good morning"
    )
    assert browser.get(f"/documents/{recording}/transcript.exe", buffered=True).status_code == 404


def test_a_program_gets_it_all(program: Program, recording: UUID) -> None:
    found = program.get(f"/documents/{recording}/transcript").json
    assert found is not None
    assert found["duration_seconds"] == pytest.approx(20, abs=0.1)
    assert (found["channels"], found["language"], found["analyst"]) == (2, "en", "local")
    assert {"start", "end", "speaker", "text"} == set(found["segments"][0])
    assert found["promises"]
    chunk = program.get(f"/documents/{recording}/chunks").json["chunks"][0]  # type: ignore[index]
    assert (chunk["time_from"], chunk["page_from"]) == (0, None)


@both_databases
def test_a_hit_plays_from_its_moment(browser: Browser, program: Program, recording: UUID) -> None:
    page = browser.get("/search?q=harbour+contract").text
    assert re.search(rf'href="/documents/{recording}\?passage=[^"#]+#t=[0-9.]+"', page)
    hits = program.get("/search?q=harbour+contract").json["hits"]  # type: ignore[index]
    assert hits[0]["time_from"] is not None


def test_other_orgs_find_nothing(people: People, recording: UUID, subtests: pytest.Subtests) -> None:
    other = people.browser(org="Theirs", email="eve@example.org")
    for part in ("audio", "transcript", "transcript.vtt", "transcript.srt", "transcript.txt"):
        with subtests.test(part):
            assert other.get(f"/documents/{recording}/{part}").status_code == 404
            assert people.browser().get(f"/documents/{uuid4()}/{part}").status_code == 404


@both_databases
def test_a_person_chooses_the_language_that_is_spoken(browser: Browser, program: Program, recording: UUID) -> None:
    page = browser.get(f"/documents/{recording}/details").text
    assert '<option value="ru">Russian</option>' in page
    assert '<option value="en" selected>English</option>' in page
    for data in ({"data": {"language": "ru"}}, {"json": {"language": "ru"}}):
        assert program.post(f"/documents/{recording}/reprocess", **data).status_code == 202
    assert _newest_languages(2) == ["ru", "ru"]
    assert program.post(f"/documents/{recording}/reprocess").status_code == 202
    assert _newest_languages(1) == [None]


def test_a_language_that_is_none_is_refused(program: Program, recording: UUID) -> None:
    for address in (f"/documents/{recording}/reprocess?language=klingon", "/documents?language=RU"):
        answer = program.post(address)
        assert answer.status_code == 422
        assert "language must be one of en, de" in answer.text
    assert program.post(f"/documents/{recording}/reprocess", json={"language": ["ru"]}).status_code == 422


def test_an_upload_says_which_language_its_recordings_are_in(program: Program, recording: UUID) -> None:
    file = (io.BytesIO(sounds.wav(sounds.babble(2))), "call.wav")
    assert program.post("/documents?language=pt", data={"file": file}).status_code == 200
    assert _newest_languages(1) == ["pt"]


def test_nothing_is_spoken_in_a_text(program: Program) -> None:
    [document] = shelve(program, ("note.txt", b"Nobody speaks in this note."))
    assert program.post(f"/documents/{document}/reprocess", data={"language": "ru"}).status_code == 422
    assert "spoken-language" not in program.get(f"/documents/{document}", headers={"Accept": "text/html"}).text


def _newest_languages(count: int) -> list[str | None]:
    with transaction(everywhere=True) as session:
        jobs = session.scalars(select(Job).order_by(Job.id.desc()).limit(count)).all()
        return [job.checkpoint.get(SPOKEN_LANGUAGE) for job in jobs]
