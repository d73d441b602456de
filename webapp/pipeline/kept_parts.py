"""Parts of a file that were read already: a long document that was interrupted goes on with the next pages."""

from contextlib import suppress

from webapp.pipeline.steps import StageContext
from webapp.provider_errors import BlobMissing


class PartsOfFile:
    """KeptParts in the folder of the file's answers; each part is a checkpoint of the job.

    The folder belongs to the bytes and the name to all that decides the text, so every later run finds them.
    """

    def __init__(self, context: StageContext, folder: str) -> None:
        self._context = context
        self._folder = folder

    def get(self, name: str) -> bytes | None:
        """A part that this or an earlier run read."""
        with suppress(BlobMissing):
            return self._context.providers.blobs.read_bytes(self._path(name))
        return None

    def put(self, name: str, data: bytes, done: int, total: int) -> None:
        """Keep a part and commit that; Drained, OutOfTime or LeaseLost where the attempt has to end."""
        self._context.providers.blobs.put_bytes(self._path(name), data)
        self._context.save_pages(done, total)
        self._context.check()

    def seconds_left(self) -> float:
        """How long the run may go on."""
        return self._context.remaining_seconds()

    def _path(self, name: str) -> str:
        return f"{self._folder}{name}.json"
