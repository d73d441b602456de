"""Mailboxes on a real Dovecot: each message is taken once, as one file; and what can go wrong says so."""

import logging
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.bare import changed
from tests.crash_points import Life, commits_kill
from tests.dovecot import PASSWORD, Dovecot, need_dovecot
from tests.library.watched import Watched
from tests.pipeline.workplace import Crash, Workplace
from webapp.clock import new_id
from webapp.db import transaction
from webapp.documents.model import Document
from webapp.jobs.model import Job
from webapp.jobs.sealed_passwords import PasswordSeal
from webapp.library.sources import imap_client, mailbox, registry
from webapp.library.sources.polling import poll, try_out

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dovecot")]


def message(number: int, body: str = "Dear all") -> bytes:
    """A message."""
    return f"From: bo@example.org\nSubject: Note {number}\n\n{body}, number {number}.\n".encode()


@dataclass
class Mail(Watched):
    """A mailbox that a source of the workplace's org polls."""

    dovecot: Dovecot
    user: str

    def deliver(self, *messages: bytes) -> None:
        self.dovecot.deliver(self.user, *messages)

    def flags(self, name: str = "INBOX") -> list[bytes]:
        """The flags of each message."""
        with self.dovecot.session(self.user, name) as client:
            return [each for each in client.uid("FETCH", "1:*", "(FLAGS)")[1] if isinstance(each, bytes)]

    def change(self, **place: Any) -> None:
        with transaction(self.place.org_id):
            registry.change(self.place.org_id, self.source_id, {"place": {**self.source().place, **place}})

    def contents(self) -> set[bytes]:
        """The bytes of the documents."""
        return {self.place.providers.blobs.read_bytes(each.blob_path) for each in self.place.all(Document)}


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Dovecot]:
    need_dovecot()
    server = Dovecot()
    yield server
    server.remove()


def fetch(place: Workplace, dovecot: Dovecot, after_taking: str = "leave", **where: Any) -> Mail:
    """Make a source of a new mailbox."""
    place.settings = changed(place.settings, "sources", private_hosts=("127.0.0.1",))
    user, source_id = dovecot.new_user(), new_id()
    server = {"host": "127.0.0.1", "port": dovecot.port, "security": "plain", "username": user}
    values = {
        "id": source_id,
        "kind": "imap",
        "name": "Mail",
        "place": {**server, "mailbox": "INBOX", "move_to": "Taken & gone", **where},
        "sealed_secret": place.seal.seal(PASSWORD, source_id),
        "after_taking": after_taking,
        "interval_seconds": 60,
    }
    with transaction(place.org_id):
        registry.add(place.org_id, values, "user:ana")
    return Mail(place, Path("nowhere"), source_id, dovecot, user)


def test_a_message_is_taken_once_as_it_is(workplace: Workplace, dovecot: Dovecot) -> None:
    mail = fetch(workplace, dovecot)
    mail.poll()
    assert (mail.rows(), mail.source().last_error) == ([], None)
    mail.deliver(message(1), message(2))
    mail.poll()
    assert [(row.name, row.state) for row in mail.rows()] == [("Note 1", "taken"), ("Note 2", "taken")]
    assert mail.documents() == [(None, "Note 1.eml"), (None, "Note 2.eml")]
    assert mail.contents() == {message(number).replace(b"\n", b"\r\n") for number in (1, 2)}
    assert {each.content_type for each in workplace.all(Document)} == {"message/rfc822"}
    assert all(b"\\Seen" not in each for each in mail.flags()), "looking leaves no trace"
    mail.deliver(message(3))
    mail.poll(2)
    assert len(mail.documents()) == len(workplace.all(Job)) == 3


@pytest.mark.parametrize("after_taking", ["seen", "move"])
def test_what_was_taken_is_marked_or_moved(workplace: Workplace, dovecot: Dovecot, after_taking: str) -> None:
    mail = fetch(workplace, dovecot, after_taking)
    mail.deliver(message(1), message(2))
    mail.poll()
    assert mail.source().last_error is None
    if after_taking == "seen":
        assert all(b"\\Seen" in each for each in mail.flags())
    else:
        assert mail.flags() == []
        assert len(mail.flags('"Taken &- gone"')) == 2
    assert all(row.is_settled for row in mail.rows())


def test_where_the_server_gives_new_ids_nothing_is_taken_twice(workplace: Workplace, dovecot: Dovecot) -> None:
    mail = fetch(workplace, dovecot)
    mail.deliver(message(1), message(2))
    mail.poll()
    before = mail.source().mark
    dovecot.forget_ids(mail.user)
    mail.deliver(message(3))
    mail.poll(2)
    assert before
    assert (mail.source().mark or {})["ids"] != before["ids"], "the ids are others"
    assert len(mail.documents()) == len(workplace.all(Job)) == 3
    assert sorted(row.reason or "" for row in mail.rows()) == ["", "", "", "known", "known"]


