"""The bytes of one request so far, and whether a thread can answer it without waiting for more.

This looks at the framing alone. gunicorn's parser reads the same bytes again and decides what they mean; what it would
refuse is handed to it at once.
"""

import re

HEAD_BYTES_MAX = 64 * 1024
# The limit of a form: one with ten thousand ids is the largest. A larger body is a file, which the application reads
# block by block.
BODY_BYTES_MAX = 512 * 1024

_END_OF_HEAD = b"\r\n\r\n"
_LINE_BYTES_MAX = 8190
_EXPECTS = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*(?=\r\n)", re.IGNORECASE)
_LENGTH_DIGITS_MAX = 18
_CHUNK_SIZE = re.compile(rb"[0-9a-fA-F]+")


class Arrival:
    """A request that is arriving. It is ready once it is whole, or once its head is and its body is large."""

    def __init__(self, received: bytes = b"") -> None:
        self.is_ready = False
        self.is_whole = False
        """Whether all of it has come."""
        self.is_too_large = False
        """Whether its head exceeds the limit."""
        self.expects_continue = False
        """Whether its sender waits for "100 Continue" before it sends the body."""
        self._bytes = bytearray()
        self._scanned = 0
        self._body_at: int | None = None
        # Where a body of known length ends, or where the next chunk begins.
        self._ends_at: int | None = None
        self._chunk_at: int | None = None
        self.feed(received)

    def __len__(self) -> int:
        return len(self._bytes)

    @property
    def has_head(self) -> bool:
        """Whether its head is complete."""
        return self._body_at is not None

    def feed(self, data: bytes) -> None:
        """Add bytes that have come."""
        self._bytes += data
        if self._body_at is None:
            self._look_for_head()
        if self._body_at is not None and not self.is_ready:
            self._look_for_end(self._body_at)

    def take(self) -> bytes:
        """All bytes so far, which may be more than this request."""
        return bytes(self._bytes)

    def _look_for_head(self) -> None:
        # An empty line may come before the first one.
        begins_at = 2 if self._bytes.startswith(b"\r\n") else 0
        end = self._bytes.find(_END_OF_HEAD, max(begins_at, self._scanned - len(_END_OF_HEAD)))
        self._scanned = len(self._bytes)
        if end >= 0:
            self._read_head(end + len(_END_OF_HEAD))
        elif len(self._bytes) > HEAD_BYTES_MAX:
            self.is_too_large = True

    def _read_head(self, body_at: int) -> None:
        head = bytes(self._bytes[:body_at])
        fields = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
        named = [(name.strip().lower(), value.strip()) for name, _, value in fields]
        lengths = [value for name, value in named if name == b"content-length"]
        codings = [value for name, value in named if name == b"transfer-encoding"]
        self._body_at = body_at
        if codings and not lengths and b"chunked" in codings[-1].lower():
            self._chunk_at = body_at
        elif not codings and len(lengths) == 1 and _is_length(lengths[0]):
            self._ends_at = body_at + int(lengths[0])
        else:
            # Without a body, or refused by the parser.
            self._ends_at = body_at
        self._look_for_end(body_at)
        if not self.is_ready and _EXPECTS.search(head):
            self._take_expectation(head)

    def _take_expectation(self, head: bytes) -> None:
        """Note and remove the Expect header: we answer it ourselves, so the parser must not."""
        without = _EXPECTS.sub(b"", head)
        shift = len(head) - len(without)
        self._bytes[: len(head)] = without
        self._body_at = len(without)
        self._ends_at = self._ends_at - shift if self._ends_at is not None else None
        self._chunk_at = self._chunk_at - shift if self._chunk_at is not None else None
        self.expects_continue = True

    def _look_for_end(self, body_at: int) -> None:
        if self._chunk_at is not None:
            self._pass_chunks(body_at)
        elif self._ends_at is not None:
            self.is_whole = len(self._bytes) >= self._ends_at
            self.is_ready = self.is_whole or self._ends_at - body_at > BODY_BYTES_MAX

    def _pass_chunks(self, body_at: int) -> None:
        """Go from chunk to chunk as far as they have come."""
        while not self.is_ready and self._chunk_at is not None and self._chunk_at < len(self._bytes):
            line_end = self._bytes.find(b"\r\n", self._chunk_at)
            if line_end < 0:
                self.is_ready = len(self._bytes) - self._chunk_at > _LINE_BYTES_MAX
                return
            size = _CHUNK_SIZE.match(self._bytes, self._chunk_at, line_end)
            if size is None:
                self.is_ready = True
            elif int(size[0], 16) == 0:
                self.is_whole = self.is_ready = self._has_trailers(line_end)
                break
            else:
                self._chunk_at = line_end + 2 + int(size[0], 16) + 2
                self.is_ready = self._chunk_at - body_at > BODY_BYTES_MAX
        self.is_ready = self.is_ready or len(self._bytes) - body_at > BODY_BYTES_MAX + HEAD_BYTES_MAX

    def _has_trailers(self, last_line_end: int) -> bool:
        """Whether the empty line after the last chunk has come, perhaps after some trailers."""
        return self._bytes.find(_END_OF_HEAD, last_line_end) >= 0


def _is_length(value: bytes) -> bool:
    return value.isdigit() and len(value) <= _LENGTH_DIGITS_MAX
