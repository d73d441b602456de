"""Implementations that work for real accounts."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from azure.storage.blob import BlobServiceClient
from openai import OpenAI

from tests.emulators.accounts import setting
from tests.emulators.clients import connect
from webapp.providers.azure.blob import AzureBlobStore
from webapp.providers.azure.extract import AzureExtractor
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.openai.chat import OpenAIAnalyst
from webapp.providers.openai.client import connect as openai_client
from webapp.providers.openai.embed import Model, OpenAIEmbedder
from webapp.providers.openai.transcribe import OpenAIRecogniser
from webapp.providers.speech_files import cut_with
from webapp.providers.speechkit.client import Options, SpeechKit


@contextmanager
def container(incoming: Path) -> Iterator[AzureBlobStore]:
    """A container of its own in a real storage account, removed afterwards."""
    connection_string, name = setting("AZURE_STORAGE_CONNECTION_STRING"), f"docmill-test-{uuid4().hex[:16]}"
    yield connect(connection_string, incoming, name)
    BlobServiceClient.from_connection_string(connection_string).delete_container(name)


def embedder() -> OpenAIEmbedder:
    """The real service, or whatever OPENAI_BASE_URL names."""
    model = Model("text-embedding-3-small", 512)
    return OpenAIEmbedder(_openai(), model, batch_size=64, concurrency=2, timeout_seconds=60)


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
    return OpenAIRecogniser(_openai(), setting("OPENAI_TRANSCRIBE_MODEL", "whisper-1"), cut_with(reader))


def analyst() -> OpenAIAnalyst:
    """The same, asked for notes."""
    return OpenAIAnalyst(_openai(), setting("OPENAI_CHAT_MODEL", "gpt-4.1-mini"))


def _openai() -> OpenAI:
    return openai_client(setting("OPENAI_BASE_URL", "https://api.openai.com/v1"), setting("OPENAI_API_KEY"), 60)
