"""/mcp: the library for AI assistants, by the Model Context Protocol with a token. Read-only unless `write=1`."""

from collections.abc import Mapping
from typing import Any, Self

import httpx2
from flask import Blueprint, Flask, Response, current_app, request

from webapp.mcp.tools import ToolFailed
from webapp.web.access import principal, readers_only
from webapp.web.errors import Problem

pages = Blueprint("mcp", __name__)


@pages.post("/mcp")
@readers_only
def serve() -> Response:
    """Answer one message. Where `write=1` is in the address and the token may write, tools that change are there."""
    # Loaded when it is first asked for: most installations never do, and it takes half a second.
    from webapp.mcp import over_http, server  # noqa: PLC0415

    if request.content_length is None or request.content_length > over_http.BODY_BYTES_MAX:
        raise Problem(413, detail=f"A message has a Content-Length of at most {over_http.BODY_BYTES_MAX} bytes.")
    may_write = request.args.get("write") == "1" and principal().may_write
    headers = dict(request.headers)
    with OwnApi(current_app, headers) as api:
        assistant = server.make_server(api, may_write=may_write)
        found = over_http.answer(assistant, request.method, headers, request.get_data())
    return Response(found.body, found.status, found.headers)


class OwnApi:
    """The HTTP API of this application, without a network, for whoever sent the request that is being answered."""

    def __init__(self, app: Flask, headers: Mapping[str, str]) -> None:
        sent = {name: headers[name] for name in ("Authorization", "Cookie", "X-CSRFToken") if name in headers}
        self._client = httpx2.Client(
            transport=httpx2.WSGITransport(app=app.wsgi_app, raise_app_exceptions=False),
            base_url=request.host_url,
            headers={"Accept": "application/json", **sent},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._client.close()

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON under an address."""
        return _checked(self._client.get(path, params=parameters)).json()

    def get_text(self, path: str) -> str:
        """The text under an address."""
        return _checked(self._client.get(path)).text

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change something, and get JSON."""
        return _checked(self._client.patch(path, json=dict(body))).json()


def _checked(answer: httpx2.Response) -> httpx2.Response:
    if answer.is_success:
        return answer
    is_problem = answer.headers.get("Content-Type", "").startswith("application/problem+json")
    raise ToolFailed(answer.json()["detail"] if is_problem else f"It was answered with {answer.status_code}.")
