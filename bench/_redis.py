"""A Redis for benchmarks with BullMQ, and what it has used."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from tests.redis_server import RedisServer, running_redis
from webapp.config.dispatch import QueueKind


def add_queue_option(parser: argparse.ArgumentParser) -> None:
    """Let the caller say `--queue bullmq`."""
    parser.add_argument("--queue", choices=[*map(str, QueueKind)], default=str(QueueKind.DATABASE))


@contextmanager
def queue_settings(queue: str) -> Iterator[tuple[dict[str, str], RedisServer | None]]:
    """The variables of a worker with this queue; for BullMQ a Redis lives until the block ends."""
    if queue == QueueKind.DATABASE:
        yield {"QUEUE": queue}, None
        return
    with running_redis() as redis:
        yield {"QUEUE": queue, "REDIS_URL": redis.url}, redis


def used_by(redis: RedisServer) -> tuple[float, float]:
    """The seconds of CPU that it has used, and the commands that it got."""
    said = redis.client.info()
    return said["used_cpu_user"] + said["used_cpu_sys"], float(said["total_commands_processed"])
