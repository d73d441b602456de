"""Known faults of the locked packages: `python -m tests.audit` asks the public database of them (OSV).

The database is on the network. Where it can't be reached nothing was audited, and that is a failure;
with --where-reachable it is said and nothing more, for machines that reach no network at all.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
OSV_URL = "https://api.osv.dev/v1/query"
# The first holds all of requirements.txt, too.
LOCKED = [str(ROOT / name) for name in ("requirements-dev.txt", "requirements-models.txt")]
_TIMEOUT_SECONDS = 15


def main(arguments: list[str] | None = None) -> int:
    """The exit code is 0 where the database knows no fault of any package."""
    parser = argparse.ArgumentParser(description="Ask for known faults of the locked packages.")
    parser.add_argument("--url", default=OSV_URL, help="the database")
    parser.add_argument("--locked", nargs="+", default=LOCKED, help="the locked files")
    parser.add_argument("--where-reachable", action="store_true", help="don't fail where it can't be reached")
    given = parser.parse_args(arguments)
    if not _is_reachable(given.url):
        print(f"NOT audited for known faults: {given.url} can't be reached from here.", flush=True)
        return 0 if given.where_reachable else 1
    return _audit(given.url, given.locked)


def _is_reachable(url: str) -> bool:
    try:
        with urlopen(url, timeout=_TIMEOUT_SECONDS):  # noqa: S310 - the address is ours
            return True
    except HTTPError:
        return True  # it answers; that this is no question is another matter
    except (URLError, OSError):
        return False


def _audit(url: str, locked: list[str]) -> int:
    command = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip"]
    command += [f"--requirement={path}" for path in locked]
    command += ["--vulnerability-service", "osv", "--osv-url", url, "--progress-spinner", "off"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
