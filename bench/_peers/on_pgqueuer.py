# mypy: ignore-errors
# What it imports is not installed where types are checked.
"""pgqueuer on asyncpg, at its best: batches of 200."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from bench._peers import tell, wait_for_go

BATCH = 200


def install(url: str) -> None:
    async def act(queries: Queries) -> None:
        await queries.install()

    _do(url, act)


def one_by_one(url: str, number: int) -> list[float]:
    async def act(queries: Queries) -> list[float]:
        moments = []
        for _ in range(number):
            if number < 1_000:
                await asyncio.sleep(0.02)
            moments.append(time.monotonic())
            await queries.enqueue("noop", None, 0)
        return [*moments, time.monotonic()]

    found: list[float] = _do(url, act)
    return found


def work(url: str) -> None:
    async def act(queries: Queries) -> None:
        queue = PgQueuer(queries.driver)

        @queue.entrypoint("noop")
        async def noop(job: object) -> None:
            tell()

        wait_for_go()
        await queue.run(batch_size=BATCH)

    _do(url, act)


def _do(url: str, act: Callable[[Queries], Awaitable[Any]]) -> Any:
    async def connected() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await act(Queries(AsyncpgDriver(connection)))
        finally:
            await connection.close()

    return uvloop.run(connected())
