"""What a captured parser can't do: talk to others, make processes, outlive its job, change what it may not read."""

import os
import platform
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.processes import wait_until_gone
from webapp.provider_errors import FailureCode, ParserCrashed, ProviderUnavailable
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.sandbox import Sandbox
from webapp.sandbox.system_calls import _MACHINES, forbid_calls, program

JOBS = "tests.sandbox.jobs"
UNFILTERED = "tests.sandbox.unfiltered_jobs"
LIMITS = ChildLimits(memory_bytes=96 << 20)


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[..., Any]]:
    sandbox = Sandbox((JOBS,), LIMITS)

    def run(name: str, **arguments: object) -> Any:
        return sandbox.run(f"{JOBS}:{name}", arguments, timeout_seconds=20)

    yield run
    sandbox.close()


@pytest.fixture
def unfiltered() -> Iterator[Sandbox]:
    sandbox = Sandbox((UNFILTERED,), LIMITS)
    yield sandbox
    sandbox.close()


Run = Callable[..., Any]


def test_a_child_can_do_nothing_that_no_parser_needs(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch(mode=0o600)
    found = run("try_calls", path=str(file))
    assert found == dict.fromkeys(found, "EPERM")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_child_reaches_no_socket_in_the_file_system(run: Run, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "server"))
        server.listen()
        assert run("connect_to_file", path=str(tmp_path / "server")) == "refused: PermissionError"


def test_calls_of_another_convention_end_the_child(run: Run) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("x32 is a convention of x86-64")
    with pytest.raises(ParserCrashed, match="SIGSYS"):
        run("x32_call")


def test_threads_work(run: Run) -> None:
    assert run("work_in_threads") == sum(number * number for number in range(1_000))


@pytest.mark.parametrize("kind", sorted(_MACHINES))
def test_the_filter_is_one_that_the_kernel_can_read(kind: str) -> None:
    """Each processor's: eight bytes an instruction, every jump lands inside, and the last one is an answer."""
    code = program(_MACHINES[kind], 4711)
    steps = [code[place : place + 8] for place in range(0, len(code), 8)]
    assert len(code) % 8 == 0
    assert len(steps) < 4096
    for place, step in enumerate(steps):
        if step[0] in {0x15, 0x35, 0x45}:
            assert place + 1 + max(step[2], step[3]) < len(steps)
    assert steps[-1][0] == 0x06


def test_the_filter_is_in_force_here() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0 if forbid_calls() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.slow
def test_the_limit_of_the_processor_is_named(unfiltered: Sandbox) -> None:
    with pytest.raises(ParserCrashed, match="SIGXCPU"):
        unfiltered.run(f"{UNFILTERED}:burn_cpu", {}, timeout_seconds=20)


def test_a_stray_ends_with_its_job(unfiltered: Sandbox) -> None:
    stray = unfiltered.run(f"{UNFILTERED}:leave_a_stray", {}, timeout_seconds=20)
    assert isinstance(stray, int)
    assert not Path(f"/proc/{stray}").exists(), "it is gone when the caller has the answer"


def test_a_stray_ends_with_a_job_that_was_given_up(unfiltered: Sandbox) -> None:
    heard: list[int] = []

    def give_up(coded: float) -> None:
        heard.append(round(coded * (1 << 32)))
        raise RuntimeError("the lease is lost")

    with pytest.raises(RuntimeError, match="lease"):
        unfiltered.run(f"{UNFILTERED}:leave_a_stray_and_hold", {}, timeout_seconds=20, progress=give_up)
    wait_until_gone(heard[0])


def test_a_stray_ends_with_the_spawner(unfiltered: Sandbox) -> None:
    heard: list[int] = []

    def close(coded: float) -> None:
        heard.append(round(coded * (1 << 32)))
        unfiltered.close()

    with pytest.raises(ProviderUnavailable):
        unfiltered.run(f"{UNFILTERED}:leave_a_stray_and_hold", {}, timeout_seconds=20, progress=close)
    wait_until_gone(heard[0])


def test_where_locks_are_required_no_file_is_read_without_them() -> None:
    sandbox = Sandbox((UNFILTERED,), replace(LIMITS, requires_locks=True))
    try:
        with pytest.raises(ProviderUnavailable, match=r"missing here: .*calls") as caught:
            sandbox.run(f"{UNFILTERED}:answer", {}, timeout_seconds=20)
    finally:
        sandbox.close()
    assert caught.value.code is FailureCode.SANDBOX_INCOMPLETE


def test_where_locks_are_not_required_files_are_read_all_the_same(unfiltered: Sandbox) -> None:
    assert unfiltered.run(f"{UNFILTERED}:answer", {}, timeout_seconds=20) is True
