"""A web application that does nothing but use a sandbox, built before gunicorn forks."""

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from webapp.providers.sandbox import Sandbox

JOBS = "tests.providers.sandbox_jobs"
sandbox = Sandbox((JOBS,))
# The worst case: the parent has a nursery of its own when it forks.
sandbox.run(f"{JOBS}:echo", {}, timeout_seconds=20)


def app(_: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    child = sandbox.run(f"{JOBS}:identity", {}, timeout_seconds=20)
    assert isinstance(child, dict)
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"worker": os.getpid(), "nursery": child["parent"]}).encode()]
