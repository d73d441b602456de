"""A Dovecot of the tests' own: a real IMAP server on loopback, with mailboxes in a folder that goes with it."""

import contextlib
import imaplib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates import certificates
from tests.emulators.ports import free_port

START_SECONDS = 20.0
PASSWORD = 'a pass"word of tests'
_USERS = 60
NO_DOVECOT = "no dovecot: install it (Debian: apt-get install dovecot-imapd), or set DOVECOT to its path"
_PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
# Mail must not belong to root.
_NOBODY = 65534
_CONFIG = """
protocols = imap
listen = 127.0.0.1
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/dovecot.log
ssl = yes
ssl_cert = <{certificate}
ssl_key = <{key}
disable_plaintext_auth = no
auth_mechanisms = plain login
first_valid_uid = 1
default_internal_user = {internal}
default_internal_group = {group}
default_login_user = {login}
mail_location = maildir:{folder}/mail/%u
mail_max_userip_connections = 50
auth_failure_delay = 0
passdb {{
  driver = passwd-file
  args = scheme=PLAIN {folder}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail/%u
}}
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
"""


def find_dovecot() -> str | None:
    """The program; None where there is none."""
    return shutil.which(os.environ.get("DOVECOT", "dovecot"), path=_PLACES)


def need_dovecot() -> None:
    """Skip this test where there is no Dovecot; with REQUIRE_DOVECOT=1 that is a failure."""
    if find_dovecot():
        return
    if os.environ.get("REQUIRE_DOVECOT") == "1":
        pytest.fail(f"REQUIRE_DOVECOT=1, but there is {NO_DOVECOT}")
    pytest.skip(NO_DOVECOT)


class Dovecot:
    """One with a mailbox for each person who is asked for."""

    def __init__(self) -> None:
        self.port, self.tls_port = free_port(), free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="docmill-dovecot-"))
        self._process: subprocess.Popen[bytes] | None = None
        is_root = os.getuid() == 0
        uid, gid = (_NOBODY, _NOBODY) if is_root else (os.getuid(), os.getgid())
        own = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        group = subprocess.run(["id", "-gn"], capture_output=True, text=True, check=True).stdout.strip()
        names = {"internal": "dovecot", "group": "dovecot", "login": "dovenull"} if is_root else {
            "internal": own, "group": group, "login": own,
        }  # fmt: skip
        self.authority, key, certificate = certificates(self.folder)
        names |= {"key": key, "certificate": certificate}
        ports = {"port": self.port, "tls_port": self.tls_port}
        config = _CONFIG.format(folder=self.folder, uid=uid, gid=gid, **ports, **names)
        (self.folder / "dovecot.conf").write_text(config)
        (self.folder / "users").write_text("".join(f"ana{number}:{PASSWORD}::::::\n" for number in range(_USERS)))
        self._users = (f"ana{number}" for number in range(_USERS))
        mail = self.folder / "mail"
        mail.mkdir()
        # Other users than ours work on these.
        self.folder.chmod(0o755)
        if is_root:
            os.chown(mail, uid, gid)
        self.start()

    def start(self) -> None:
        program = find_dovecot()
        assert program is not None, NO_DOVECOT
        self._process = subprocess.Popen(
            [program, "-F", "-c", str(self.folder / "dovecot.conf")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + START_SECONDS
        while not self._listens():
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def new_user(self) -> str:
        """Somebody with an empty mailbox."""
        return next(self._users)

    def log(self) -> str:
        """What it has written down."""
        path = self.folder / "dovecot.log"
        return path.read_text() if path.exists() else "dovecot has written no log"

    def stop(self) -> None:
        """End it; its mail stays."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(20)

    def remove(self) -> None:
        """End it, and remove its mail."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def session(self, user: str, mailbox: str = "INBOX") -> Iterator[imaplib.IMAP4]:
        """A mail program of the person's own."""
        with imaplib.IMAP4("127.0.0.1", self.port, 20) as client:
            client.authenticate("PLAIN", lambda _: f"\0{user}\0{PASSWORD}".encode())
            client.select(mailbox)
            yield client

    def deliver(self, user: str, *messages: bytes) -> None:
        """Put messages into the mailbox."""
        with self.session(user) as client:
            for message in messages:
                assert client.append("INBOX", "", "", message.replace(b"\n", b"\r\n"))[0] == "OK"

    def forget_ids(self, user: str) -> None:
        """Lose what it knows of the ids of messages, as after a disaster: it gives them new ones."""
        before, deadline = self._validity(user), time.monotonic() + START_SECONDS
        # What it says of the ids is the second in which it began to give them.
        while self._validity(user) == before:
            assert time.monotonic() < deadline, "the ids are the same"
            for path in (self.folder / "mail" / user).glob("dovecot*"):
                path.unlink(missing_ok=True)

    def _validity(self, user: str) -> object:
        with self.session(user) as client:
            return client.response("UIDVALIDITY")[1]

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False
