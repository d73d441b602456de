"""Reads files with Azure Document Intelligence, in windows of pages: started, polled, read.

The client retries nothing and polls nothing by itself: the queue does both, and holds no worker
while Azure works. What it answers is kept as it came, compressed.
"""

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from azure.ai.documentintelligence import DocumentIntelligenceClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import AzureError, HttpResponseError, ODataV4Format
from azure.core.rest import HttpRequest, HttpResponse

from webapp.provider_errors import BadInput, BlobMissing, FailureCode, ProviderError, ProviderUnavailable, TimedOut
from webapp.providers.azure.answer import read_result
from webapp.providers.azure.errors import described, general_error, inner_codes
from webapp.providers.ports import Done, Failed, Polled, StillRunning, Window
from webapp.providers.vendor_http import redactor, retry_after_seconds
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import OFFICE, PDF

API_VERSION = "2024-11-30"
# Part of the extraction's version, not of the answers': increase it when the same answer would be read differently.
RULES = 1
LAYOUT = "prebuilt-layout"
# Only these know Markdown, and only for these kinds are there extras.
MARKDOWN_MODELS = frozenset({LAYOUT})
FEATURES = ("keyValuePairs", "languages")
IMAGES = frozenset({"image/jpeg", "image/png", "image/bmp", "image/tiff", "image/heic"})
WITHOUT_FEATURES = frozenset(
    OFFICE + kind for kind in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
)
ACCEPTED = frozenset({PDF, *IMAGES, *WITHOUT_FEATURES})
OCTETS = "application/octet-stream"
OPERATION = re.compile(r"[\w.-]{1,100}/[\w.-]{1,200}")
CONNECT_SECONDS = 10.0
AT_WORK = frozenset({"notStarted", "running"})
FAILED = frozenset({"failed", "canceled", "skipped"})
# What the service says of a file, innermost code first, and what that means here.
BAD_INPUT = {
    "InvalidContent": FailureCode.CORRUPT,
    "UnsupportedContent": FailureCode.UNSUPPORTED,
    "InvalidContentLength": FailureCode.TOO_LARGE,
    "InvalidContentDimensions": FailureCode.TOO_LARGE,
}

CountPages = Callable[[Path, float], int]


