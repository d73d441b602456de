"""A POST to an address that people of an org have named, which can't be made to reach what is not public.

The name is resolved once, each address is checked, and the connection goes to one that was checked: a name that means
another address a moment later changes nothing. Redirects are not followed, and all of it has one deadline.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import httpcore2
import httpx2

from webapp.clock import monotonic
from webapp.providers.public_addresses import is_address, may_connect
from webapp.providers.vendor_http import retry_after_seconds

URL_CHARACTERS_MAX = 2000
ANSWER_CHARACTERS_MAX = 1000
SECONDS_MAX = 10.0
_ANSWER_BYTES_MAX = 4096
_OWN_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost")


class PostError(StrEnum):
    """Why there was no answer; pages have a sentence for each."""

    ADDRESS_REFUSED = "address_refused"
    UNKNOWN_HOST = "unknown_host"
    NOT_CONNECTED = "not_connected"
    CERTIFICATE_REFUSED = "certificate_refused"
    TIMED_OUT = "timed_out"
    BROKEN_ANSWER = "broken_answer"


class BadUrl(ValueError):
    """An address that nothing can be sent to; the message is a sentence for people."""


@dataclass(frozen=True)
class PostAnswer:
    """The status of an answer and how it begins, or why there was none."""

    status: int | None = None
    text: str = ""
    error: PostError | None = None
    retry_after_seconds: float | None = None

    @property
    def is_good(self) -> bool:
        """Whether the receiver has taken what was sent."""
        return self.status is not None and 200 <= self.status < 300


class _Refused(Exception):
    """The connection may not be made, or can't."""

    def __init__(self, error: PostError) -> None:
        super().__init__(error.value)
        self.error = error


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a name, in the order in which they are to be tried; OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


Resolver = Callable[[str, int], Sequence[str]]


@dataclass(frozen=True)
class CheckedPoster:
    """Sends POSTs to public addresses, and to private ones where that is allowed."""

    allows_private: bool = False
    seconds_max: float = SECONDS_MAX
    resolver: Resolver = resolve

    def check(self, url: str) -> str:
        """The address as it is stored; BadUrl where it can be seen that nothing may be sent there."""
        parsed = _parsed(url)
        is_own = parsed.host.rstrip(".") in _OWN_NAMES or parsed.host.endswith(".localhost")
        is_bad = is_address(parsed.host) and not may_connect(parsed.host, allows_private=self.allows_private)
        if is_bad or (is_own and not self.allows_private):
            raise BadUrl("Addresses of this machine and of private networks are not allowed here.")
        return str(parsed)

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> PostAnswer:
        """Send a body and give the answer; whatever the receiver does, nothing is raised."""
        try:
            parsed = _parsed(url)
        except BadUrl:
            return PostAnswer(error=PostError.ADDRESS_REFUSED)
        network = _Checked(self.allows_private, self.resolver, monotonic() + self.seconds_max)
        try:
            with httpcore2.ConnectionPool(httpx2.create_ssl_context(), network_backend=network) as pool:
                return _send(pool, parsed, headers, body)
        except _Refused as refused:
            return PostAnswer(error=refused.error)
        except httpcore2.TimeoutException:
            return PostAnswer(error=PostError.TIMED_OUT)
        except httpcore2.ConnectError as error:
            is_certificate = isinstance(error.__cause__ or error.__context__, ssl.SSLError)
            return PostAnswer(error=PostError.CERTIFICATE_REFUSED if is_certificate else PostError.NOT_CONNECTED)
        except (httpcore2.NetworkError, httpcore2.ProtocolError):
            return PostAnswer(error=PostError.BROKEN_ANSWER)


