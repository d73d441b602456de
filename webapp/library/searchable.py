"""A searchable PDF of a document that OCR read: made when somebody asks, and not kept."""

from pathlib import PurePath
from typing import BinaryIO

from webapp.documents.model import Document
from webapp.providers.ports import Providers
from webapp.readers.filetypes import PDF

# The artifact that it is made of, beside the file itself.
WORDS = "words"
TIMEOUT_SECONDS = 120.0


def searchable_pdf(providers: Providers, document: Document, words_path: str) -> BinaryIO | None:
    """The PDF, open for reading; None where nothing here makes one. ProviderError as makers and blobs raise them."""
    if providers.searchable is None:
        return None
    local_copy = providers.copies or providers.blobs.local_copy
    with local_copy(document.readable_path) as source, providers.blobs.local_copy(words_path) as words:
        return providers.searchable.make(
            source,
            words,
            is_pdf=document.content_type == PDF,
            pages_max=document.page_count or 1,
            timeout_seconds=TIMEOUT_SECONDS,
            org=str(document.org_id),
        )


def filename_of(document: Document) -> str:
    """How it is named when it is saved."""
    return f"{PurePath(document.filename).stem} (searchable).pdf"
