"""A POST to an address that people have named: it reaches what is public and nothing else, and ends in time."""

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates import certificates
from tests.receiver import Receiver, receiving
from webapp.clock import monotonic
from webapp.providers.checked_post import ANSWER_CHARACTERS_MAX, BadUrl, CheckedPoster, PostError
from webapp.providers.public_addresses import may_connect


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "::1",
        "fd00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
    ],
)
def test_private_addresses_are_reached_only_where_that_is_allowed(address: str) -> None:
    assert not may_connect(address, allows_private=False)
    assert may_connect(address, allows_private=True)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "fe80::1%eth0",
        "0.0.0.0",  # noqa: S104 - an address that is refused
        "255.255.255.255",
        "224.0.0.1",
        "ff02::1",
        "240.0.0.1",
        "192.0.2.1",
        "::",
        "fec0::1",
        "2002:7f00:1::",
        "2001:db8::1",
    ],
)
def test_what_is_neither_public_nor_private_is_never_reached(address: str) -> None:
    assert not may_connect(address, allows_private=False)
    assert not may_connect(address, allows_private=True)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_reached(address: str) -> None:
    assert may_connect(address, allows_private=False)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://example.com/",
        "https://",
        "example.com",
        "https://ana:secret@example.com/",
        "https://example.com/#a",
        "https://example.com:0/",
        "https://example.com:70000/",
        "https://exa mple.com/",
        "https://example.com/\x00",
        "https://example.com/" + "a" * 2000,
        "http://localhost:8000/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://169.254.169.254/latest/meta-data/",
    ],
)
def test_an_address_that_can_not_be_used_is_refused_at_once(url: str) -> None:
    with pytest.raises(BadUrl):
        CheckedPoster().check(url)


def test_an_address_is_kept_as_it_is_sent_to() -> None:
    assert CheckedPoster().check("https://Bücher.example/ü?a=b") == "https://xn--bcher-kva.example/%C3%BC?a=b"
    assert CheckedPoster(allows_private=True).check("http://localhost:8000/") == "http://localhost:8000/"


def test_a_body_is_sent_and_answered(receiver: Receiver) -> None:
    answer = CheckedPoster(allows_private=True).post(receiver.url, {"X-One": "1"}, b'{"a": 1}')
    assert (answer.is_good, answer.status, answer.text, answer.error) == (True, 200, "thanks", None)
    [request] = receiver.received
    assert (request.path, request.body, request.headers["x-one"]) == ("/hook", b'{"a": 1}', "1")
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
def test_a_private_address_gets_no_connection_however_it_is_written(receiver: Receiver, host: str) -> None:
    answer = CheckedPoster().post(f"http://{host}:{receiver.port}/", {}, b"")
    assert answer.error is PostError.ADDRESS_REFUSED
    assert receiver.received == []


def test_a_name_is_resolved_once_and_the_checked_address_is_connected_to(receiver: Receiver) -> None:
    """A name that means another address from one moment to the next (DNS rebinding) reaches only what was checked."""
    asked: list[str] = []

    def rebinds(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["192.0.2.1"] if len(asked) == 1 else ["127.0.0.1"]

    answer = CheckedPoster(resolver=rebinds).post(f"http://rebinds.example:{receiver.port}/", {}, b"")
    assert (answer.error, asked, receiver.received) == (PostError.ADDRESS_REFUSED, ["rebinds.example"], [])

    allowed = CheckedPoster(allows_private=True, resolver=lambda host, port: ["169.254.169.254", "127.0.0.1"])
    assert allowed.post(f"http://mixed.example:{receiver.port}/", {}, b"").is_good, "the address that is allowed"
    assert receiver.received[0].headers["host"] == f"mixed.example:{receiver.port}", "under the name that was given"


def test_a_redirect_is_an_answer_and_not_followed(receiver: Receiver) -> None:
    receiver.status, receiver.headers = 302, {"Location": f"http://127.0.0.1:{receiver.port}/elsewhere"}
    answer = CheckedPoster(allows_private=True).post(receiver.url, {}, b"")
    assert (answer.status, answer.is_good) == (302, False)
    assert [each.path for each in receiver.received] == ["/hook"]


def test_only_the_beginning_of_an_answer_is_read(receiver: Receiver) -> None:
    receiver.answer = b"\x00\x1b[31m" + b"a" * 1_000_000
    answer = CheckedPoster(allows_private=True).post(receiver.url, {}, b"")
    assert answer.is_good
    assert len(answer.text) <= ANSWER_CHARACTERS_MAX
    assert "\x00" not in answer.text
    assert "\x1b" not in answer.text


def test_nobody_answers() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    poster = CheckedPoster(allows_private=True)
    assert poster.post(f"http://127.0.0.1:{port}/", {}, b"").error is PostError.NOT_CONNECTED
    unknown = CheckedPoster(resolver=lambda host, port: [])
    assert unknown.post("http://nowhere.example/", {}, b"").error is PostError.UNKNOWN_HOST


def test_a_receiver_that_says_nothing_is_left_in_time(receiver: Receiver) -> None:
    receiver.hangs = threading.Event()
    began = monotonic()
    answer = CheckedPoster(allows_private=True, seconds_max=0.2).post(receiver.url, {}, b"")
    assert answer.error is PostError.TIMED_OUT
    assert monotonic() - began < 5


def test_a_receiver_that_answers_a_byte_at_a_time_is_left_in_time() -> None:
    """Each byte comes in time, all of them never."""
    ended = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not ended.wait(0.02):
                try:
                    connection.sendall(b"a")
                except OSError:
                    break

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=[server])
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        answer = CheckedPoster(allows_private=True, seconds_max=0.3).post(url, {}, b"")
        ended.set()
        thread.join()
    assert answer.error in {PostError.TIMED_OUT, PostError.BROKEN_ANSWER}


def test_what_is_no_http_is_no_answer() -> None:
    def babble(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"\x00\x01 babble\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=babble, args=[server])
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        answer = CheckedPoster(allows_private=True).post(url, {}, b"")
        thread.join()
    assert (answer.status, answer.error) == (None, PostError.BROKEN_ANSWER)


def test_the_certificate_must_be_of_the_host_that_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, key, certificate = certificates(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    poster = CheckedPoster(allows_private=True, resolver=lambda host, port: ["127.0.0.1"])
    with receiving(tls) as receiver:
        own = f"https://localhost:{receiver.port}/"
        assert poster.post(own, {}, b"").error is PostError.CERTIFICATE_REFUSED, "nobody trusts this authority"
        monkeypatch.setenv("SSL_CERT_FILE", authority)
        assert poster.post(own, {}, b"").is_good
        other = poster.post(f"https://other.example:{receiver.port}/", {}, b"")
        assert other.error is PostError.CERTIFICATE_REFUSED
    assert [each.headers["host"] for each in receiver.received] == [f"localhost:{receiver.port}"]
