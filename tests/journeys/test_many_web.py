"""Two web processes on one PostgreSQL, as on two machines: what holds in one holds in the other."""

import http.client
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import pytest

from tests import postgres
from tests.bare import AS_FAST_AS_IT_GOES
from tests.journeys.site import Installation

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(300)]

_CSRF = re.compile(r'<meta name="csrf-token" content="([^"]+)">')
_LINK = re.compile(r"/sign-in/\S+")
# A bucket holds one at least, and takes minutes to fill up again: longer than a process takes to start.
SEARCHES, OWN_SEARCHES = "0.004", 1


@dataclass(frozen=True)
class Pair:
    """Two installations of one web process each."""

    first: Installation
    second: Installation

    @property
    def both(self) -> tuple[Installation, Installation]:
        return self.first, self.second

    def new_token(self, org: str) -> str:
        return self.first.flask("tokens", "create", "--org", org, "--role", "member", "--name", "journey")


@dataclass
class Visitor:
    """A browser behind a load balancer: its cookies go to whichever process answers."""

    cookies: SimpleCookie = field(default_factory=SimpleCookie)

    def ask(self, site: Installation, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
        headers = {"Accept": "text/html", "Cookie": "; ".join(f"{k}={m.value}" for k, m in self.cookies.items())}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        with closing(http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)) as connection:
            connection.request("GET" if form is None else "POST", path, urlencode(form or {}), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            for line in answer.headers.get_all("Set-Cookie") or ():
                self.cookies.load(line)
            return answer.status, text

    def csrf(self, site: Installation, path: str) -> str:
        found = _CSRF.search(self.ask(site, path)[1])
        assert found
        return found[1]


@pytest.fixture(scope="module")
def pair(
    postgres_server: postgres.Server,
    postgres_template: str,
    worker_id: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pair]:
    name = f"many_web_{worker_id}"
    urls = postgres_server.create_database(name, template=postgres_template)
    folder = tmp_path_factory.mktemp("many_web")
    variables = {
        **AS_FAST_AS_IT_GOES,
        "DATABASE_URL": urls.runtime_url,
        "DATA_DIR": str(folder / "shared"),
        # None is set: the processes agree on one.
        "SECRET_KEY": "",
        "WEB_CONCURRENCY": "1",
        "RATE_SEARCHES": SEARCHES,
    }
    found = Pair(*(Installation(variables, folder / f"{each}.log") for each in ("first", "second")))
    with found.first.running("gunicorn", "wsgi:app"), found.second.running("gunicorn", "wsgi:app"):
        for site in found.both:
            site.wait_until_ready()
        yield found
    for site in found.both:
        assert "Traceback" not in site.log.read_text()
    postgres_server.drop_database(name)


def _status(site: Installation, token: str, path: str) -> int:
    site.token = token
    return site._send("GET", path)[0]


def test_an_upload_through_one_is_seen_in_the_other(pair: Pair) -> None:
    pair.first.token = pair.second.token = pair.new_token("Readers")
    (document,) = pair.first.upload({"rye.md": b"# Rye\n\nA kind of grass."})
    assert [each["id"] for each in pair.second.get("/documents")["documents"]] == [document["id"]]
    with closing(http.client.HTTPConnection("127.0.0.1", pair.second.port, timeout=60)) as connection:
        headers = {"Authorization": f"Bearer {pair.second.token}"}
        connection.request("GET", f"/documents/{document['id']}/original", headers=headers)
        assert connection.getresponse().read() == b"# Rye\n\nA kind of grass."


def test_a_token_that_is_revoked_ends_in_both(pair: Pair) -> None:
    token = pair.new_token("Keys")
    assert [_status(site, token, "/documents") for site in pair.both] == [200, 200]
    listed = pair.first.flask("tokens", "list", "--org", "Keys").split("\t")
    pair.first.flask("tokens", "revoke", "--org", "Keys", listed[0])
    assert [_status(site, token, "/documents") for site in pair.both] == [401, 401]


def test_a_rate_holds_for_both_together(pair: Pair) -> None:
    token = pair.new_token("Searchers")
    first = [_status(pair.first, token, "/search?q=rye") for _ in range(OWN_SEARCHES + 1)]
    assert first == [200] * OWN_SEARCHES + [429]
    assert _status(pair.second, token, "/search?q=rye") == 429
    assert _status(pair.second, pair.new_token("Others"), "/search?q=rye") == 200


def test_a_rate_holds_for_every_restart(pair: Pair) -> None:
    """A process that has just started knows nothing, and asks the database."""
    token = pair.new_token("Restarters")
    for _ in range(OWN_SEARCHES + 1):
        _status(pair.first, token, "/search?q=rye")
    fresh = Installation(pair.first.variables, pair.first.log.with_name("fresh.log"))
    with fresh.running("gunicorn", "wsgi:app"):
        fresh.wait_until_ready()
        assert _status(fresh, token, "/search?q=rye") == 429


def test_a_session_begins_in_one_and_ends_in_both(pair: Pair) -> None:
    pair.first.flask("users", "create", "--org", "People", "--email", "ana@example.org")
    said = pair.first.flask("users", "sign-in-link", "--org", "People", "--email", "ana@example.org")
    link = _LINK.search(said)
    assert link, said
    ana = Visitor()
    # The form comes from one process and goes to the other: both sign CSRF tokens with one key.
    status, text = ana.ask(pair.second, link[0], {"csrf_token": ana.csrf(pair.first, link[0])})
    assert status in {302, 303}, text
    for site in pair.both:
        assert ana.ask(site, "/account")[0] == 200
    stays = SimpleCookie(ana.cookies)
    status, text = ana.ask(pair.first, "/account/sessions/end", {"csrf_token": ana.csrf(pair.second, "/account")})
    assert status == 303, text
    stolen = Visitor(stays)
    for site in pair.both:
        assert stolen.ask(site, "/account")[0] != 200


def test_a_form_of_nobodys_page_is_refused_by_both(pair: Pair) -> None:
    for site in pair.both:
        visitor = Visitor()
        visitor.csrf(site, "/sign-in")
        assert visitor.ask(site, "/sign-in", {"email": "a@example.org", "csrf_token": "made up"})[0] == 400


def test_guesses_are_counted_over_both(pair: Pair) -> None:
    guesser = Visitor()
    token = guesser.csrf(pair.first, "/sign-in")

    def guess(site: Installation) -> int:
        form = {"email": "owner@example.org", "password": "wrong", "csrf_token": token}
        return guesser.ask(site, "/sign-in", form)[0]

    tried = [guess(site) for site in (*pair.both, *pair.both, pair.first)]
    assert 429 not in tried
    assert [guess(site) for site in pair.both] == [429, 429]
