"""Other libraries that read documents, in an environment of their own: .cache/peers, made at the first use."""

import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PINNED = (
    "pypdf==7.1.0",
    "pdfminer.six==20260107",
    "pdf_oxide==0.3.78",
    "markitdown[pdf,xlsx]==0.1.8",
    "kreuzberg==4.10.4",
)
LIBRARIES = ("pypdf", "pdfminer.six", "pdf_oxide", "markitdown", "kreuzberg")
_FOLDER = Path(__file__).parents[1] / ".cache" / "peers"
_SCRIPT = Path(__file__).with_name("_peer_reader.py")


def texts(library: str, paths: Sequence[Path]) -> list[str]:
    """What a library makes of each file; where it can, as Markdown."""
    return list(_ask(library, "text", paths))


def seconds(library: str, path: Path) -> float:
    """How long a library takes to read a file, without its own start."""
    return float(_ask(library, "seconds", [path])[0])


def words(path: Path) -> dict[str, float]:
    """How many words with boxes pdf_oxide finds, and the seconds that it takes."""
    found: dict[str, float] = _ask("pdf_oxide", "words", [path])[0]
    return found


def _ask(library: str, what: str, paths: Sequence[Path]) -> list[Any]:
    command = [str(_python()), str(_SCRIPT), library, what, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def _python() -> Path:
    """The environment's Python; one that was not finished is made anew."""
    mark, wanted = _FOLDER / "made-of", "\n".join((sys.version, *PINNED))
    if not mark.exists() or mark.read_text(encoding="utf-8") != wanted:
        print("Setting up the peers (once, under a minute) ...", flush=True)
        venv.create(_FOLDER, with_pip=True, clear=True)
        install = [str(_FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet", *PINNED]
        subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
        mark.write_text(wanted, encoding="utf-8")
    return _FOLDER / "bin" / "python"
