"""The library for AI assistants, asked by the official SDK's own client: at /mcp, and by `docmill mcp`."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.client.conftest import Served
from tests.web.shelves import NOTES, shelve, work_off

READING = ["search", "list_documents", "get_document", "read_document", "get_fields", "get_tables", "list_failures"]
Ask = Callable[[Client], Any]


def over_http(served: Served, ask: Ask, token: str, path: str = "/mcp", mode: str = "auto") -> Any:
    """What an assistant finds that talks HTTP."""

    async def run() -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
            Client(streamable_http_client(served.url + path, http_client=http), mode=mode) as client,
        ):
            return await ask(client)

    return anyio.run(run)


def said(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


async def _tools(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


async def _read_all(client: Client) -> str:
    found = json.loads(said(await client.call_tool("search", {"query": "wheat stones"})))
    document_id = found["passages"][0]["document_id"]
    assert found["passages"][0]["filename"] == "mill.md"
    read = await client.call_tool("read_document", {"document_id": document_id})
    assert "ground between" in said(read)
    assert json.loads(said(await client.call_tool("get_document", {"document_id": document_id})))["status"] == "READY"
    for part in ("get_fields", "get_tables"):
        assert not (await client.call_tool(part, {"document_id": document_id})).is_error
    listed = json.loads(said(await client.call_tool("list_documents", {"query": "in:mill"})))
    assert [each["id"] for each in listed["documents"]] == [document_id]
    assert json.loads(said(await client.call_tool("list_failures", {})))["documents"] == []
    return str(document_id)


async def _mistakes(client: Client) -> list[str]:
    unknown = "00000000-0000-7000-8000-000000000000"
    asked: list[tuple[str, dict[str, Any]]] = [
        ("search", {}),
        ("search", {"query": '"unclosed'}),
        ("read_document", {"document_id": unknown}),
        ("delete_everything", {}),
        ("set_tags", {"document_id": unknown, "tags": []}),
    ]
    results = [await client.call_tool(name, arguments) for name, arguments in asked]
    assert all(result.is_error for result in results)
    return [said(result) for result in results]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_assistant_searches_and_reads(served: Served, mode: str) -> None:
    shelve(served.program, ("mill.md", NOTES))
    work_off(served.app)
    token = served.people.program("viewer").token
    assert over_http(served, _tools, token, mode=mode) == READING
    document_id = over_http(served, _read_all, token, mode=mode)
    wrong, unclosed, missing, unknown, not_allowed = over_http(served, _mistakes, token, mode=mode)
    assert "'query' is a required property" in wrong
    assert "quotation mark" in unclosed
    assert "deleted" in missing
    assert "There is no tool “delete_everything”" in unknown
    assert "There is no tool “set_tags”" in not_allowed

    async def tag(client: Client) -> str:
        return said(await client.call_tool("set_tags", {"document_id": document_id, "tags": ["mills"]}))

    assert over_http(served, _tools, token, "/mcp?write=1", mode) == READING
    assert json.loads(over_http(served, tag, served.program.token, "/mcp?write=1", mode)) == {"tags": ["mills"]}


def test_who_may_not_read_gets_nothing(served: Served) -> None:
    with httpx2.Client(base_url=served.url) as http:
        assert http.post("/mcp", json={}).status_code == 401
        for role in ("metrics", "worker"):
            token = served.people.program(role).token
            assert http.post("/mcp", json={}, headers={"Authorization": f"Bearer {token}"}).status_code == 403
        own = {"Authorization": f"Bearer {served.program.token}"}
        assert http.post("/mcp", content=b"x" * (2 << 20), headers=own).status_code == 413
        assert http.post("/mcp", content=b"{", headers={**own, "Accept": "application/json"}).status_code == 400


def test_the_command_serves_an_assistant_by_stdio(served: Served) -> None:
    shelve(served.program, ("mill.md", NOTES))
    work_off(served.app)
    environment = {name: os.environ[name] for name in ("DOCMILL_URL", "DOCMILL_TOKEN")}
    started = StdioServerParameters(command=sys.executable, args=["-m", "webapp.client", "mcp"], env=environment)

    async def run() -> list[str]:
        async with Client(started) as client:
            await _read_all(client)
            return await _tools(client)

    assert anyio.run(run) == READING
