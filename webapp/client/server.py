"""Requests to a Docmill server: the token, retries, and errors as sentences."""

import time
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import httpx2

from webapp.config.client import ClientSettings
from webapp.mcp.tools import ToolFailed

TRIES = 5
WAIT_SECONDS = 30
_TIMEOUT_SECONDS = 60.0
_PAUSE_SECONDS_MAX = 30.0
_BUSY = {429, 502, 503, 504}
NO_DOCMILL = "Is DOCMILL_URL the address of a Docmill?"


class ServerRefused(ToolFailed):
    """The server did not do it; the message is a sentence for a person."""


class Server:
    """A Docmill server. A request that was not answered is sent again: the same bytes make one document."""

    def __init__(self, settings: ClientSettings, pause: Callable[[float], None] = time.sleep) -> None:
        self._pause = pause
        self._client = httpx2.Client(
            base_url=settings.url,
            headers={"Authorization": f"Bearer {settings.token}", "Accept": "application/json"},
            timeout=_TIMEOUT_SECONDS,
        )

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON under an address."""
        return _json(self._send("GET", path, lambda: {"params": parameters}))

    def get_text(self, path: str) -> str:
        """The text under an address."""
        return self._send("GET", path, lambda: {"headers": {"Accept": "*/*"}}).text

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change something, and get JSON."""
        return _json(self._send("PATCH", path, lambda: {"json": body}))

    def post(self, path: str, make: Callable[[], Mapping[str, Any]]) -> Any:
        """Send something and get JSON. `make` gives the body, anew for each try."""
        return _json(self._send("POST", path, make))

    def download(self, path: str, write: Callable[[bytes], object]) -> None:
        """Fetch a file in pieces."""
        try:
            with self._client.stream("GET", path, headers={"Accept": "*/*"}) as answer:
                if answer.status_code != 200:
                    answer.read()
                    raise ServerRefused(_sentence(answer))
                for piece in answer.iter_bytes():
                    write(piece)
        except httpx2.HTTPError as error:
            raise ServerRefused(self._unreachable(error)) from error

    def wait(self, document_id: UUID | str, see: Callable[[Mapping[str, Any]], None]) -> Mapping[str, Any]:
        """The status of a document when it is no longer PROCESSING; `see` is shown each one on the way."""
        while True:
            started = time.monotonic()
            status: Mapping[str, Any] = self.get(f"/documents/{document_id}/status", wait=WAIT_SECONDS)
            see(status)
            if status["status"] != "PROCESSING":
                return status
            # Where too many wait already, the server answers at once.
            if time.monotonic() - started < 1:
                self._pause(1)

    def _send(self, method: str, path: str, make: Callable[[], Mapping[str, Any]]) -> httpx2.Response:
        for tried in range(1, TRIES + 1):
            try:
                answer = self._client.request(method, path, **make())
            except (httpx2.InvalidURL, UnicodeError) as error:
                raise ServerRefused(f"That can't be sent: {error}.") from error
            except httpx2.HTTPError as error:
                if tried == TRIES:
                    raise ServerRefused(self._unreachable(error)) from error
                self._pause(min(2.0**tried, _PAUSE_SECONDS_MAX))
                continue
            if answer.is_success:
                return answer
            if answer.status_code not in _BUSY or tried == TRIES:
                raise ServerRefused(_sentence(answer))
            self._pause(_retry_after(answer, 2.0**tried))
        raise AssertionError("the last try returns or raises")

    def _unreachable(self, error: httpx2.HTTPError) -> str:
        return f"{self._client.base_url} does not answer ({type(error).__name__}). Is DOCMILL_URL right?"


def _json(answer: httpx2.Response) -> Any:
    """The body, if it is JSON at all: another server answers with a page."""
    try:
        found = answer.json()
    except ValueError as error:
        raise ServerRefused(NO_DOCMILL) from error
    if not isinstance(found, dict):
        raise ServerRefused(NO_DOCMILL)
    return found


def _retry_after(answer: httpx2.Response, otherwise: float) -> float:
    given = answer.headers.get("Retry-After", "")
    return min(float(given) if given.isascii() and given.isdigit() else otherwise, _PAUSE_SECONDS_MAX)


def _sentence(answer: httpx2.Response) -> str:
    """What the server says, in its own words where it is a Docmill."""
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict) or "detail" not in body:
        return f"The server answered {answer.status_code} without a reason. {NO_DOCMILL}"
    if answer.status_code == 401:
        return f"{body['detail']} DOCMILL_TOKEN holds the token; the page Account makes one."
    return str(body["detail"])
