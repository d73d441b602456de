"""Files that are being written, before a blob store takes them in."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary_file(folder: Path, prefix: str) -> Iterator[Path]:
    """An empty file to write to; it is removed unless the blob store has moved it."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=prefix, delete=False) as file:
        path = Path(file.name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
