"""Parsers can crash, hang, grow and lie; the process that called them goes on unharmed."""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.processes import wait_until_gone
from webapp.provider_errors import BadInput, FailureCode, ParserCrashed, ProviderUnavailable, TimedOut
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.restrictions import landlock_version
from webapp.sandbox.sandbox import Sandbox

JOBS = "tests.sandbox.jobs"
LIMITS = ChildLimits(memory_bytes=96 << 20, answer_bytes=1 << 20)
SPAWN = Path(__file__).with_name("parent.py")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox((JOBS,), LIMITS)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="module")
def run(sandbox: Sandbox) -> Callable[..., Any]:
    def run(name: str, timeout_seconds: float = 20, **arguments: object) -> Any:
        return sandbox.run(f"{JOBS}:{name}", arguments, timeout_seconds=timeout_seconds)

    return run


Run = Callable[..., Any]


def test_it_answers_in_plain_data(run: Run) -> None:
    assert run("echo", text="ü 🙂", number=1.5, nothing=None, many=[1, [2]]) == {
        "text": "ü 🙂",
        "number": 1.5,
        "nothing": None,
        "many": [1, [2]],
    }


@pytest.mark.parametrize(
    ("name", "named"),
    [("crash", "SIGSEGV"), ("abort", "SIGABRT")],
)
def test_a_death_is_named_by_its_signal(run: Run, name: str, named: str) -> None:
    with pytest.raises(ParserCrashed, match=named) as caught:
        run(name)
    assert caught.value.code is FailureCode.PARSER_CRASHED
    assert not caught.value.permanent


@pytest.mark.parametrize("name", ["grow", "grow_natively"])
def test_the_memory_limit_is_named(run: Run, name: str) -> None:
    with pytest.raises(ParserCrashed, match="memory limit of 96 MB") as caught:
        run(name)
    assert caught.value.code is FailureCode.PARSER_MEMORY


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spin", "spin_stubbornly"])
def test_an_endless_loop_ends_at_the_deadline(run: Run, name: str) -> None:
    with pytest.raises(TimedOut, match=r"0\.3 s"):
        run(name, timeout_seconds=0.3)


def test_a_panic_is_a_crash_in_words(run: Run) -> None:
    with pytest.raises(ParserCrashed, match="Panic: index out of bounds"):
        run("panic")


def test_a_refusal_keeps_its_code(run: Run) -> None:
    with pytest.raises(BadInput, match="asks for a password") as caught:
        run("refuse")
    assert caught.value.code is FailureCode.ENCRYPTED
    assert caught.value.permanent


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vanish", "without an answer, status 3"),
        ("talk_too_much", "answer larger than"),
        ("talk_nonsense", "can't be read"),
        ("talk_deeply", "can't be read"),
        ("answer_with_no_number", "can't be read"),
    ],
)
def test_a_child_that_lies_or_leaves_is_a_crash(run: Run, name: str, words: str) -> None:
    with pytest.raises(ParserCrashed, match=words):
        run(name)


@pytest.mark.parametrize(
    "function", [f"{JOBS}:_hidden", f"{JOBS}:Path", f"{JOBS}:missing", "os:system", "json:loads", JOBS, ""]
)
def test_only_the_listed_functions_can_be_called(sandbox: Sandbox, function: str) -> None:
    with pytest.raises(ParserCrashed):
        sandbox.run(function, {}, timeout_seconds=20)


def test_nothing_of_our_environment_reaches_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:hunter2@db/docmill")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2")
    sandbox = Sandbox((JOBS,), LIMITS)
    try:
        seen = str(sandbox.run(f"{JOBS}:environment", {}, timeout_seconds=20))
    finally:
        sandbox.close()
    assert "hunter2" not in seen
    assert "DATABASE_URL" not in seen
    assert "LANG" in seen


