"""Receives uploads: from the socket to the disk, block by block."""

import errno
import io
from typing import IO, Any

from flask import Flask, Request, g
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.formparser import FormDataParser, MultiPartParser

from webapp.config.limits import FILES_MAX
from webapp.library.intake import IncomingFile, Refused
from webapp.web import sentences
from webapp.web.access import services
from webapp.web.errors import Problem
from webapp.web.library.upload_limits import check_space, count_bytes, count_file
from webapp.web.library.upload_seats import admit_upload

ENDPOINT = "upload.create"
# Less than half of what a form may hold in memory: a block and the rest of the one before count together.
BLOCK_BYTES = 1 << 17
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Part(IncomingFile):
    """One file of a form. One that is refused is read to its end all the same: the others are behind it,
    and its sender reads the answer only afterwards.
    """

    refused: Refused | None = None

    def write(self, data: Any) -> int:
        """Keep the bytes, or let them pass."""
        count_bytes(memoryview(data).nbytes)
        if self.refused is None:
            try:
                return super().write(data)
            except Refused as refusal:
                self.refused = refusal
            except OSError as error:
                raise _full() if error.errno in _NO_SPACE else error from error
        return memoryview(data).nbytes

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """A form parser goes back to the beginning once it has written all, and nobody reads here after that.

        So the file is closed: a form with a thousand files must not hold a thousand of them open.
        """
        self.close()
        return 0


class _Reader(FormDataParser):
    """A form parser that reads in larger blocks: what is left of one in the server is copied with every read."""

    def _parse_multipart(
        self, stream: IO[bytes], mimetype: str, content_length: int | None, options: dict[str, str]
    ) -> tuple[IO[bytes], MultiDict[str, str], MultiDict[str, FileStorage]]:
        boundary = options.get("boundary", "").encode("ascii")
        if not boundary:
            raise ValueError("a form without a boundary between its parts")
        parser = MultiPartParser(
            self.stream_factory,
            max_form_memory_size=self.max_form_memory_size,
            max_form_parts=self.max_form_parts,
            cls=self.cls,
            buffer_size=BLOCK_BYTES,
        )
        return stream, *parser.parse(stream, boundary, content_length)


class UploadRequest(Request):
    """A request whose files go straight to the folder that they will be stored from."""

    form_data_parser_class = _Reader
    # As many files as a form may have, and the fields beside them.
    max_form_parts = FILES_MAX + 100

    def make_form_data_parser(self) -> FormDataParser:
        """A parser that says so where it cannot go on; by itself it would act as if nothing had been sent."""
        parser = super().make_form_data_parser()
        parser.silent = self.endpoint != ENDPOINT
        return parser

    def _load_form_data(self) -> None:
        if self.endpoint == ENDPOINT and "form" not in self.__dict__:
            check_space(self.content_length)
            admit_upload()
        try:
            super()._load_form_data()
        except ValueError as error:
            raise refusal_problem(sentences.BROKEN_FORM, "broken_form") from error

    def _get_file_stream(
        self,
        total_content_length: int | None,
        content_type: str | None,
        filename: str | None = None,
        content_length: int | None = None,
    ) -> IO[bytes]:
        if self.endpoint != ENDPOINT:
            return super()._get_file_stream(total_content_length, content_type, filename, content_length)
        count_file()
        found = services()
        part = Part(found.providers.blobs.incoming(), found.settings.limits.upload_bytes_max)
        g.setdefault("upload_parts", []).append(part)
        return part  # type: ignore[return-value] # all that a form parser asks of a file is here


def init_uploads(app: Flask) -> None:
    """Receive files this way, and leave none behind, whatever becomes of the request."""
    app.request_class = UploadRequest
    app.teardown_request(_discard_parts)


def _discard_parts(error: BaseException | None) -> None:
    # What became a document is gone from there already; what is left belongs to a request that broke off.
    for part in g.pop("upload_parts", ()):
        part.discard()


def refusal_problem(refusal: sentences.UploadRefusal, reason: str, **members: Any) -> Problem:
    """A refusal as the answer to the whole request."""
    return Problem(refusal.status, reason, title=refusal.title, detail=refusal.detail, members=members)


def _full() -> Problem:
    return refusal_problem(sentences.STORAGE_FULL, "storage_full")