def test_large_messages_come_in_parts_and_too_large_ones_are_skipped(
    workplace: Workplace, dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap_client, "PART_BYTES", 1000)
    monkeypatch.setattr(mailbox, "PART_BYTES", 1000)
    mail = fetch(workplace, dovecot)
    mail.place.settings = changed(mail.place.settings, "limits", max_upload_mb=1)
    long = message(1, "A long line\n" * 1000)
    even = message(2) + b"x" * (2000 - len(message(2).replace(b"\n", b"\r\n")))
    mail.deliver(long, even, message(3, "x" * 70 + "\n") + b"y" * (1 << 20))
    mail.poll(2)
    assert mail.contents() == {each.replace(b"\n", b"\r\n") for each in (long, even)}
    assert [(row.state, row.reason) for row in mail.rows()][2] == ("skipped", "too_large")


def test_many_messages_are_looked_at_in_turns(
    workplace: Workplace, dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "MESSAGES_MAX", 2)
    mail = fetch(workplace, dovecot)
    mail.deliver(*(message(number) for number in range(5)))
    mail.poll(3)
    assert len(mail.documents()) == 5


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
        ("=?nonsense?q?x?=", "=?nonsense?q?x?="),
        ("=?utf-8?b?QUJDR?=", "=?utf-8?b?QUJDR?="),
        ("../../etc/passwd", "../../etc/passwd"),
        ("", "Message 1"),
    ],
)
def test_subjects_of_any_kind(workplace: Workplace, dovecot: Dovecot, subject: str, name: str) -> None:
    mail = fetch(workplace, dovecot)
    mail.deliver(f"From: bo@example.org\nSubject: {subject}\n\nHello\n".encode())
    mail.poll()
    assert [(row.name, row.state) for row in mail.rows()] == [(name, "taken")]


def test_what_goes_wrong_says_so_without_the_password(
    workplace: Workplace, dovecot: Dovecot, caplog: pytest.LogCaptureFixture
) -> None:
    mail = fetch(workplace, dovecot)
    mail.deliver(message(1))
    good = mail.source().place
    caplog.set_level(logging.DEBUG)
    for wrong, trouble in (
        ({"username": "nobody"}, "login_refused"),
        ({"mailbox": "Nowhere"}, "mailbox_missing"),
        ({"port": 1}, "server_unreachable"),
        ({"security": "tls"}, "tls_failed"),
        ({"security": "starttls"}, "certificate"),
        ({"security": "tls", "port": dovecot.tls_port}, "certificate"),
        ({"host": "169.254.169.254"}, "host_private"),
        ({"host": "localhost"}, "host_private"),
        ({"host": "no-such-host.invalid"}, "host_unknown"),
    ):
        mail.change(**{**good, **wrong})
        mail.poll()
        assert mail.source().last_error == trouble
        assert try_out(mail.place, mail.source()).trouble == trouble
        seen = mail.source()
        assert seen.last_poll_at
        pause = (seen.next_poll_at - seen.last_poll_at).total_seconds()
        assert (pause > 800) == (trouble == "login_refused"), "servers lock out who repeats a wrong password"
    mail.place.settings = changed(mail.place.settings, "sources", private_hosts=("10.0.0.1",))
    mail.change(**{**good, "host": "10.0.0.1"})
    mail.poll()
    assert mail.source().last_error == "plain_refused"
    assert PASSWORD not in caplog.text
    assert mail.rows() == []

    mail.place.settings = changed(mail.place.settings, "sources", private_hosts=("127.0.0.1",))
    mail.change(**good)
    mail.poll()
    assert mail.source().last_error is None
    assert len(mail.documents()) == 1


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_encrypted_connections(
    workplace: Workplace, dovecot: Dovecot, security: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.load_verify_locations(dovecot.authority)
    monkeypatch.setattr(imap_client, "_context", lambda: trusting)
    port = dovecot.tls_port if security == "tls" else dovecot.port
    mail = fetch(workplace, dovecot, security=security, port=port)
    mail.deliver(message(1))
    mail.poll()
    assert mail.source().last_error is None
    assert len(mail.documents()) == 1


def test_a_password_that_was_sealed_with_another_key_is_asked_for_again(workplace: Workplace, dovecot: Dovecot) -> None:
    mail = fetch(workplace, dovecot)
    mail.place.seal = PasswordSeal(lambda: "another key of tests")
    mail.poll()
    assert mail.source().last_error == "secret_lost"


def test_deaths_at_each_commit(workplace: Workplace, dovecot: Dovecot) -> None:
    mail = fetch(workplace, dovecot, "move")
    mail.deliver(*(message(number) for number in range(3)))
    life, deaths = Life(), 0
    with commits_kill(life):
        for number in range(40):
            life.begin("claiming", 1 + number % 8)
            try:
                poll(mail.place, mail.claim())
            except Crash:
                deaths += 1
            life.begin()
            mail.lose_lease()
            mail.pass_time()
            rows = mail.rows()
            if len(rows) == 3 and all(row.state == "taken" and row.is_settled for row in rows):
                break
    assert deaths >= 5
    assert len(mail.documents()) == len(workplace.all(Job)) == 3
    assert len(mail.flags('"Taken &- gone"')) == 3