def test_a_child_is_limited_and_alone(run: Run, sandbox: Sandbox) -> None:
    child = run("identity", timeout_seconds=30)
    assert child["session"] == child["pid"]
    assert child["parent"] != os.getpid()
    assert child["limits"]["RLIMIT_CORE"] == [0, 0]
    assert child["limits"]["RLIMIT_DATA"] == [LIMITS.memory_bytes] * 2
    assert child["limits"]["RLIMIT_FSIZE"] == [LIMITS.file_bytes] * 2
    assert child["limits"]["RLIMIT_AS"][0] > 0
    assert 30 <= child["limits"]["RLIMIT_CPU"][0] <= 120
    assert len(child["files"]) == 1, "the channel to its caller, and no other job's"


def test_a_child_writes_the_file_that_it_was_given_and_no_other(sandbox: Sandbox, tmp_path: Path) -> None:
    mine, other, folder = tmp_path / "mine", tmp_path / "other", tmp_path / "folder"
    for path in (mine, other):
        path.write_text("as it was")
    folder.mkdir()
    (folder / "inside").write_text("to be read")

    def job(name: str, path: Path) -> str:
        paths = {"path": str(path)}
        found = sandbox.run(f"{JOBS}:{name}", paths, timeout_seconds=20, readable=(folder,), writable=mine)
        return str(found)

    assert not job("write_file", mine).startswith("refused")
    assert job("read_file", folder / "inside") == "to be read"
    can_forbid = landlock_version() >= 1
    for path in (other, folder / "inside", tmp_path / "new"):
        assert job("write_file", path).startswith("refused") == can_forbid
    assert (other.read_text() == "as it was") == can_forbid
    assert mine.read_text() != "as it was"