class AzureExtractor:
    """A RemoteExtractor for PDF, pictures and Office files."""

    name = "azure"
    version = f"{RULES}+{API_VERSION}"

    def __init__(
        self,
        client: DocumentIntelligenceClient,
        count_pages: CountPages,
        *,
        models: Mapping[str, str],
        window_pages: int,
        windows_at_once: int,
        secret: str = "",
    ) -> None:
        self.windows_at_once = windows_at_once
        self._client = client
        self._count_pages = count_pages
        self._models = dict(models)
        self._window_pages = window_pages
        self._redact = redactor(secret)

    @classmethod
    def connect(
        cls, endpoint: str, key: str, count_pages: CountPages, *, timeout_seconds: float, **options: Any
    ) -> "AzureExtractor":
        """Make the client; it connects when it is first used. Without a key the managed identity signs in."""
        client = DocumentIntelligenceClient(
            endpoint,
            AzureKeyCredential(key) if key else _managed_identity(),
            api_version=API_VERSION,
            retry_total=0,
            connection_timeout=min(CONNECT_SECONDS, timeout_seconds),
            read_timeout=timeout_seconds,
        )
        return cls(client, count_pages, secret=key, **options)

    def options_key(self) -> str:
        """Give the options that can change a result: what a window cuts in two is read as two."""
        options = {"models": self._models, "features": FEATURES, "window_pages": self._window_pages}
        return json.dumps(options, sort_keys=True)

    def answers_key(self, content_type: str) -> str:
        """Give what is asked for: another model's answers are others."""
        return json.dumps([API_VERSION, self._question(content_type)], sort_keys=True)

    def accepts(self, content_type: str) -> bool:
        """Say whether this kind of file can be read."""
        return content_type in ACCEPTED

    def check(self) -> None:
        """Ask for the account's figures, which is free."""
        with self._translated("info"):
            self._get("/info").raise_for_status()

    def windows(self, source: Path, content_type: str, *, timeout_seconds: float) -> tuple[Window, ...]:
        """Cut a PDF into windows of pages. A damaged or encrypted one is refused here, where it costs nothing."""
        if not self.accepts(content_type):
            raise BadInput(f"nothing to read {content_type} with", code=FailureCode.UNSUPPORTED)
        if _size(source) == 0:
            raise BadInput("the file has no bytes", code=FailureCode.EMPTY)
        if content_type != PDF:
            return (Window(),)
        count, step = self._count_pages(source, timeout_seconds), self._window_pages
        return tuple(Window(first, min(first + step - 1, count)) for first in range(1, count + 1, step))

    def start(self, source: Path, content_type: str, window: Window) -> str:
        """Send the file and ask for a window of it; the operation's id is "model/id"."""
        model, question = self._model(content_type), self._question(content_type)
        pages = None if window.first is None else f"{window.first}-{window.last}"
        with self._translated("analyze"), _opened(source) as file:
            poller = self._client.begin_analyze_document(
                model,
                body=file,
                content_type=OCTETS,
                pages=pages,
                features=question["features"] or None,
                output_content_format=question["format"],
                string_index_type="unicodeCodePoint",
                polling=False,
            )
            return f"{model}/{_operation_id(poller)}"

    def poll(self, operation: str) -> Polled:
        """Poll an operation once."""
        if not OPERATION.fullmatch(operation):
            return Failed(ProviderUnavailable("what is kept as the operation's id is none"))
        model, _, operation_id = operation.partition("/")
        with self._translated("poll"):
            response = self._get(f"/documentModels/{model}/analyzeResults/{operation_id}")
            if response.status_code == 404:
                return Failed(ProviderUnavailable("the service does not know the operation any more"))
            if response.status_code == 429:
                return StillRunning(retry_after_seconds(response.headers))
            response.raise_for_status()
            return self._polled(response)

    def read(self, answer: bytes, window: Window) -> Extraction:
        """Read an answer that `poll` gave."""
        try:
            result = json.loads(gzip.decompress(answer))["analyzeResult"]
        except (ValueError, OSError, EOFError, zlib.error, KeyError, TypeError) as error:
            raise ValueError("not an answer of the service") from error
        return read_result(result, window, self.name, self.version)

    def _polled(self, response: HttpResponse) -> Polled:
        content = response.content
        try:
            found = json.loads(content)
            status = found["status"]
            if status in AT_WORK:
                return StillRunning(retry_after_seconds(response.headers))
            if status in FAILED:
                return Failed(self._failure(found.get("error")))
            pages, _ = found["analyzeResult"]["pages"], found["analyzeResult"]["content"] + ""
            # No time in the header: the same answer is the same bytes.
            return Done(gzip.compress(content, 6, mtime=0), len(pages))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ProviderUnavailable("poll: the answer could not be read") from error

    def _failure(self, error: object) -> ProviderError:
        """Why an operation failed: the file, or the service itself."""
        found = ODataV4Format(error if isinstance(error, dict) else {})
        codes = inner_codes(found)
        words = self._redact(f"the operation failed: {'/'.join(codes)} {found.message or ''}")
        return _bad_input(codes, words) or ProviderUnavailable(words)

    def _model(self, content_type: str) -> str:
        return self._models.get(content_type, LAYOUT)

    def _question(self, content_type: str) -> dict[str, Any]:
        """What is asked of a model. Others than the layout model have questions of their own built in."""
        model = self._model(content_type)
        is_layout = model in MARKDOWN_MODELS
        has_features = is_layout and content_type not in WITHOUT_FEATURES
        features: Sequence[str] = FEATURES if has_features else ()
        return {"model": model, "features": list(features), "format": "markdown" if is_layout else "text"}

    def _get(self, path: str) -> HttpResponse:
        return self._client.send_request(HttpRequest("GET", path, params={"api-version": API_VERSION}))

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except AzureError as error:
            # Its own words stay out of tracebacks, too: they may quote the key.
            raise self._error(error, what) from None

    def _error(self, error: AzureError, what: str) -> ProviderError:
        if not isinstance(error, HttpResponseError):
            return general_error(error, what)
        codes, words = inner_codes(error.error), described(error, what, self._redact)
        if error.status_code == 413:
            return BadInput(words, code=FailureCode.TOO_LARGE)
        if "ContentSourceTimeout" in codes:
            return TimedOut(words)
        if found := _bad_input(codes, words):
            return found
        general = general_error(error, what)
        if general.code is not FailureCode.REQUEST_REFUSED:
            return general
        return ProviderError(words, permanent=True, code=general.code)


def _managed_identity() -> Any:
    from webapp.providers.azure.identity import managed_identity  # noqa: PLC0415 - 34 MB that keys don't need

    return managed_identity()


def _size(source: Path) -> int:
    try:
        return source.stat().st_size
    except FileNotFoundError as error:
        raise BlobMissing("the file to read is gone") from error


@contextmanager
def _opened(source: Path) -> Iterator[Any]:
    try:
        file = source.open("rb")
    except FileNotFoundError as error:
        raise BlobMissing("the file to read is gone") from error
    with file:
        yield file


def _operation_id(poller: Any) -> str:
    """The id out of the answer's Operation-Location. Where there is none, something was paid for and is lost."""
    try:
        found = str(poller.details["operation_id"])
        if not OPERATION.fullmatch(f"model/{found}"):
            raise ValueError("no id")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = "analyze: the answer names no operation"
        raise ProviderUnavailable(message, is_outcome_unknown=True) from error
    return found


def _bad_input(codes: Sequence[str], words: str) -> BadInput | None:
    code = next((BAD_INPUT[code] for code in reversed(codes) if code in BAD_INPUT), None)
    return None if code is None else BadInput(words, code=code)
