"""How Azure is reached: a storage account, and Document Intelligence."""

import re
from dataclasses import dataclass, field

from webapp.config.group import Group
from webapp.config.reader import Reader, SettingsError

# Settings are read before providers are imported, so the types are repeated here; a test compares them.
_OFFICE = "application/vnd.openxmlformats-officedocument."
AZURE_READS = frozenset(
    {
        "application/pdf",
        *(f"image/{kind}" for kind in ("jpeg", "png", "bmp", "tiff", "heic")),
        *(
            _OFFICE + kind
            for kind in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
        ),
    }
)
_CONTAINER = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}")


@dataclass(frozen=True)
class AzureSettings(Group):
    """How Azure is reached: a storage account, and Document Intelligence."""

    prefix = "azure_"

    storage_connection_string: str = field(repr=False)
    storage_account_url: str | None
    storage_container: str
    documentintelligence_endpoint: str | None
    documentintelligence_key: str = field(repr=False)
    documentintelligence_models: tuple[tuple[str, str], ...]
    documentintelligence_window_pages: int
    documentintelligence_windows_at_once: int


def read(env: Reader) -> AzureSettings:
    """Read and check this group."""
    return AzureSettings(
        storage_connection_string=_connection_string(env),
        storage_account_url=env.address("AZURE_STORAGE_ACCOUNT_URL"),
        storage_container=_container(env),
        documentintelligence_endpoint=env.address("AZURE_DOCUMENTINTELLIGENCE_ENDPOINT"),
        documentintelligence_key=env.text("AZURE_DOCUMENTINTELLIGENCE_KEY"),
        documentintelligence_models=_models(env),
        documentintelligence_window_pages=env.whole("AZURE_DOCUMENTINTELLIGENCE_WINDOW_PAGES", 50, most=2000),
        documentintelligence_windows_at_once=env.whole("AZURE_DOCUMENTINTELLIGENCE_WINDOWS_AT_ONCE", 4, most=100),
    )


def _connection_string(env: Reader) -> str:
    """Checked without being shown: it holds the key."""
    name = "AZURE_STORAGE_CONNECTION_STRING"
    value = env.text(name)
    parts = {part.partition("=")[0].strip().lower() for part in value.split(";")}
    if value and not ({"accountname", "blobendpoint"} & parts and {"accountkey", "sharedaccesssignature"} & parts):
        raise SettingsError(f"{name} is not complete. Example: {name}=AccountName=…;AccountKey=….")
    return value


def _container(env: Reader) -> str:
    name = "AZURE_STORAGE_CONTAINER"
    value = env.text(name, "docmill")
    if not _CONTAINER.fullmatch(value):
        raise SettingsError(f"{name}={value!r} is no container name: 3 to 63 small letters, digits and single dashes.")
    return value


def _models(env: Reader) -> tuple[tuple[str, str], ...]:
    """Other models by content type. A type that nobody sends would change nothing, and nobody would notice."""
    name = "AZURE_DOCUMENTINTELLIGENCE_MODELS"
    found = env.pairs(name, example="image/jpeg=prebuilt-receipt")
    for content_type, _ in found:
        if content_type not in AZURE_READS:
            known = ", ".join(sorted(AZURE_READS))
            raise SettingsError(f"{name}: {content_type!r} is no content type that it reads. These are: {known}.")
    return found
