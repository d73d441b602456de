"""Nobody but the queue repeats a call: no client of a vendor does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import samples, sounds
from tests.emulators.clients import azure_extractor, openai_embedder
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.openai import OpenAI
from tests.emulators.server import Emulator
from tests.emulators.speechkit import SpeechKitServer
from tests.pipeline import studio
from webapp.provider_errors import ProviderError
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.speech_ports import Clip, Segment

BOOK = samples.report_pdf(pages=2)


def test_no_client_of_a_vendor_repeats_a_call(
    reader: AudioDecoder,
    speechkit: SpeechKitServer,
    openai: OpenAI,
    documentintelligence: DocumentIntelligence,
    local_extractor: LocalExtractor,
    tmp_path: Path,
) -> None:
    pdf, sound = tmp_path / "a.pdf", tmp_path / "a.ogg"
    pdf.write_bytes(BOOK)
    sound.write_bytes(sounds.encoded("ogg", 2))
    azure = azure_extractor(documentintelligence, local_extractor)
    kind, (window, *_) = "application/pdf", azure.windows(pdf, "application/pdf", timeout_seconds=20)
    clip = Clip(0.0, 2.0, None, True)
    heard: dict[str, Any] = {"timeout_seconds": 5, "progress": lambda _: None}
    calls: list[tuple[Emulator, str, Callable[[], Any]]] = [
        (openai, "embeddings", lambda: openai_embedder(openai).embed(["a text"])),
        (openai, "chat", lambda: studio.chat_at(openai).analyze([Segment(0, 1, "words")], timeout_seconds=5)),
        (openai, "audio", lambda: studio.openai_at(openai, reader).start(sound, clip, **heard)),
        (speechkit, "start", lambda: studio.speechkit_at(speechkit, reader).start(sound, clip, **heard)),
        (documentintelligence, "analyze", lambda: azure.start(pdf, kind, window)),
    ]
    for server, name, ask in calls:
        for fault, code in (("status", 500), ("status", 429), ("status", 408), ("lost", 0)):
            before = server.calls[name]
            server.misbehave(fault, name, code=code)
            with pytest.raises(ProviderError):
                ask()
            assert server.calls[name] == before + 1, (name, fault, code)
