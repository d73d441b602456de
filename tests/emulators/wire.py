"""A wire between a client and a server on loopback, to be cut at the worst moment."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

COMMIT = b"COMMIT\x00"
# The end of what a client sends before it waits for the answer.
_SYNC = b"S\x00\x00\x00\x04"
_CHUNK = 1 << 16


@dataclass
class Fault:
    """Cut one connection when it sends `at`, having said `containing` since the last time.

    `is_after`: the server has got it and has answered; only the client never hears of it.
    """

    containing: bytes
    at: bytes = COMMIT
    is_after: bool = False
    happened: threading.Event = field(default_factory=threading.Event)


class Wire:
    """Forwards what comes to `port`. All methods may be called from any thread."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._loop = asyncio.new_event_loop()
        self._links: set[_Link] = set()
        self.is_down = False
        self.faults: list[Fault] = []
        self.round_trips = 0
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire", daemon=True)
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Nothing goes through any more."""
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def cut(self, share: float = 1.0) -> int:
        """End connections: so many, the oldest first. New ones are accepted unless the wire is down."""
        return int(self._call(self._cut(share)))

    def freeze(self, *, is_on: bool) -> None:
        """Swallow everything and say nothing, as a network that drops its packets; what was swallowed stays lost."""
        self._call(self._freeze(is_on))

    def lose(self, containing: bytes, *, is_after: bool, at: bytes = COMMIT) -> Fault:
        """Arrange for one loss."""
        fault = Fault(containing, at, is_after)
        self.faults.append(fault)
        return fault

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _end(self) -> None:
        self._server.close()
        await self._cut(1.0)
        current = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _cut(self, share: float) -> int:
        chosen = sorted(self._links, key=lambda link: link.number)
        chosen = chosen[: max(1, round(len(chosen) * share))] if chosen else []
        for link in chosen:
            link.abort()
        return len(chosen)

    async def _freeze(self, is_on: bool) -> None:
        for link in self._links:
            link.is_frozen = is_on
        if not is_on:
            await self._cut(1.0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_down:
            writer.transport.abort()
            return
        try:
            upstream = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(self, (reader, writer), upstream)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)


_Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Link:
    """One connection."""

    _count = 0

    def __init__(self, wire: Wire, client: _Pair, server: _Pair) -> None:
        _Link._count += 1
        self.number = _Link._count
        self.is_frozen = False
        self._wire = wire
        self._client, self._server = client, server
        self._said = bytearray()
        self._fault: Fault | None = None

    async def run(self) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await asyncio.wait(
                [asyncio.ensure_future(self._up()), asyncio.ensure_future(self._down())],
                return_when=asyncio.FIRST_COMPLETED,
            )
        self.abort()

    def abort(self) -> None:
        for _, writer in (self._client, self._server):
            writer.transport.abort()

    async def _up(self) -> None:
        with contextlib.suppress(OSError):
            while data := await self._client[0].read(_CHUNK):
                self._wire.round_trips += data.count(_SYNC) + data.startswith(b"Q")
                if self._is_to_be_lost(data):
                    return
                if not self.is_frozen:
                    self._server[1].write(data)
                    await self._server[1].drain()

    async def _down(self) -> None:
        with contextlib.suppress(OSError):
            while data := await self._server[0].read(_CHUNK):
                if self._fault is not None:
                    self._fault.happened.set()
                    return
                if not self.is_frozen:
                    self._client[1].write(data)
                    await self._client[1].drain()

    def _is_to_be_lost(self, data: bytes) -> bool:
        """Whether to cut before forwarding; a loss after it is left to the answer."""
        if not self._wire.faults:
            return False
        self._said += data
        for fault in self._wire.faults:
            if fault.at in data and fault.containing in self._said:
                self._wire.faults.remove(fault)
                if fault.is_after:
                    self._fault = fault
                    return False
                fault.happened.set()
                return True
        if COMMIT in data:
            self._said.clear()
        return False


@contextlib.contextmanager
def wired(url: str) -> Iterator[tuple[Wire, str]]:
    """A wire to the server of this URL, and the URL that goes through it."""
    parts = urlsplit(url)
    wire = Wire(str(parts.hostname), int(parts.port or 5432))
    try:
        place = f"{parts.username}:{parts.password}@127.0.0.1:{wire.port}"
        yield wire, urlunsplit(parts._replace(netloc=place))
    finally:
        wire.close()
