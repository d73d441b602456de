"""GET /documents/{id}/searchable.pdf: the pages of a scan, with words that can be selected and found."""

import logging
from uuid import UUID

from flask import Blueprint, Response

from webapp.db import reading
from webapp.library import lookup
from webapp.library.searchable import WORDS, filename_of, searchable_pdf
from webapp.provider_errors import BadInput, BlobMissing, ParserCrashed, TimedOut
from webapp.readers.filetypes import PDF
from webapp.web import blobs
from webapp.web.access import get_document, org_id, services
from webapp.web.errors import Problem
from webapp.web.security_log import note_download

_log = logging.getLogger(__name__)
pages = Blueprint("searchable", __name__, url_prefix="/documents/<uuid:document_id>")


@pages.get("/searchable.pdf")
def show(document_id: UUID) -> Response:
    """Make it and send it: always saved, never shown in place."""
    with reading(org_id()):
        document = get_document(document_id)
        words = lookup.artifact_paths(document.org_id, document_id).get(WORDS)
    if words is None:
        raise Problem(404, "no_words")
    try:
        made = searchable_pdf(services().providers, document, words)
    except BlobMissing as error:
        raise Problem(404, detail="The stored file is gone.") from error
    except (BadInput, ParserCrashed, TimedOut) as error:
        _log.info("no searchable PDF of document %s: %s", document_id, error.message)
        raise Problem(422, "not_searchable") from error
    if made is None:
        raise Problem(404, "no_words")
    note_download(document_id, "searchable", document.filename)
    return blobs.download_made(made, filename_of(document), PDF)