def test_a_child_reads_its_file_and_no_other(run: Run, sandbox: Sandbox, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.write_text("my content")
    other.write_text("a secret")
    places = [mine, other, Path(f"/proc/{os.getpid()}/environ")]

    def is_refused(path: Path) -> bool:
        job = f"{JOBS}:read_file"
        return str(sandbox.run(job, {"path": str(path)}, timeout_seconds=20, readable=mine)).startswith("refused")

    # Where the kernel has no Landlock, files can't be forbidden; the rest of the cage holds.
    can_forbid = landlock_version() >= 1
    assert [is_refused(place) for place in places] == [False, can_forbid, can_forbid]
    assert run("write_file", path=str(tmp_path / "new")).startswith("refused") == can_forbid


def test_a_child_reaches_no_server(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        answer = run("connect", port=server.getsockname()[1])
    assert answer.startswith("refused")


def test_progress_only_rises(sandbox: Sandbox) -> None:
    heard: list[float] = []
    sandbox.run(f"{JOBS}:fall_back", {}, timeout_seconds=20, progress=heard.append)
    assert heard == [0.4, 0.6]


def test_an_error_in_progress_kills_the_child(sandbox: Sandbox) -> None:
    def lost(_: float) -> None:
        raise RuntimeError("the lease is lost")

    with pytest.raises(RuntimeError, match="lease"):
        sandbox.run(f"{JOBS}:hold", {}, timeout_seconds=60, progress=lost)


def test_a_silent_child_is_asked_about_and_ends_when_nobody_wants_it_any_more() -> None:
    heard: list[float] = []

    def lost_later(fraction: float) -> None:
        heard.append(fraction)
        # It said so once, and has been silent since.
        if heard.count(0.5) == 2:
            raise RuntimeError("the lease is lost")

    sandbox = Sandbox((JOBS,), replace(LIMITS, pulse_seconds=0.05))
    try:
        with pytest.raises(RuntimeError, match="lease"):
            sandbox.run(f"{JOBS}:hold", {}, timeout_seconds=20, progress=lost_later)
    finally:
        sandbox.close()
    assert heard == sorted(heard)
    assert heard[-2:] == [0.5, 0.5]


def test_a_spawner_that_does_not_answer_is_replaced() -> None:
    sandbox = Sandbox((JOBS,), replace(LIMITS, grace_seconds=0.1))
    spawner = _spawner_of(sandbox)
    try:
        with pytest.raises(TimedOut):
            sandbox.run(f"{JOBS}:hold", {}, timeout_seconds=1, progress=lambda _: os.kill(spawner, signal.SIGSTOP))
        assert _spawner_of(sandbox) != spawner
        wait_until_gone(spawner)
    finally:
        sandbox.close()


def test_eight_threads_call_at_once_and_get_their_own_answers(run: Run) -> None:
    def call(number: int) -> object:
        if number % 10 == 7:
            with pytest.raises(ParserCrashed):
                run("crash")
            return number
        return run("echo", number=number)["number"]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(call, range(80))) == list(range(80))


@pytest.mark.slow
def test_one_job_s_death_leaves_the_others_alone(sandbox: Sandbox) -> None:
    alive = threading.Event()

    def hold() -> str:
        with pytest.raises(TimedOut):
            sandbox.run(f"{JOBS}:hold", {}, timeout_seconds=1.5, progress=lambda _: alive.set())
        return "held until its own deadline"

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        assert alive.wait(20)
        with pytest.raises(ParserCrashed, match="SIGSEGV"):
            sandbox.run(f"{JOBS}:crash", {}, timeout_seconds=20)
        assert holding.result(20) == "held until its own deadline"


def test_a_dead_spawner_is_replaced() -> None:
    sandbox = Sandbox((JOBS,), LIMITS)
    try:
        spawner = _spawner_of(sandbox)
        os.kill(spawner, signal.SIGKILL)
        wait_until_gone(spawner)
        assert _spawner_of(sandbox) != spawner
    finally:
        sandbox.close()


def test_a_spawner_that_dies_under_a_job_is_the_provider_s_fault() -> None:
    sandbox = Sandbox((JOBS,), LIMITS)
    spawner = _spawner_of(sandbox)
    try:
        with pytest.raises(ProviderUnavailable):
            sandbox.run(f"{JOBS}:hold", {}, timeout_seconds=60, progress=lambda _: os.kill(spawner, signal.SIGKILL))
    finally:
        sandbox.close()


def test_modules_that_can_t_be_imported_are_the_provider_s_fault(capfd: pytest.CaptureFixture[str]) -> None:
    sandbox = Sandbox(("webapp.providers.no_such_module",), LIMITS)
    with pytest.raises(ProviderUnavailable):
        sandbox.run("webapp.providers.no_such_module:work", {}, timeout_seconds=20)
    sandbox.close()
    assert "no_such_module" in capfd.readouterr().err


def test_closing_ends_everything() -> None:
    sandbox = Sandbox((JOBS,), LIMITS)
    spawner = _spawner_of(sandbox)
    sandbox.close()
    wait_until_gone(spawner)


@pytest.mark.slow
def test_a_dropped_sandbox_ends_everything() -> None:
    sandbox = Sandbox((JOBS,), LIMITS)
    spawner = _spawner_of(sandbox)
    del sandbox
    gc.collect()
    wait_until_gone(spawner)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_children_die_with_their_caller(how: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, str(SPAWN), "die"], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        spawner, child = map(int, parent.stdout.readline().split())
        os.kill(parent.pid, how)
        parent.wait(20)
    wait_until_gone(spawner)
    wait_until_gone(child)


def test_a_forked_caller_gets_a_spawner_of_its_own() -> None:
    """As under gunicorn: built before the fork, used after it."""
    done = subprocess.run([sys.executable, str(SPAWN), "fork"], capture_output=True, text=True, timeout=50, check=True)
    before, inside, after = done.stdout.split()
    assert before == after
    assert inside != before


def _spawner_of(sandbox: Sandbox) -> int:
    child = sandbox.run(f"{JOBS}:identity", {}, timeout_seconds=20)
    assert isinstance(child, dict)
    return int(child["parent"])