def _parsed(url: str) -> httpx2.URL:
    if not url or len(url) > URL_CHARACTERS_MAX or not url.isprintable() or " " in url:
        raise BadUrl(f"Give an address of up to {URL_CHARACTERS_MAX} characters, without spaces.")
    try:
        parsed = httpx2.URL(url)
        port = parsed.port
    except (httpx2.InvalidURL, ValueError) as error:
        raise BadUrl("That is no web address. Example: https://example.com/docmill") from error
    if parsed.scheme not in {"http", "https"} or not parsed.host or not 1 <= (80 if port is None else port) <= 65_535:
        raise BadUrl("The address must begin with https:// or http:// and name a host.")
    if parsed.userinfo or parsed.fragment:
        raise BadUrl("The address must hold neither a user name nor a password, and no “#”.")
    if len(str(parsed)) > URL_CHARACTERS_MAX:
        raise BadUrl(f"Give an address of up to {URL_CHARACTERS_MAX} characters, without spaces.")
    return parsed


def _send(pool: httpcore2.ConnectionPool, url: httpx2.URL, headers: Mapping[str, str], body: bytes) -> PostAnswer:
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    # Nothing is unpacked here: a small answer could become a large one.
    own = {"Host": url.netloc.decode("ascii"), "Accept-Encoding": "identity", "Content-Length": str(len(body))}
    all_of_them = [(name.encode(), value.encode()) for name, value in {**own, **headers}.items()]
    with pool.stream("POST", target, headers=all_of_them, content=body) as answer:
        found = bytearray()
        for part in answer.iter_stream():
            found += part[:_ANSWER_BYTES_MAX]
            if len(found) >= _ANSWER_BYTES_MAX:
                break
        fields = {name.decode("latin-1"): value.decode("latin-1") for name, value in answer.headers}
        return PostAnswer(answer.status, _words(bytes(found)), retry_after_seconds=retry_after_seconds(fields))


def _words(answer: bytes) -> str:
    text = answer.decode("utf-8", "replace")
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text)[:ANSWER_CHARACTERS_MAX].strip()


class _Checked(httpcore2.NetworkBackend):
    """Connects to addresses that were checked, until a deadline."""

    def __init__(self, allows_private: bool, resolver: Resolver, deadline: float) -> None:
        self._allows_private = allows_private
        self._resolver = resolver
        self._deadline = deadline
        self._network = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address of the host that may be connected to and answers."""
        addresses = self._resolve(host, port)
        allowed = [each for each in addresses if may_connect(each, allows_private=self._allows_private)]
        if not allowed:
            raise _Refused(PostError.ADDRESS_REFUSED)
        for number, address in enumerate(allowed, 1):
            # One that does not answer leaves time for the others.
            seconds = _left(self._deadline) / (len(allowed) - number + 1)
            try:
                stream = self._network.connect_tcp(address, port, seconds, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if number == len(allowed):
                    raise
                continue
            return _Bounded(stream, self._deadline)
        raise _Refused(PostError.NOT_CONNECTED)

    def _resolve(self, host: str, port: int) -> Sequence[str]:
        """In a thread of its own: a resolver that does not answer has no time limit that could be set."""
        found: list[Sequence[str]] = []

        def ask() -> None:
            try:
                found.append(self._resolver(host, port))
            except (OSError, UnicodeError):
                found.append(())

        thread = threading.Thread(target=ask, name="resolve", daemon=True)
        thread.start()
        thread.join(_left(self._deadline))
        if not found or not found[0]:
            raise _Refused(PostError.UNKNOWN_HOST if found else PostError.TIMED_OUT)
        return found[0]


class _Bounded(httpcore2.NetworkStream):
    """A connection whose every wait ends at one deadline, however slowly the other side answers."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there."""
        return self._stream.read(max_bytes, _left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it."""
        self._stream.write(buffer, _left(self._deadline))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """Begin TLS; the certificate must be of the host that was named."""
        return _Bounded(self._stream.start_tls(ssl_context, server_hostname, _left(self._deadline)), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """What is known of the connection."""
        return self._stream.get_extra_info(info)


def _left(deadline: float) -> float:
    seconds = deadline - monotonic()
    if seconds <= 0:
        raise httpcore2.ReadTimeout("the deadline has passed")
    return seconds
