"""Implementations that work for real accounts."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from azure.storage.blob import BlobServiceClient

from tests.emulators.accounts import setting
from tests.emulators.clients import connect
from webapp.providers.audio_decode import AudioDecoder
from webapp.providers.azure_blob import AzureBlobStore
from webapp.providers.azure_extract import AzureExtractor
from webapp.providers.local_extract import LocalExtractor
from webapp.providers.openai_chat import OpenAIAnalyst
from webapp.providers.openai_embed import Model, OpenAIEmbedder
from webapp.providers.openai_transcribe import OpenAIRecogniser
from webapp.providers.speech_files import cut_with
from webapp.providers.speechkit import Options, SpeechKit


@contextmanager
def container(incoming: Path) -> Iterator[AzureBlobStore]:
    """A container of its own in a real storage account, removed afterwards."""
    connection_string, name = setting("AZURE_STORAGE_CONNECTION_STRING"), f"docmill-test-{uuid4().hex[:16]}"
    yield connect(connection_string, incoming, name)
    BlobServiceClient.from_connection_string(connection_string).delete_container(name)


def embedder() -> OpenAIEmbedder:
    """The real service, or whatever OPENAI_BASE_URL names."""
    model = Model("text-embedding-3-small", 512)
    key = setting("OPENAI_API_KEY")
    return OpenAIEmbedder.connect(_openai(), key, model, batch_size=64, concurrency=2, timeout_seconds=60)


def extractor(local: LocalExtractor) -> AzureExtractor:
    """The real service."""
    endpoint, key = setting("AZURE_DOCUMENTINTELLIGENCE_ENDPOINT"), setting("AZURE_DOCUMENTINTELLIGENCE_KEY")
    return AzureExtractor.connect(
        endpoint, key, local.count_pages, models={}, window_pages=15, windows_at_once=2, timeout_seconds=60
    )


def speechkit(reader: AudioDecoder) -> SpeechKit:
    """The real service."""
    urls = ("https://stt.api.cloud.yandex.net", "https://operation.api.cloud.yandex.net")
    return SpeechKit(*urls, setting("SPEECHKIT_API_KEY"), Options(), cut_with(reader), timeout_seconds=60)


def transcriber(reader: AudioDecoder) -> OpenAIRecogniser:
    """The real service, or whatever OPENAI_BASE_URL names."""
    model, key = setting("OPENAI_TRANSCRIBE_MODEL", "whisper-1"), setting("OPENAI_API_KEY")
    return OpenAIRecogniser.connect(_openai(), key, model, cut_with(reader), language="auto", timeout_seconds=60)


def analyst() -> OpenAIAnalyst:
    """The same, asked for notes."""
    model = setting("OPENAI_CHAT_MODEL", "gpt-4.1-mini")
    return OpenAIAnalyst.connect(_openai(), setting("OPENAI_API_KEY"), model, timeout_seconds=60)


def _openai() -> str:
    return setting("OPENAI_BASE_URL", "https://api.openai.com/v1")
