"""A kept answer serves for the question that it answered and for no other, also across an upgrade."""

import hashlib
import json
from dataclasses import replace

import pytest
from sqlalchemy import delete, update

from tests import samples, sounds
from tests.conftest import settings_for
from tests.emulators.clients import azure_extractor, openai_embedder
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.openai import OpenAI
from tests.emulators.speechkit import SpeechKitServer
from tests.pipeline import hands, studio
from tests.pipeline.remote_place import RemotePlace
from tests.pipeline.workplace import Workplace, prose
from webapp.clock import utc_now
from webapp.config.azure import AZURE_READS
from webapp.db import transaction
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import Artifact, Document
from webapp.pipeline.transcribe import UNANSWERED
from webapp.providers.azure.extract import ACCEPTED, AzureExtractor
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.sound import AudioDecoder
from webapp.runs.stages import TRANSCRIBE_POLL
from webapp.wiring import wire

INVOICE = {"application/pdf": "prebuilt-invoice"}
BOOK = samples.report_pdf(pages=7)


@pytest.fixture
def place(
    workplace: Workplace, local_extractor: LocalExtractor, documentintelligence: DocumentIntelligence
) -> RemotePlace:
    remote = azure_extractor(documentintelligence, local_extractor, window_pages=3)
    place = RemotePlace(workplace, remote, documentintelligence)
    place.use(remote)
    return place


def other(place: RemotePlace, **options: object) -> AzureExtractor:
    """The same service under other settings."""
    local = place.workplace.extractor.real
    assert isinstance(local, LocalExtractor)
    return azure_extractor(place.server, local, **{"window_pages": 3, **options})


def asked(place: RemotePlace) -> list[str]:
    """The models that were asked, in order."""
    return [operation.model for operation in place.server.operations.values()]


def markdown(place: RemotePlace, document_id: object) -> str:
    made = place.workplace.all(Artifact)
    (path,) = [each.path for each in made if each.document_id == document_id and each.kind == "markdown"]
    return place.workplace.providers.blobs.read_bytes(path).decode()


# Another model, other windows.


def test_another_model_is_asked(place: RemotePlace) -> None:
    document_id = place.upload(samples.invoice_pdf())
    place.finish()
    before = markdown(place, document_id)
    place.use(other(place, models=INVOICE))
    place.workplace.reprocess(document_id)
    place.finish()
    assert asked(place) == ["prebuilt-layout", "prebuilt-invoice"]
    assert markdown(place, document_id) != before

    # And back again: the first model's answer was kept, too.
    place.use(place.extractor)
    place.workplace.reprocess(document_id)
    place.finish()
    assert len(asked(place)) == 2
    assert markdown(place, document_id) == before


def test_another_kinds_model_changes_nothing(place: RemotePlace) -> None:
    document_id = place.upload(samples.invoice_pdf())
    place.finish()
    place.use(other(place, models={"image/jpeg": "prebuilt-receipt"}))
    place.workplace.reprocess(document_id)
    place.finish()
    assert asked(place) == ["prebuilt-layout"]


def test_what_was_asked_of_a_model_is_no_answer_of_another(place: RemotePlace) -> None:
    """The settings change while an operation is under way: its answer comes, and is not taken for the new model's."""
    place.server.keeps_running = True
    document_id = place.upload(samples.invoice_pdf())
    assert place.look(place.claim()) is None
    place.server.keeps_running = False
    place.use(other(place, models=INVOICE))
    place.finish()
    assert asked(place) == ["prebuilt-layout", "prebuilt-invoice"]
    changed = markdown(place, document_id)

    # The first operation is not lost: an org that goes back to its model finds it.
    place.use(place.extractor)
    place.workplace.reprocess(document_id)
    place.finish()
    assert len(asked(place)) == 2
    assert markdown(place, document_id) != changed
    assert place.server.units() == sum(units for units, outcome, reused in place.bill() if not reused)


def test_other_windows_are_another_question(place: RemotePlace) -> None:
    document_id = place.upload(BOOK)
    place.finish()
    assert [query["pages"] for query in place.server.queries] == ["1-3", "4-6", "7-7"]
    place.use(other(place, window_pages=5))
    place.workplace.reprocess(document_id)
    place.finish()
    assert [query["pages"] for query in place.server.queries[3:]] == ["1-5", "6-7"]


