"""A web application that does nothing but use a sandbox, built before gunicorn forks."""

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from webapp.sandbox.sandbox import Sandbox

JOBS = "tests.sandbox.jobs"
sandbox = Sandbox((JOBS,))
# The worst case: the parent has a spawner of its own when it forks.
sandbox.run(f"{JOBS}:echo", {}, timeout_seconds=20)


def app(_: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    child = sandbox.run(f"{JOBS}:identity", {}, timeout_seconds=20)
    assert isinstance(child, dict)
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"worker": os.getpid(), "spawner": child["parent"]}).encode()]
