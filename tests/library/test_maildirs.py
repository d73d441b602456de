"""A Maildir: each message is taken once, wherever mail programs put its file; and hostile servers of mail."""

import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.bare import changed
from tests.library.watched import Watched, watch
from tests.pipeline.workplace import Workplace
from webapp.clock import monotonic
from webapp.config import Settings
from webapp.db import transaction
from webapp.documents.model import Document
from webapp.library.sources import imap_client, mailbox
from webapp.library.sources.addresses import checked_addresses
from webapp.library.sources.imap_client import ImapClient, MailServer
from webapp.library.sources.registry import change
from webapp.library.sources.trouble import SourceFailed

MESSAGE = b"From: bo@example.org\nSubject: Note\n\nDear all\n"


@pytest.fixture
def maildir(workplace: Workplace, tmp_path: Path) -> Watched:
    watched = watch(workplace, tmp_path / "Mail")
    for name in ("new", "cur", "tmp"):
        (watched.folder / name).mkdir()
    with transaction(workplace.org_id):
        change(workplace.org_id, watched.source_id, {"kind": "maildir"})
    return watched


def test_a_message_is_taken_once_wherever_it_lies(maildir: Watched) -> None:
    file = maildir.put("new/1700.M1.host", MESSAGE)
    maildir.put("tmp/1701.M2.host", b"half of a")
    maildir.poll()
    assert [(row.name, row.state) for row in maildir.rows()] == [("1700.M1.host", "taken")]
    assert maildir.documents() == [(None, "1700.M1.host.eml")]
    file.rename(maildir.folder / "cur" / "1700.M1.host:2,S")
    maildir.put("cur/1699.M0.host:2,", MESSAGE + b"Another one.\n")
    maildir.poll(2)
    assert len(maildir.documents()) == len(maildir.rows()) == 2
    assert {each.content_type for each in maildir.place.all(Document)} == {"message/rfc822"}


def test_what_was_taken_is_marked_as_read(maildir: Watched) -> None:
    with transaction(maildir.place.org_id):
        change(maildir.place.org_id, maildir.source_id, {"after_taking": "seen"})
    maildir.put("new/1.host", MESSAGE)
    maildir.put("cur/2.host:2,F", MESSAGE + b"Two.\n")
    maildir.put("cur/3.host:2,RS", MESSAGE + b"Three.\n")
    maildir.poll(2)
    assert maildir.files() == ["cur/1.host:2,S", "cur/2.host:2,FS", "cur/3.host:2,RS"]
    assert len(maildir.documents()) == len(maildir.rows()) == 3
    assert all(row.is_settled for row in maildir.rows())


def test_another_folder_is_no_maildir(maildir: Watched) -> None:
    (maildir.folder / "cur").rmdir()
    maildir.poll()
    assert maildir.source().last_error == "not_maildir"


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "server_refused"),
        (b"* OK hello {99999999999}\r\n", "server_unreachable"),
        (b"* OK hello\r\n* CAPABILITY IMAP4rev1 {99999999999}\r\n", "server_unreachable"),
        (b"* OK " + b"x" * 2_000_000, "server_refused"),
        (b"", "server_unreachable"),
    ],
)
def test_a_hostile_server_ends_the_poll(monkeypatch: pytest.MonkeyPatch, said: bytes, trouble: str) -> None:
    monkeypatch.setattr(imap_client, "TIMEOUT_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with listener.accept()[0] as connection:
                try:
                    connection.sendall(said)
                    connection.shutdown(socket.SHUT_WR)
                    connection.recv(1000)
                except OSError:
                    pass

        thread = threading.Thread(target=answer)
        thread.start()
        server = MailServer("localhost", listener.getsockname()[1], "plain", ["127.0.0.1"])
        with pytest.raises(SourceFailed) as failed:
            ImapClient(server, "ana", "secret")
        thread.join(10)
    assert failed.value.trouble in {trouble, "server_unreachable"}


@pytest.mark.parametrize("said", [b"* OK he", b"* OK hello\r\n", b"* OK hello\r\n* CAPABILITY IMAP4rev1\r\nA"])
@pytest.mark.parametrize("security", ["plain", "tls"])
def test_a_server_that_sends_byte_after_byte_is_left_in_time(
    monkeypatch: pytest.MonkeyPatch, said: bytes, security: str
) -> None:
    monkeypatch.setattr(imap_client, "COMMAND_SECONDS", 0.2)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            with listener.accept()[0] as connection, suppress(OSError):
                # The beginning of a TLS record that never becomes whole, or of a line.
                connection.sendall(b"\x16\x03\x03\x40\x00" if security == "tls" else said)
                while not over.wait(0.02):
                    connection.sendall(b"\x02" if security == "tls" else b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        began = monotonic()
        server = MailServer("localhost", listener.getsockname()[1], security, ["127.0.0.1"])
        try:
            with pytest.raises(SourceFailed):
                ImapClient(server, "ana", "secret")
            assert monotonic() - began < 3
        finally:
            over.set()
            thread.join(10)


def test_a_connection_lasts_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imap_client, "SESSION_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = MailServer("localhost", listener.getsockname()[1], "plain", ["127.0.0.1"])
        began = monotonic()
        with pytest.raises(SourceFailed):
            ImapClient(server, "ana", "secret")
        assert monotonic() - began < 3


@pytest.mark.parametrize(
    "header",
    [
        b"Subject: =?utf-8?b?QUJDR?=\r\n\r\n",
        b"Subject: =?\x00?q?a?=\r\n\r\n",
        b"Subject: =?utf-8?b?\xff?=\r\n\r\n",
        "Subject: =?ä?q?a?=\r\n\r\n".encode(),
        b"Subject: \xff\xfe =?utf-8?q?a?=\r\n\r\n",
    ],
)
def test_a_malformed_subject_is_text(header: bytes) -> None:
    assert mailbox._subject(header)


@pytest.mark.parametrize(
    ("address", "is_private_named"),
    [
        ("64:ff9b::7f00:1", False),
        ("fec0::1", False),
        ("2002:7f00:1::", False),
        ("ff0e::1", False),
        ("224.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("10.0.0.1", False),
        ("169.254.169.254", True),
    ],
)
def test_addresses_that_lead_into_private_networks_are_refused(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, address: str, is_private_named: bool
) -> None:
    sources = changed(settings, "sources", private_hosts=("mail.example",) if is_private_named else ()).sources
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(family, socket.SOCK_STREAM, 6, "", (address, 993))])
    with pytest.raises(SourceFailed) as failed:
        checked_addresses(sources, "mail.example", 993, is_plain=False)
    assert failed.value.trouble == "host_private"
