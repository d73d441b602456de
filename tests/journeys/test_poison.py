"""Files that kill their parser, among good ones, before real processes: what they cost, and whom."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import samples
from tests.conftest import DatabaseUnderTest
from tests.journeys import parsers
from tests.journeys.place import Place, running_place
from tests.journeys.site import WORK_SECONDS
from tests.pipeline.workplace import prose
from tests.worker.bench import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(300)]

GOOD = 3
ATTEMPTS = 2
# The good ones need a small part of it on one seat, even on a machine that is busy with other tests.
HANGS_SECONDS = 45
# Enough for the file to be at work for seconds: it must be stopped long before it comes to that.
MEMORY_MB = 768


@pytest.fixture
def place(database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Place]:
    variables = {
        "JOB_MAX_ATTEMPTS": str(ATTEMPTS),
        "BACKOFF_BASE_SECONDS": "0.1",
        "EXTRACT_TIMEOUT_SECONDS": str(HANGS_SECONDS),
        "EXTRACT_MEMORY_MB": str(MEMORY_MB),
    }
    with running_place(database, tmp_path, **variables) as place:
        yield place


def _errors(place: Place, document_id: str) -> list[dict[str, Any]]:
    """What its failed job tells ops."""
    failed = place.site.get("/ops/jobs?status=failed")["jobs"]
    (job,) = [job for job in failed if job["document_id"] == document_id]
    assert job["attempts"] == job["max_attempts"] == ATTEMPTS
    return list(job["errors"])


def test_a_poison_among_good_ones_costs_its_own_seat_and_nothing_else(place: Place) -> None:
    site = place.site
    poison = place.upload("endless.pdf", samples.nested_forms_pdf())
    hung = parsers.strike(place.worker.pid, signal.SIGSTOP)
    good = site.upload({f"{number}.md": prose(1, start=10 * number) for number in range(GOOD)})
    for document in good:
        site.wait_for_status(str(document["id"]), "READY")
    # The file that hangs still has its seat: the others were read on the other one.
    assert hung in parsers.at_work(place.worker.pid)
    site.wait_for_status(poison, "FAILED")
    first, second = _errors(place, poison)
    # Hung for as long as it may; then it got on, and into the other limit.
    assert (first["code"], first["message"]) == ("timed_out", f"the parser was stopped after {HANGS_SECONDS} s")
    assert second["code"] == "parser_memory"
    assert f"memory limit of {MEMORY_MB} MB" in second["message"]
    _dies_of_a_signal(place)


def _dies_of_a_signal(place: Place) -> None:
    """As by a bad pointer: each try, with the layout and without it, ends like that."""
    poison = place.upload("broken.pdf", samples.nested_forms_pdf(levels=25))

    def has_failed() -> bool:
        parsers.strike_all(place.worker.pid, signal.SIGSEGV)
        return place.site.status(poison) == "FAILED"

    wait_for(has_failed, "for the poison to fail", WORK_SECONDS)
    errors = _errors(place, poison)
    assert {error["code"] for error in errors} == {"parser_crashed"}
    assert all("SIGSEGV" in error["message"] for error in errors)
    after = place.upload("after.md", prose(1, start=9000))
    place.site.wait_for_status(after, "READY")
