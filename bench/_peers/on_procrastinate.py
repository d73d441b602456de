# mypy: ignore-errors
# What it imports is not installed where types are checked.
"""procrastinate, asynchronous, ten jobs at a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from procrastinate import App, PsycopgConnector

from bench._peers import tell, wait_for_go

CONCURRENCY = 10


def _app(url: str) -> tuple[App, Any]:
    app = App(connector=PsycopgConnector(conninfo=url))

    @app.task(name="noop")
    async def noop() -> None:
        tell()

    return app, noop


def install(url: str) -> None:
    async def act(app: App, task: Any) -> None:
        await app.schema_manager.apply_schema_async()

    _do(url, act)


def one_by_one(url: str, number: int) -> list[float]:
    async def act(app: App, task: Any) -> list[float]:
        moments = []
        for _ in range(number):
            if number < 1_000:
                await asyncio.sleep(0.02)
            moments.append(time.monotonic())
            await task.defer_async()
        return [*moments, time.monotonic()]

    found: list[float] = _do(url, act)
    return found


def work(url: str) -> None:
    async def act(app: App, task: Any) -> None:
        wait_for_go()
        await app.run_worker_async(concurrency=CONCURRENCY)

    _do(url, act)


def _do(url: str, act: Callable[[App, Any], Awaitable[Any]]) -> Any:
    async def opened() -> Any:
        app, task = _app(url)
        async with app.open_async():
            return await act(app, task)

    return asyncio.run(opened())
