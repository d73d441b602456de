"""One request to /mcp: the SDK's transport for ASGI, run for this request alone in the thread that serves it.

Nothing is kept between two requests, so any web process can answer the next one.
"""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

BODY_BYTES_MAX = 1 << 20


@dataclass
class McpAnswer:
    """What the transport answered."""

    status: int = 500
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""


def answer(server: "Server[Any]", method: str, headers: Mapping[str, str], body: bytes) -> McpAnswer:
    """The answer to a request with these headers and this body."""
    return anyio.run(_answer, server, method, headers, body)


async def _answer(server: "Server[Any]", method: str, headers: Mapping[str, str], body: bytes) -> McpAnswer:
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        # Hosts and origins are checked before a request comes here.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=BODY_BYTES_MAX,
        session_idle_timeout=None,
    )
    found, rest = McpAnswer(), [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> MutableMapping[str, Any]:
        if rest:
            return rest.pop()
        # The client is there until it has its answer.
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes it")

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            found.status = message["status"]
            found.headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]]
        else:
            found.body += message.get("body", b"")

    async with manager.run():
        await manager.handle_request(_scope(method, headers), receive, send)
    return found


def _scope(method: str, headers: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
    }
