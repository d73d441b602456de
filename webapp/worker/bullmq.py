"""What a worker process has for QUEUE=bullmq: its dispatch, its part in the election, and the relay's threads."""

from collections.abc import Callable

from webapp.config import Settings
from webapp.jobs.dispatch.bullmq.client import RedisRefused
from webapp.jobs.dispatch.bullmq.dispatch import BullDispatch
from webapp.jobs.dispatch.bullmq.queues import BullQueues
from webapp.jobs.dispatch.bullmq.relay import Relay
from webapp.jobs.queue import WorkerQueue
from webapp.worker.election import Election
from webapp.worker.relaying import Relaying


class BullMQ:
    """Made for one worker process, and started with it."""

    def __init__(
        self, settings: Settings, queue: WorkerQueue, queues: BullQueues, worker: str, on_broken: Callable[[str], None]
    ) -> None:
        self._settings = settings.dispatch
        self._queues = queues
        self.dispatch = BullDispatch(queue, queues)
        self.election = Election()
        relay = Relay(worker, queue, queues, dict(settings.queue.stage_limits))
        self._relaying = Relaying(relay, queues, self.election, settings.queue.worker_threads, on_broken)

    def refusal(self) -> str | None:
        """Why the process should not be started: Redis can't be used as the settings say."""
        try:
            self._queues.client.check()
        except RedisRefused as error:
            return f"Redis at {self._settings.redis_host} can't be used: {error}. Check REDIS_URL, or leave QUEUE out."
        return None

    def start(self) -> None:
        """Start the relay's threads; they do nothing until this process is the relay."""
        self._relaying.start()

    def stop(self) -> None:
        """Make no more offers."""
        self._relaying.stop()
