"""Which providers are in use, as the page for operations lists them."""

from webapp.providers.ports import AnyExtractor
from webapp.web.access import services


def provider_rows() -> list[dict[str, str | None]]:
    """Each role with its provider, and which model or version of it."""
    used = services().providers
    readers: list[tuple[str, AnyExtractor]] = [("extraction", used.extractor)]
    if used.remote_extractor is not None:
        readers = [("extraction", used.remote_extractor), ("extraction_of_the_rest", used.extractor)]
    extraction = [_provider(role, reader.name, reader.version) for role, reader in readers]
    speech = []
    if used.speech is not None:
        recogniser, analyst = used.speech.recogniser, used.speech.analyst
        speech = [
            _provider("speech", recogniser.name, recogniser.version),
            _provider("analysis", analyst.name, analyst.version),
        ]
    chat = [("fields", used.field_finder), ("answers", used.answerer)]
    return [
        _provider("blobs", used.blobs.name),
        *extraction,
        _provider("embeddings", used.embedder.name, used.embedder.model),
        *(_provider(role, used.name, used.version) for role, used in chat if used is not None),
        *speech,
    ]


def _provider(role: str, name: str, detail: str | None = None) -> dict[str, str | None]:
    return {"role": role, "name": name, "detail": detail}
