"""`docmill mcp`: the library for an AI assistant on this machine, which starts the command and talks to it by stdio."""

import anyio
from mcp.server.stdio import stdio_server

from webapp.client.server import Server
from webapp.mcp.server import make_server


def serve(server: Server, *, may_write: bool) -> None:
    """Answer until the assistant closes the input."""
    anyio.run(_serve, server, may_write)


async def _serve(server: Server, may_write: bool) -> None:
    assistant = make_server(server, may_write=may_write)
    async with stdio_server() as (read_stream, write_stream):
        await assistant.run(read_stream, write_stream, assistant.create_initialization_options())
