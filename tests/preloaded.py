"""The product's programs, forked from a process that has imported the product already.

A start of Python and the imports cost more than a second of CPU, and journeys start hundreds of processes. What a
program does after its imports is what it always does. Tests of starting itself use a real start (`honcho start`, the
Procfile).
"""

import atexit
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path

from tests.postgres import ROOT

COMMAND_SECONDS = 60
PRELOADED = ("tests.journeys.crasher", "tests.preloaded_programs")

FORKSERVER = get_context("forkserver")
# Once for all: a server that runs already preloads nothing more.
FORKSERVER.set_forkserver_preload(list(PRELOADED))


class Preloaded(subprocess.Popen[bytes]):
    """A running program, with the methods of a Popen that tests use."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path, errors: Path | None = None):
        # Popen's own start is left out: this process was started already.
        self._child_created = False
        self.args, self.returncode = list(command), None
        self.stdin = self.stdout = self.stderr = None
        for file in (log, errors or log):
            file.touch()
        self._process = FORKSERVER.Process(target=_run, args=(self.args, dict(environment), log, errors or log))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        self.returncode = self._process.exitcode
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return status

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)


def is_program(command: Sequence[str]) -> bool:
    """Whether this is a program that can be started here."""
    return _name(command) in _PROGRAMS


def printed_by(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a program to its end; what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        printed, errors = Path(folder) / "printed", Path(folder) / "errors"
        status = Preloaded(command, environment, printed, errors).wait(COMMAND_SECONDS)
        assert status == 0, f"{command} ended with {status}: {printed.read_text()}{errors.read_text()}"
        return printed.read_text().strip()


def _name(command: Sequence[str]) -> str:
    return command[1] if command[0] == sys.executable else command[0]


def _run(command: list[str], environment: dict[str, str], log: Path, errors: Path) -> None:
    """Be this program, in a session of its own."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    for descriptor, path in ((1, log), (2, errors)):
        with path.open("ab") as output:
            os.dup2(output.fileno(), descriptor)
    name = _name(command)
    sys.argv = command[command.index(name) :]
    try:
        _PROGRAMS[name]()
    finally:
        # A process of `multiprocessing` leaves without them.
        atexit._run_exitfuncs()


def _gunicorn() -> None:
    from gunicorn.app.wsgiapp import run  # noqa: PLC0415 - imported by the server, not by every test

    run()


def _flask() -> None:
    from flask.cli import main  # noqa: PLC0415 - imported by the server, not by every test

    main()


def _worker() -> None:
    runpy.run_path("worker.py", run_name="__main__")


_PROGRAMS: Mapping[str, Callable[[], None]] = {"gunicorn": _gunicorn, "flask": _flask, "worker.py": _worker}
