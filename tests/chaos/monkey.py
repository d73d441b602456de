"""Does what the plan says, and puts right what it broke."""

import contextlib
import http.client
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg
import redis

from tests.chaos import audit
from tests.chaos.plan import Fault
from tests.chaos.processes import Managed, wait_until
from tests.chaos.world import LEASE_SECONDS, World
from tests.emulators.wire import Wire

# The product ends a session that is idle in a transaction after 10 s; the server looks when its timer fires.
OPEN_SECONDS_MAX = 12.0
FREEZE_IN_TRANSACTION_SECONDS = 14.0
# The exit code of a worker that should not have been started.
REFUSED = 2
PROVIDER_FAULTS = ("status", "cut", "lost", "malformed", "late")


@dataclass
class Monkey:
    """One for the whole run. Faults that last (a frozen process, say) go on beside the next ones."""

    world: World
    done: Counter[str] = field(default_factory=Counter)
    troubles: list[str] = field(default_factory=list)
    _healing: list[threading.Timer] = field(default_factory=list)
    _is_stopped: bool = False
    _reviving: threading.Lock = field(default_factory=threading.Lock)
    _database_lock: threading.Lock = field(default_factory=threading.Lock)
    _redis_lock: threading.Lock = field(default_factory=threading.Lock)

    def inject(self, fault: Fault) -> None:
        """Do this one; where there is nobody to do it to just now, nothing."""
        act: Callable[[Fault], bool] = getattr(self, "_" + fault.name.replace("'s", "").replace(" ", "_"))
        if act(fault):
            self.done[fault.name] += 1

    def heal(self) -> None:
        """Everything goes through again, and everybody who should be there is."""
        for timer in self._healing:
            timer.cancel()
        for process in self.world.all:
            process.freeze(is_on=False)
            if process.is_alive:
                process.fill_disk(is_on=False)
            if process.wire is not None:
                process.wire.faults.clear()
                process.wire.freeze(is_on=False)
        for emulator in self.world.emulators:
            with emulator.lock:
                emulator.faults.clear()
        if self._is_stopped:
            self._start_database()
        if self.world.redis is not None:
            self._start_redis()
            self.world.redis.freeze(is_on=False)
        self.revive()

    def revive(self) -> None:
        """What a supervisor does: replace processes that have ended, each once."""
        world = self.world
        with self._reviving:
            if not world.web.is_alive:
                self._note_exit(world.web)
                world.web.start()
            for worker in list(world.workers):
                if not worker.is_alive:
                    self._note_exit(worker)
                    world.workers.remove(worker)
                    world.add_worker()

    def _note_exit(self, process: Managed) -> None:
        # kill -9 was ours, and so was SIGTERM, which may come before anybody listens; a process that ended of its own
        # accord did what it must never do.
        status = process.popen.returncode if process.popen else None
        if status == REFUSED and self.world.redis is not None:
            # A worker whose first call to Redis fails ends with a sentence, and its supervisor starts another one.
            self.done["  workers that found no Redis at their start"] += 1
        elif status not in {-signal.SIGKILL, -signal.SIGTERM, 0}:
            self.troubles.append(f"{process.command[-1]} ended by itself: status {status}")

    def _later(self, seconds: float, act: Callable[[], object]) -> None:
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        timer.start()
        self._healing.append(timer)

    def _worker(self, fault: Fault) -> Managed | None:
        fit = [one for one in self.world.workers if one.is_alive and not one.frozen]
        return fit[int(fault.choice * len(fit))] if fit else None

    def _wires(self, fault: Fault) -> Wire | None:
        fit = [one.wire for one in (self.world.web, *self.world.workers) if one.is_alive and one.wire]
        return fit[int(fault.choice * len(fit))] if fit else None

    def _kill_a_worker(self, fault: Fault) -> bool:
        worker = self._worker(fault)
        if worker is None:
            return False
        self.world.dead[self.world.database_role(worker)] = time.time()
        worker.kill()
        self._later(fault.strength, self.revive)
        return True

    def _freeze_a_worker_past_its_lease(self, fault: Fault) -> bool:
        return self._freeze(self._worker(fault), LEASE_SECONDS + 1 + 3 * fault.strength)

    def _freeze_a_worker_for_a_moment(self, fault: Fault) -> bool:
        return self._freeze(self._worker(fault), 0.2 + fault.strength)

    def _freeze_the_server_for_a_moment(self, fault: Fault) -> bool:
        return self._freeze(self.world.web, 0.5 + 3 * fault.strength)

    def _freeze(self, process: Managed | None, seconds: float) -> bool:
        if process is None or not process.is_alive:
            return False
        process.freeze(is_on=True)
        self._later(seconds, lambda: process.freeze(is_on=False))
        return True

    def _ask_a_worker_to_leave(self, fault: Fault) -> bool:
        worker = self._worker(fault)
        if worker is None or worker.popen is None:
            return False
        worker.popen.terminate()
        return True

    def _kill_a_web_process(self, _: Fault) -> bool:
        self.world.web.kill_child()
        return True

    def _kill_the_whole_server(self, _: Fault) -> bool:
        self.world.web.end()
        self.world.web.start()
        return True

    def _cut_connections(self, fault: Fault) -> bool:
        wire = self._wires(fault)
        return wire is not None and wire.cut(fault.strength) > 0

    def _lose_a_commit_on_its_way(self, fault: Fault) -> bool:
        return self._lose(self._wires(fault), is_after=False)

    def _lose_the_answer_to_a_commit(self, fault: Fault) -> bool:
        return self._lose(self._wires(fault), is_after=True)

    @staticmethod
    def _lose(wire: Wire | None, *, is_after: bool) -> bool:
        if wire is None:
            return False
        wire.lose(b"", is_after=is_after)
        return True

    def _swallow_the_network_packets(self, fault: Fault) -> bool:
        wire = self._wires(fault)
        if wire is None:
            return False
        wire.freeze(is_on=True)
        self._later(1 + 5 * fault.strength, lambda: wire.freeze(is_on=False))
        return True

    def _crash_the_database(self, _: Fault) -> bool:
        assert self.world.server is not None
        with self._database_lock:
            if self._is_stopped:
                return False
            self.world.server.crash()
        return True

    def _stop_the_database(self, fault: Fault) -> bool:
        assert self.world.server is not None
        with self._database_lock:
            if self._is_stopped:
                return False
            self.world.server.stop_hard()
            self._is_stopped = True
        self._later(1 + 6 * fault.strength, self._start_database)
        return True

    def _start_database(self) -> None:
        with self._database_lock:
            if self._is_stopped and self.world.server is not None:
                self.world.server.start()
                self._is_stopped = False

    def _kill_redis(self, fault: Fault) -> bool:
        assert self.world.redis is not None
        with self._redis_lock:
            self.world.redis.kill()
        self._later(1 + 6 * fault.strength, self._start_redis)
        return True

    def _restart_redis_empty(self, _: Fault) -> bool:
        assert self.world.redis is not None
        with self._redis_lock:
            self.world.redis.kill()
        self._start_redis()
        return True

    def _freeze_redis(self, fault: Fault) -> bool:
        server = self.world.redis
        assert server is not None
        with self._redis_lock:
            if not server.is_alive:
                return False
            server.freeze(is_on=True)
        self._later(1 + 9 * fault.strength, lambda: server.freeze(is_on=False))
        return True

    def _flush_redis(self, _: Fault) -> bool:
        assert self.world.redis is not None
        # One that is away has nothing to flush.
        with contextlib.suppress(ConnectionError, TimeoutError, redis.RedisError):
            self.world.redis.client.flushall()
            return True
        return False

    def _start_redis(self) -> None:
        assert self.world.redis is not None
        with self._redis_lock:
            if not self.world.redis.is_alive:
                self.world.redis.start()

    def _fill_the_disk(self, fault: Fault) -> bool:
        """Of one worker (of the server, where that is all), or of all processes."""
        worker = self._worker(fault) or self.world.web
        targets = [worker] if fault.strength < 0.5 else [self.world.web, *self.world.workers]
        alive = [one for one in targets if one.is_alive]
        for process in alive:
            process.fill_disk(is_on=True)
        self._later(2 + 4 * fault.choice, lambda: self._empty_disk(alive))
        return bool(alive)

    @staticmethod
    def _empty_disk(processes: list[Managed]) -> None:
        for process in processes:
            if process.is_alive:
                process.fill_disk(is_on=False)

    def _freeze_a_worker_in_its_transaction(self, fault: Fault) -> bool:
        worker = self._worker(fault)
        if worker is None:
            return False
        self._later(0, lambda: self._freeze_while_publishing(worker))
        return True

    def _freeze_while_publishing(self, worker: Managed) -> None:
        """Freeze a worker once it is inside a publishing transaction; its session must end before it wakes."""
        assert self.world.server is not None
        role, url = self.world.database_role(worker), self.world.server.superuser_url
        with contextlib.suppress(psycopg.Error):
            with audit.publishing_waits(url, role) as is_inside:
                if not wait_until(is_inside, 5, 0.02) or not worker.is_alive or worker.frozen:
                    return
                worker.freeze(is_on=True)
            self.done["  of these, frozen while publishing"] += 1
            self._later(FREEZE_IN_TRANSACTION_SECONDS, lambda: self._wake(worker, role, url))

    def _wake(self, worker: Managed, role: str, url: str) -> None:
        with contextlib.suppress(psycopg.Error):
            if (seconds := audit.open_seconds(url, role)) > OPEN_SECONDS_MAX:
                self.troubles.append(f"a frozen worker's transaction was still open after {seconds:.1f} s")
        worker.freeze(is_on=False)

    def _cancel_a_run(self, fault: Fault) -> bool:
        """Somebody cancels a document that is being processed, and has it processed again."""
        site = self.world.site
        with contextlib.suppress(AssertionError, OSError, http.client.HTTPException):
            found = site.get("/documents?status=PROCESSING")["documents"]
            if not found:
                return False
            document = found[int(fault.choice * len(found))]
            site.post(f"/documents/{document['id']}/runs/{document['run']['id']}/cancel")
            site.post(f"/documents/{document['id']}/reprocess")
            return True
        return False

    def _kill_a_database_session(self, fault: Fault) -> bool:
        assert self.world.server is not None
        # While it is stopped, or recovers from the last one, it has no session to kill.
        with contextlib.suppress(psycopg.OperationalError):
            self.world.server.kill_backend(fault.choice)
            return True
        return False

    def _make_the_provider_fail(self, fault: Fault) -> bool:
        kind = PROVIDER_FAULTS[int(fault.choice * len(PROVIDER_FAULTS))]
        times = 1 + int(3 * fault.strength)
        self.world.openai.misbehave(kind, "embeddings", times=times, seconds=5.0)
        if self.world.analyzer is not None:
            self.world.analyzer.misbehave(kind, "analyze", times=1, seconds=5.0)
        return True
