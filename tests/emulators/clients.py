"""The product's implementations as clients of the emulators."""

import weakref
from pathlib import Path
from typing import Any, Protocol, TypeVar
from uuid import uuid4

from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.openai import OpenAI
from webapp.providers.azure.blob import AzureBlobStore
from webapp.providers.azure.extract import AzureExtractor
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.openai.client import connect as openai_client
from webapp.providers.openai.embed import Model, OpenAIEmbedder

User = TypeVar("User")


class Closable(Protocol):
    """What holds connections."""

    def close(self) -> None:
        """Let them go."""


def connect(connection_string: str, incoming: Path, container: str | None = None) -> AzureBlobStore:
    """A store in this container, or in a new one."""
    store = AzureBlobStore.connect(
        incoming,
        container or f"test-{uuid4().hex}",
        connection_string=connection_string,
        account_url=None,
        timeout_seconds=20,
    )
    return _closing(store, store._container)


def openai_embedder(server: OpenAI, **more: Any) -> OpenAIEmbedder:
    """An embedder that asks this server."""
    values: dict[str, Any] = {"batch_size": 16, "concurrency": 4, "timeout_seconds": 10, "api_key": server.key, **more}
    model = values.pop("model", Model("text-embedding-3-small", 256))
    client = openai_client(server.base_url, values.pop("api_key"), values["timeout_seconds"])
    embedder = OpenAIEmbedder(client, model, **values)
    return _closing(embedder, embedder._client)


def azure_extractor(server: DocumentIntelligence, local: LocalExtractor, **more: Any) -> AzureExtractor:
    """An extractor that asks this server; a parser on this machine counts pages for it."""
    values: dict[str, Any] = {"models": {}, "window_pages": 15, "windows_at_once": 4, "timeout_seconds": 10, **more}
    extractor = AzureExtractor.connect(server.url, values.pop("key", server.key), local.count_pages, **values)
    return _closing(extractor, extractor._client)


def _closing(user: User, client: Closable) -> User:
    """Close a client's connections when nobody uses it any more: a warning about one would be an error."""
    weakref.finalize(user, client.close)
    return user
