"""Redis, spoken to from threads: each call is bounded in time and raises nothing but RedisAway.

The clients are asynchronous and belong to a thread with an event loop. After a failed call Redis counts as away until
a test of the loop's own succeeds; meanwhile calls fail at once, so that nobody waits for a frozen server twice.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

import redis.asyncio as aredis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError, RedisError, ResponseError
from redis.exceptions import ConnectionError as ConnectionLost

_log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

CONNECT_SECONDS = 2.0
# Of one command, and of one call, which is a few commands.
COMMAND_SECONDS = 2.0
CALL_SECONDS = 3.0
# The longest wait for news; a connection for waiting must be more patient than that.
WAIT_SECONDS = 1.0
_TRY_AGAIN_SECONDS = 1.0
_START_SECONDS = 5.0
# A cancelled call, and a connection that was closed under one, are among them.
_FAILURES = (RedisError, OSError, EOFError, RuntimeError, CancelledError)
_REFUSALS = (AuthenticationError, AuthorizationError, NoPermissionError)


class RedisAway(Exception):
    """Redis can't be used at this moment. The message holds no password."""


class RedisConfused(RedisAway):
    """Redis answers, but refuses a command: a key of ours has become something else."""


class RedisRefused(Exception):
    """Redis can't be used as the settings say; the message is a sentence for a person."""


class RedisClient:
    """Two bounded clients of one Redis: `calls`, and `waits` for commands that wait for news.

    Make it after a fork, and call it from plain threads only.
    """

    def __init__(self, url: str, probe_key: str) -> None:
        self._url = url
        self._probe_key = probe_key
        self._is_closed = False
        self._is_up = True
        self._coming_back: asyncio.Task[None] | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="redis", daemon=True)
        self._thread.start()
        self.calls = self._connect(COMMAND_SECONDS)
        self.waits = self._connect(WAIT_SECONDS + 1)

    @property
    def is_up(self) -> bool:
        """Whether the last call succeeded, or Redis has come back since."""
        return self._is_up

    def check(self) -> None:
        """RedisRefused unless Redis can be used; waits some seconds for one that is just starting. For a start."""
        future = self._submit(self._first_answer())
        try:
            future.result(_START_SECONDS + CONNECT_SECONDS)
        except _REFUSALS as error:
            raise RedisRefused(f"the user or the password is refused ({_short(error)})") from error
        except TimeoutError as error:
            future.cancel()
            raise RedisRefused("there is no answer") from error
        except (RedisError, OSError) as error:
            raise RedisRefused(_short(error)) from error
        except (TypeError, ValueError) as error:
            raise RedisRefused("a parameter of the address can't be used") from error

    def run(self, call: Coroutine[Any, Any, Answer], seconds: float = CALL_SECONDS) -> Answer:
        """The answer of a call, within so many seconds; RedisAway."""
        if not self.is_up or self._is_closed:
            call.close()
            raise RedisAway("Redis is away")
        future = self._submit(_bounded(call, seconds))
        try:
            return future.result(seconds + CONNECT_SECONDS)
        except _FAILURES as error:
            future.cancel()
            raise self._failed(error) from error

    def start(self, call: Coroutine[Any, Any, object]) -> None:
        """Begin a call whose answer nobody needs; its failure means that Redis is away."""
        if not self._is_up or self._is_closed:
            call.close()
            return
        self._submit(self._alone(call))

    def soon(self, act: Callable[[], object]) -> None:
        """Call this in the loop's thread. Safe from any thread, also after `close`."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(act)

    def close(self) -> None:
        """Close the connections and end the thread."""
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(Exception):
            self._submit(self._disconnect()).result(CONNECT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CONNECT_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    def _connect(self, command_seconds: float) -> "aredis.Redis":
        return aredis.from_url(
            self._url,
            decode_responses=True,
            # Somebody else's bytes under our keys must not look like a failure.
            encoding_errors="replace",
            socket_timeout=command_seconds,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_keepalive=True,
            # After a restart of the server the first use of each pooled connection fails. A timeout is not repeated:
            # the command may have been executed.
            retry=Retry(NoBackoff(), 1, supported_errors=(ConnectionLost,)),
            client_name="docmill",
        )

    def _submit(self, call: Coroutine[Any, Any, Answer]) -> "Future[Answer]":
        return asyncio.run_coroutine_threadsafe(call, self._loop)

    def _failed(self, error: BaseException) -> RedisAway:
        if isinstance(error, ResponseError) and not isinstance(error, _REFUSALS) and "WRONGTYPE" in str(error):
            return RedisConfused(_short(error))
        if self._is_up and not self._is_closed:
            self._is_up = False
            _log.warning("Redis is away: %s", _short(error))
            self.soon(self._begin_return)
        return RedisAway(_short(error))

    async def _alone(self, call: Coroutine[Any, Any, object]) -> None:
        try:
            await _bounded(call, CALL_SECONDS)
        except _FAILURES as error:
            self._failed(error)

    def _begin_return(self) -> None:
        if self._coming_back is None or self._coming_back.done():
            self._coming_back = self._loop.create_task(self._return())

    async def _return(self) -> None:
        """Try until Redis answers again."""
        while not self._is_closed:
            await asyncio.sleep(_TRY_AGAIN_SECONDS)
            with suppress(RedisError, OSError, TimeoutError):
                await _bounded(self._probe(), CALL_SECONDS)
                self._is_up = True
                _log.warning("Redis is back")
                return

    async def _first_answer(self) -> None:
        """Until Redis answers; one that refuses a connection may be starting, so it is asked again for a while."""
        deadline = self._loop.time() + _START_SECONDS
        while True:
            try:
                return await _bounded(self._probe(), CALL_SECONDS)
            except _REFUSALS:
                raise
            except (ConnectionLost, OSError):
                if self._loop.time() > deadline:
                    raise
                await asyncio.sleep(_TRY_AGAIN_SECONDS / 4)

    async def _probe(self) -> None:
        """Fails where Redis is being loaded, is full, or takes no writes, too."""
        await self.calls.set(self._probe_key, "1", ex=60)

    async def _disconnect(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for client in (self.calls, self.waits):
            await client.aclose()


async def _bounded(call: Coroutine[Any, Any, Answer], seconds: float) -> Answer:
    async with asyncio.timeout(seconds):
        return await call


def _short(error: BaseException) -> str:
    """Its kind and its message, which names hosts and reasons, never a password."""
    return f"{type(error).__name__}: {error}"[:200].rstrip(": ")
