"""The settings of cloud providers: what follows from which credentials, and what is refused."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import settings_for
from webapp.config import SettingsError
from webapp.wiring import wire

STORAGE = {
    "AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=c2VjcmV0LWNhbmFyeQ==;EndpointSuffix=core.invalid"
}
READER = {
    "AZURE_DOCUMENTINTELLIGENCE_ENDPOINT": "https://reader.invalid/",
    "AZURE_DOCUMENTINTELLIGENCE_KEY": "canary-of-the-reader",
}
OPENAI = {"OPENAI_API_KEY": "sk-canary-of-openai"}


def test_without_credentials_this_machine_does_everything(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    chosen, providers = settings.providers, wire(settings).providers
    assert (chosen.blobs, chosen.extraction, chosen.embeddings) == ("local", "local", "local")
    assert (providers.blobs.name, providers.extractor.name, providers.embedder.name) == ("local", "local", "local")
    assert providers.remote_extractor is None
    assert providers.embedder.model == "multilingual-e5-small-int8"
    english = wire(settings_for(tmp_path, EMBEDDINGS_MODEL="english")).providers
    assert english.embedder.model == "minilm-l6-v2-int8"
    earlier = english.embedder_for("multilingual-e5-small-int8")
    assert earlier is not None
    assert (earlier.model, english.embedder_for("unknown")) == ("multilingual-e5-small-int8", None)


def test_credentials_choose(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, **STORAGE, **READER, **OPENAI)
    chosen, providers = settings.providers, wire(settings).providers
    assert (chosen.blobs, chosen.extraction, chosen.embeddings) == ("azure", "azure", "openai")
    assert (providers.blobs.name, providers.embedder.name) == ("azure", "openai")
    assert providers.embedder.model == "text-embedding-3-small@1536"
    assert providers.remote_extractor is not None
    assert providers.remote_extractor.name == "azure"
    assert providers.remote_for("application/pdf") is providers.remote_extractor
    assert providers.remote_for("text/plain") is None
    assert providers.accepts("image/png")


def test_a_choice_can_be_forced(tmp_path: Path) -> None:
    forced = {"BLOBS": "local", "EXTRACTION": "local", "EMBEDDINGS": "local"}
    providers = wire(settings_for(tmp_path, **STORAGE, **READER, **OPENAI, **forced)).providers
    assert (providers.blobs.name, providers.remote_extractor, providers.embedder.name) == ("local", None, "local")


def test_a_managed_identity_replaces_keys(tmp_path: Path) -> None:
    settings = settings_for(
        tmp_path,
        AZURE_STORAGE_ACCOUNT_URL="https://account.blob.core.windows.net/",
        EXTRACTION="azure",
        AZURE_DOCUMENTINTELLIGENCE_ENDPOINT="https://reader.invalid",
    )
    assert settings.azure.storage_account_url == "https://account.blob.core.windows.net"
    providers = wire(settings).providers
    assert providers.blobs.name == "azure"
    assert providers.remote_extractor is not None


def test_a_server_without_keys_is_chosen_by_name(tmp_path: Path) -> None:
    settings = settings_for(
        tmp_path,
        EMBEDDINGS="openai",
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
        OPENAI_EMBEDDING_MODEL="bge-m3",
        OPENAI_EMBEDDING_DIMENSIONS="1024",
    )
    assert wire(settings).providers.embedder.model == "bge-m3@1024"


def test_models_are_chosen_by_content_type(tmp_path: Path) -> None:
    models = "image/jpeg=prebuilt-receipt, application/pdf = prebuilt-invoice"
    settings = settings_for(tmp_path, AZURE_DOCUMENTINTELLIGENCE_MODELS=models)
    assert dict(settings.azure.documentintelligence_models) == {
        "image/jpeg": "prebuilt-receipt",
        "application/pdf": "prebuilt-invoice",
    }


@pytest.mark.parametrize(
    ("variables", "name", "hint"),
    [
        ({"BLOBS": "azure"}, "BLOBS", "AZURE_STORAGE_CONNECTION_STRING"),
        ({"EXTRACTION": "azure"}, "EXTRACTION", "AZURE_DOCUMENTINTELLIGENCE_ENDPOINT"),
        ({"EMBEDDINGS": "openai"}, "EMBEDDINGS", "OPENAI_API_KEY"),
        (
            {"AZURE_DOCUMENTINTELLIGENCE_ENDPOINT": "https://reader.invalid"},
            "AZURE_DOCUMENTINTELLIGENCE_KEY",
            "managed identity",
        ),
        ({"AZURE_DOCUMENTINTELLIGENCE_KEY": "x"}, "AZURE_DOCUMENTINTELLIGENCE_ENDPOINT", "EXTRACTION=local"),
        ({"OPENAI_BASE_URL": "api.openai.com"}, "OPENAI_BASE_URL", "https://"),
        ({"OPENAI_BASE_URL": "https://me:secret@host/v1"}, "OPENAI_BASE_URL", "password"),
        ({"AZURE_STORAGE_ACCOUNT_URL": "https://a.invalid/?sig=x"}, "AZURE_STORAGE_ACCOUNT_URL", "query"),
        ({"AZURE_STORAGE_CONNECTION_STRING": "AccountKey=secret"}, "AZURE_STORAGE_CONNECTION_STRING", "AccountName"),
        ({"AZURE_STORAGE_CONTAINER": "Not--Good"}, "AZURE_STORAGE_CONTAINER", "small letters"),
        ({"AZURE_DOCUMENTINTELLIGENCE_MODELS": "invoice"}, "AZURE_DOCUMENTINTELLIGENCE_MODELS", "Example"),
        (
            {"AZURE_DOCUMENTINTELLIGENCE_MODELS": "pdf=prebuilt-invoice"},
            "AZURE_DOCUMENTINTELLIGENCE_MODELS",
            "application/pdf",
        ),
        (
            {**OPENAI, "OPENAI_EMBEDDING_MODEL": "bge-m3"},
            "OPENAI_EMBEDDING_DIMENSIONS",
            "OPENAI_EMBEDDING_MODEL=bge-m3",
        ),
        ({"EMBED_CONCURRENCY": "0"}, "EMBED_CONCURRENCY", "from 1 to 64"),
    ],
)
def test_what_cannot_be_right_is_named(tmp_path: Path, variables: Mapping[str, str], name: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=name) as refused:
        settings_for(tmp_path, **variables)
    assert hint in str(refused.value)
    assert "secret" not in str(refused.value)


def test_keys_never_show(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, **STORAGE, **READER, **OPENAI)
    assert "canary" not in repr(settings)
    assert "c2VjcmV0" not in repr(settings)
