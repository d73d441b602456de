"""Azurite, Microsoft's own emulator of Blob Storage: installed once from npm, started for a test run.

Azurite loses what it had answered when it is killed, so it says nothing about durability.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.emulators import nodejs
from tests.emulators.ports import free_port, wait_for_port

VERSION = "3.37.0"
# What reports home in it (and is told not to) is held at the version that it came with: newer ones
# have asked for packages that nobody could get yet.
PACKAGE = {
    "private": True,
    "dependencies": {"azurite": VERSION},
    "overrides": {"applicationinsights": "3.16.0", "@azure/monitor-opentelemetry": "1.20.0"},
}
START_SECONDS = 30
ACCOUNT = "devstoreaccount1"
# Azurite's account is the same everywhere, and so is its key: it is in its manual.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


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
    """The paths of node and of Azurite's program, installed where they are missing; NotInstalled."""
    folder = nodejs.packages("azurite", VERSION, PACKAGE)
    return nodejs.node(), folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"


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
