"""The few tests that failed, once more and alone: `python -m tests.again`, which CI does after a failure.

Whole processes against the clock can lose on a machine that stands still for a moment. A fault fails twice; what passes
the second time is named, so that somebody looks at it.
"""

import json
import subprocess
import sys
from pathlib import Path

MOST = 3
_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    """The exit code is 0 where few enough had failed and none fails again."""
    failed = _failed()
    if not 0 < len(failed) <= MOST:
        print(f"{len(failed)} tests failed: not repeated.")
        return 1
    print(f"Once more, alone: {', '.join(failed)}", flush=True)
    status = subprocess.run([sys.executable, "-m", "pytest", "-n", "0", *failed], check=False).returncode
    if status == 0:
        print(f"Passed the second time, and wants to be looked at: {', '.join(failed)}")
    return status


def _failed() -> list[str]:
    """By their names, without the group that they ran in."""
    if not _FAILED.exists():
        return []
    return sorted({name.rsplit("@", 1)[0] if name[-1] != "]" else name for name in json.loads(_FAILED.read_text())})


if __name__ == "__main__":
    sys.exit(main())
