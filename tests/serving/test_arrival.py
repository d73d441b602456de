"""A request is whole when gunicorn's parser can read it to its end without waiting, and not before."""

from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.http.message import Request
from gunicorn.http.unreader import Unreader
from hypothesis import given, settings
from hypothesis import strategies as st

from webapp.serving.arrival import BODY_BYTES_MAX, HEAD_BYTES_MAX, Arrival

GET = b"GET /?q=x HTTP/1.1\r\nHost: test\r\n\r\n"
FORM = b"POST /sign-in HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n0123456789"
CHUNKED = (
    b"POST /a HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"4\r\nwiki\r\nA;name=value\r\n0123456789\r\n0\r\n\r\n"
)
TRAILERS = CHUNKED[:-2] + b"Checksum: 1\r\n\r\n"
AFTER_AN_EMPTY_LINE = b"\r\n" + FORM
WHOLE = (GET, FORM, CHUNKED, TRAILERS, AFTER_AN_EMPTY_LINE, b"GET / HTTP/1.0\r\n\r\n")


class Waited(Exception):
    """The parser asked for bytes that had not come."""


class Given(Unreader):  # type: ignore[misc] # gunicorn has no types
    """What has come, and nothing more."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.unread(data)

    def chunk(self, size_hint: int | None = None) -> bytes:
        raise Waited


def read(data: bytes) -> Any:
    """What gunicorn makes of it: a body, or one of its refusals."""
    return Request(Config(), Given(data), ("127.0.0.1", 1)).body.read()


def outcome(data: bytes) -> type[Exception] | None:
    """How reading it ends: gunicorn's refusals have no class in common."""
    try:
        read(data)
    except Exception as error:  # noqa: BLE001 - see above
        return type(error)
    return None


@pytest.mark.parametrize("request_bytes", WHOLE)
def test_each_byte_but_the_last_is_waited_for(request_bytes: bytes) -> None:
    arrival = Arrival()
    for position in range(len(request_bytes)):
        assert not arrival.is_ready, request_bytes[:position]
        arrival.feed(request_bytes[position : position + 1])
    assert arrival.is_ready
    assert arrival.is_whole
    assert arrival.take() == request_bytes
    read(arrival.take())


@pytest.mark.parametrize("request_bytes", WHOLE)
def test_the_next_request_behind_it_is_kept(request_bytes: bytes) -> None:
    arrival = Arrival(request_bytes + GET[:10])
    assert arrival.is_whole
    assert arrival.take().endswith(GET[:10])


HEADERS = st.sampled_from(
    [
        *(
            b"Content-Length: 3",
            b"content-length:  3 ",
            b"Content-Length: 0",
            b"Content-Length: 9",
            b"Content-Length: -1",
        ),
        *(
            b"Content-Length: +3",
            b"Content-Length: 3, 3",
            b"Content-Length: \xb2",
            b"Content-Length:",
            b"Content-Length : 3",
        ),
        *(b"Content-Length: " + 30 * b"9", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked"),
        *(b"transfer-encoding: CHUNKED", b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked, chunked"),
        *(b"Transfer-Encoding: xchunked", b"Host: test", b" folded: line", b"no colon", b"Expect: 100-continue"),
        *(b"Expect: something", b"X: \x00", b"Content_Length: 3"),
    ]
)
BODIES = st.sampled_from(
    [
        *(
            b"",
            b"abc",
            b"abcdefghi",
            b"3\r\nabc\r\n0\r\n\r\n",
            b"3\r\nab",
            b"0\r\n\r\n",
            b"0\r\nA: b\r\n\r\n",
            b"\r\n\r\n",
        ),
        *(
            b"000000000FFF\r\n\r\n\r\n",
            b"zz\r\n",
            b"3;x\r\nabc\r\n0\r\n",
            b"-1\r\n\r\n",
            b"3\r\nabcde\r\n0\r\n\r\n",
            b"0x3\r\n",
        ),
    ]
)


@pytest.mark.slow
@given(
    line=st.sampled_from(
        [b"POST / HTTP/1.1", b"GET / HTTP/1.0", b"\r\nPOST / HTTP/1.1", b"\r\n\r\nGET / HTTP/1.1", b"junk"]
    ),
    headers=st.lists(HEADERS, max_size=3),
    body=BODIES,
    cuts=st.lists(st.integers(0, 200), max_size=5),
)
@settings(max_examples=500)
def test_a_thread_never_waits_for_what_is_called_whole(
    line: bytes, headers: list[bytes], body: bytes, cuts: list[int]
) -> None:
    data = b"\r\n".join([line, *headers, b"", body])
    arrival, position = Arrival(), 0
    for cut in [*sorted(cuts), len(data)]:
        arrival.feed(data[position:cut])
        position = max(position, min(cut, len(data)))
    assert Arrival(data).is_ready == arrival.is_ready
    if not arrival.is_ready:
        return
    # The one thing that may be waited for: a body of a length that no form has.
    if outcome(arrival.take()) is Waited:
        assert 30 * b"9" in data


def test_a_large_body_is_not_collected() -> None:
    head = b"POST /documents HTTP/1.1\r\nContent-Length: %d\r\n\r\n"
    kept, passed_on = Arrival(head % BODY_BYTES_MAX), Arrival(head % (BODY_BYTES_MAX + 1))
    assert (kept.is_ready, passed_on.is_ready, passed_on.is_whole) == (False, True, False)
    chunked = Arrival(b"POST /documents HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not chunked.is_ready:
        assert len(chunked) < 2 * BODY_BYTES_MAX
        chunked.feed(b"1000\r\n" + 0x1000 * b"x" + b"\r\n")
    assert not chunked.is_whole


def test_many_tiny_chunks_are_bounded_too() -> None:
    chunked = Arrival(b"POST /documents HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not chunked.is_ready:
        assert len(chunked) < 2 * BODY_BYTES_MAX
        chunked.feed(1_000 * (b"1;" + 100 * b"x" + b"\r\nx\r\n"))
    assert not chunked.is_whole


def test_a_head_without_end_is_too_large() -> None:
    arrival = Arrival(b"GET / HTTP/1.1\r\n")
    while not arrival.is_too_large:
        assert len(arrival) < 2 * HEAD_BYTES_MAX
        arrival.feed(b"X: " + 1_000 * b"x" + b"\r\n")
    assert not arrival.is_ready


def test_a_client_that_expects_100_continue_gets_it_once() -> None:
    head = FORM[:-10].replace(b"Host: test", b"Host: test\r\nExpect: 100-Continue")
    arrival = Arrival(head)
    assert arrival.expects_continue
    assert b"Expect" not in arrival.take()
    arrival.feed(b"0123456789")
    assert arrival.is_whole
    assert read(arrival.take()) == b"0123456789"
    assert not Arrival(head + b"0123456789").expects_continue
