"""Does what the plan says, and puts right what it broke."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.chaos.plan import Blow
from tests.chaos.processes import Managed
from tests.chaos.world import LEASE_SECONDS, World
from tests.emulators.wire import Wire

PROVIDER_FAULTS = ("status", "cut", "lost", "malformed", "late")


@dataclass
class Monkey:
    """One for the whole run. Blows that last (a frozen process, say) go on beside the next ones."""

    world: World
    done: Counter[str] = field(default_factory=Counter)
    troubles: list[str] = field(default_factory=list)
    _healing: list[threading.Timer] = field(default_factory=list)

    def strike(self, blow: Blow) -> None:
        """Do this one; where there is nobody to do it to just now, nothing."""
        act: Callable[[Blow], bool] = getattr(self, "_" + blow.name.replace("'s", "").replace(" ", "_"))
        if act(blow):
            self.done[blow.name] += 1

    def heal(self) -> None:
        """Everything goes through again, and everybody who should be there is."""
        for timer in self._healing:
            timer.cancel()
        for process in self.world.all:
            process.freeze(is_on=False)
            if process.wire is not None:
                process.wire.faults.clear()
                process.wire.freeze(is_on=False)
        with self.world.openai.lock:
            self.world.openai.faults.clear()
        self.revive()

    def revive(self) -> None:
        """What a supervisor does: replace processes that have ended."""
        world = self.world
        if not world.web.is_alive:
            self._note_exit(world.web)
            world.web.start()
        for worker in list(world.workers):
            if not worker.is_alive:
                self._note_exit(worker)
                world.workers.remove(worker)
                world.add_worker()

    def _note_exit(self, process: Managed) -> None:
        # kill -9 was ours, and so was SIGTERM, which may come before anybody listens; whoever left of its own
        # accord did what it must never do.
        status = process.popen.returncode if process.popen else None
        if status not in {-signal.SIGKILL, -signal.SIGTERM, 0}:
            self.troubles.append(f"{process.command[-1]} ended by itself: status {status}")

    def _later(self, seconds: float, act: Callable[[], object]) -> None:
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        timer.start()
        self._healing.append(timer)

    def _worker(self, blow: Blow) -> Managed | None:
        fit = [one for one in self.world.workers if one.is_alive and not one.frozen]
        return fit[int(blow.choice * len(fit))] if fit else None

    def _wires(self, blow: Blow) -> Wire | None:
        fit = [one.wire for one in (self.world.web, *self.world.workers) if one.is_alive and one.wire]
        return fit[int(blow.choice * len(fit))] if fit else None

    def _kill_a_worker(self, blow: Blow) -> bool:
        worker = self._worker(blow)
        if worker is None:
            return False
        self.world.dead[self.world.role_of(worker)] = time.time()
        worker.kill()
        self._later(blow.strength, self.revive)
        return True

    def _freeze_a_worker_past_its_lease(self, blow: Blow) -> bool:
        return self._freeze(self._worker(blow), LEASE_SECONDS + 1 + 3 * blow.strength)

    def _freeze_a_worker_for_a_moment(self, blow: Blow) -> bool:
        return self._freeze(self._worker(blow), 0.2 + blow.strength)

    def _freeze_the_server_for_a_moment(self, blow: Blow) -> bool:
        return self._freeze(self.world.web, 0.5 + 3 * blow.strength)

    def _freeze(self, process: Managed | None, seconds: float) -> bool:
        if process is None or not process.is_alive:
            return False
        process.freeze(is_on=True)
        self._later(seconds, lambda: process.freeze(is_on=False))
        return True

    def _ask_a_worker_to_leave(self, blow: Blow) -> bool:
        worker = self._worker(blow)
        if worker is None or worker.popen is None:
            return False
        worker.popen.terminate()
        return True

    def _kill_a_web_process(self, _: Blow) -> bool:
        self.world.web.kill_child()
        return True

    def _kill_the_whole_server(self, _: Blow) -> bool:
        self.world.web.end()
        self.world.web.start()
        return True

    def _cut_connections(self, blow: Blow) -> bool:
        wire = self._wires(blow)
        return wire is not None and wire.cut(blow.strength) > 0

    def _lose_a_commit_on_its_way(self, blow: Blow) -> bool:
        return self._lose(self._wires(blow), is_after=False)

    def _lose_the_answer_to_a_commit(self, blow: Blow) -> bool:
        return self._lose(self._wires(blow), is_after=True)

    @staticmethod
    def _lose(wire: Wire | None, *, is_after: bool) -> bool:
        if wire is None:
            return False
        wire.lose(b"", is_after=is_after)
        return True

    def _swallow_the_network_packets(self, blow: Blow) -> bool:
        wire = self._wires(blow)
        if wire is None:
            return False
        wire.freeze(is_on=True)
        self._later(1 + 5 * blow.strength, lambda: wire.freeze(is_on=False))
        return True

    def _crash_the_database(self, _: Blow) -> bool:
        assert self.world.server is not None
        self.world.server.crash()
        return True

    def _kill_a_database_session(self, blow: Blow) -> bool:
        assert self.world.server is not None
        self.world.server.kill_backend(blow.choice)
        return True

    def _make_the_provider_fail(self, blow: Blow) -> bool:
        kind = PROVIDER_FAULTS[int(blow.choice * len(PROVIDER_FAULTS))]
        self.world.openai.misbehave(kind, "embeddings", times=1 + int(3 * blow.strength), seconds=5.0)
        return True