def test_a_file_of_one_window_is_the_same_in_larger_ones(place: RemotePlace) -> None:
    document_id = place.upload(samples.invoice_pdf())
    place.finish()
    place.use(other(place, window_pages=50))
    place.workplace.reprocess(document_id)
    place.finish()
    assert asked(place) == ["prebuilt-layout"]


def test_an_attempt_under_other_settings_cuts_the_file_anew(place: RemotePlace) -> None:
    place.server.keeps_running = True
    document_id = place.upload(BOOK)
    assert place.look(place.claim()) is None
    place.server.keeps_running = False
    place.use(other(place, window_pages=5))
    place.finish()
    assert place.document(document_id).page_count == 7
    assert [query["pages"] for query in place.server.queries[3:]] == ["1-5", "6-7"]


def test_the_setting_reaches_the_extractor(workplace: Workplace, documentintelligence: DocumentIntelligence) -> None:
    variables = {
        "AZURE_DOCUMENTINTELLIGENCE_ENDPOINT": documentintelligence.url,
        "AZURE_DOCUMENTINTELLIGENCE_KEY": documentintelligence.key,
    }
    folder = workplace.settings.data_dir
    before = wire(settings_for(folder, **variables)).providers.remote_extractor
    models = "application/pdf=prebuilt-invoice"
    after = wire(settings_for(folder, AZURE_DOCUMENTINTELLIGENCE_MODELS=models, **variables)).providers.remote_extractor
    assert before is not None
    assert after is not None
    assert before.options_key() != after.options_key()
    assert before.answers_key("application/pdf") != after.answers_key("application/pdf")
    assert before.answers_key("image/png") == after.answers_key("image/png")


def test_settings_know_what_the_extractor_reads() -> None:
    assert AZURE_READS == ACCEPTED


# Upgraded from b9a429a.


def old_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def old_names(sha256: str) -> dict[str, str]:
    """How the answers about a PDF were named then: the words of that version, written out."""
    question = {"model": "prebuilt-layout", "features": ["keyValuePairs", "languages"], "format": "markdown"}
    answers = old_digest(json.dumps(["2024-11-30", question], sort_keys=True))
    options = json.dumps({"models": {}, "features": ["keyValuePairs", "languages"]}, sort_keys=True)
    joined = old_digest(f"1+2024-11-30\n{options}\napplication/pdf")
    return {
        "folder": f"extractions/{sha256}/",
        "answers": f"azure-{answers}/",
        "joined": f"azure-1-2024-11-30-{joined}.json",
    }


def as_it_was(workplace: Workplace) -> None:
    """Put all kept answers where b9a429a had them: in one folder of their bytes, under the names of that version."""
    blobs = workplace.providers.blobs
    for document in workplace.all(Document):
        assert document.answers_folder
        names = old_names(document.sha256)
        joined = [info.path for info in blobs.list(document.answers_folder) if _is_joined(info.path)]
        for info in list(blobs.list(document.answers_folder)):
            name = info.path.removeprefix(document.answers_folder)
            if name.startswith("azure-") and name.endswith(".answer"):
                assert name.startswith(names["answers"]), "the key of an answer is what it was"
            if info.path in joined:
                name = names["joined"]
            blobs.put_bytes(f"{workplace.org_id}/{names['folder']}{name}", blobs.read_bytes(info.path))
        blobs.delete_prefix(document.answers_folder)
    with transaction(workplace.org_id) as session:
        session.execute(update(Document).values(answers_folder=None))


def _is_joined(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith("azure-") and name.endswith(".json")


@pytest.mark.slow
def test_a_library_of_an_earlier_version_is_processed_again_without_a_call(
    workplace: Workplace,
    local_extractor: LocalExtractor,
    reader: AudioDecoder,
    documentintelligence: DocumentIntelligence,
    openai: OpenAI,
) -> None:
    remote = azure_extractor(documentintelligence, local_extractor, window_pages=3)
    workplace.providers = replace(workplace.providers, remote_extractor=remote)
    workplace.with_embedder(openai_embedder(openai))
    studio.equip(workplace, reader, studio.openai_at(openai, reader), studio.chat_at(openai))
    files = {"book.pdf": BOOK, "story.md": prose(5), "call.wav": sounds.wav(sounds.babble(8))}
    ids = [workplace.upload(data, name).document.id for name, data in files.items()]
    assert {hands.finish(workplace, each) for each in ids} == {"READY"}
    assert documentintelligence.calls["analyze"] == 3
    assert openai.calls["audio"] == openai.calls["chat"] == 1

    as_it_was(workplace)
    documentintelligence.reset()
    openai.reset()
    for each in ids:
        workplace.reprocess(each)
        hands.finish(workplace, each)
    assert {workplace.run(each).state for each in ids} == {"SUCCEEDED"}
    assert sum(documentintelligence.calls.values()) == sum(openai.calls.values()) == 0


# Upgraded while an operation is under way. 4ecc995 kept its id and its line; b9a429a wrote the line at the end.


@pytest.mark.parametrize("version", ["4ecc995", "b9a429a"])
def test_an_extraction_that_an_earlier_version_began_goes_on_unpaid(place: RemotePlace, version: str) -> None:
    place.server.keeps_running = True
    document_id = place.upload(BOOK)
    assert place.look(place.claim()) is None
    lease = place.claim()
    checkpoint = {**lease.checkpoint, "operations": as_they_were(place, version), "answered": 0}
    place.server.keeps_running = False
    place.finish(replace(lease, checkpoint=checkpoint))
    assert place.document(document_id).status == "READY"
    assert place.server.calls["analyze"] == 3
    assert place.bill() == [(1, "ok", False), (3, "ok", False), (3, "ok", False)]


@pytest.mark.parametrize("version", ["4ecc995", "b9a429a"])
def test_an_extraction_that_an_earlier_version_began_fails_on_the_bill(place: RemotePlace, version: str) -> None:
    place.server.keeps_running = True
    document_id = place.upload(samples.invoice_pdf())
    assert place.look(place.claim()) is None
    lease = place.claim()
    checkpoint = {**lease.checkpoint, "operations": as_they_were(place, version)}
    place.server.expire()
    place.server.keeps_running = False
    place.finish(replace(lease, checkpoint=checkpoint))
    assert place.document(document_id).status == "READY"
    assert place.bill() == [(0, "error", False), (1, "ok", False)]


def as_they_were(place: RemotePlace, version: str) -> dict[str, dict[str, str]]:
    """Operations under way as an earlier version stored them, and the entries of its checkpoint."""
    blobs, marks = place.workplace.providers.blobs, {}
    for path in [path for path in place.workplace.blobs() if path.endswith(".operation")]:
        operation, _, call = blobs.read_bytes(path).decode().partition("\n")
        folder, _, name = path.rpartition("/")
        mark = {"id": operation, "since": utc_now().isoformat()}
        if version == "4ecc995":
            mark |= {"call": call, "folder": f"{folder}/"}
        else:
            blobs.put_bytes(path, operation.encode())
        marks[name.removesuffix(".operation")] = mark
    if version == "b9a429a":
        with transaction(place.workplace.org_id) as session:
            session.execute(delete(ProviderCall))
    return marks


def test_a_transcription_that_an_earlier_version_began_goes_on_unpaid(
    workplace: Workplace, reader: AudioDecoder, speechkit: SpeechKitServer
) -> None:
    studio.equip(workplace, reader, studio.speechkit_at(speechkit, reader))
    document_id = workplace.upload(sounds.wav(sounds.babble(8)), "call.wav").document.id
    lease = studio.reach(workplace, TRANSCRIBE_POLL)
    (path,) = [path for path in workplace.blobs() if path.endswith(".operation.json")]
    blobs = workplace.providers.blobs
    operation = blobs.read_bytes(path).decode().partition("\n")[0]
    blobs.put_bytes(path, json.dumps({"id": operation}).encode())
    checkpoint = {name: value for name, value in lease.checkpoint.items() if name != UNANSWERED}
    studio.work(workplace, replace(lease, checkpoint=checkpoint))
    assert studio.finish(workplace, document_id) == "READY"
    assert speechkit.calls["start"] == 1
    assert [(call.units, call.outcome, call.reused) for call in workplace.calls("transcribe")] == [(8, "ok", False)]
