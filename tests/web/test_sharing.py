"""Share links: what somebody outside sees by one, and all that they don't."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from flask import Flask
from sqlalchemy import func, select, update

from tests.web.databases import both_databases
from tests.web.people import HTML, HX, JSON, Browser, People, Program
from tests.web.shelves import NOTES, notes, read_json, services_of, shelve, use_hashed_words, work_off
from webapp.accounts import tokens, users
from webapp.accounts.model import IdempotencyKey
from webapp.accounts.roles import Role, Scope
from webapp.clock import after, new_id, utc_now
from webapp.db import later, reading, transaction, write_turn
from webapp.documents.share_model import ShareLink
from webapp.library import shares
from webapp.library.shares import MakerMayNotWrite, ShareTarget
from webapp.web.access import Access, access_of

RYE = "Rye is dark and heavy."
PATH = re.compile(r"/s/[\w-]{43}")
_MOVING = re.compile(r'nonce="[^"]+"|content="[^"]{60,}"|"X-CSRFToken": "[^"]+"')


@pytest.fixture
def shelf(app: Flask, program: Program) -> list[str]:
    """Three documents that have been read: the first is tagged, and has a note that is nobody's business."""
    use_hashed_words(app)
    ids = shelve(program, ("first.md", NOTES), notes(2), notes(3))
    work_off(app)
    change = {"tags": ["open"], "note": "Our secret remark"}
    assert program.send("PATCH", f"/documents/{ids[0]}", json=change).status_code == 200
    return ids


@pytest.fixture
def ops(people: People) -> Program:
    return people.program("ops")


def _share(program: Program, target: str, **more: Any) -> str:
    """The path of a new link."""
    answer = program.post(f"{target}/shares", json=more)
    assert answer.status_code == 201, answer.text
    url = str(read_json(answer)["url"])
    assert url.startswith("http://localhost/s/")
    return url.removeprefix("http://localhost")


def _view(program: Program, query: str = "tag:open", **more: Any) -> str:
    return f"/views/{read_json(program.post('/views', json={'name': 'Inner name', 'query': query, **more}))['id']}"


def _links(program: Program, target: str = "") -> list[dict[str, Any]]:
    return list(read_json(program.get(f"{target}/shares"))["shares"])


def _log(ops: Program, action: str) -> list[dict[str, Any]]:
    return list(read_json(ops.get(f"/ops/security?action={action}"))["entries"])


def _is_nothing(visitor: Browser, path: str) -> bool:
    """Whether it is answered as a link that was never made."""
    answer, guessed = visitor.get(path), visitor.get(f"/s/{'x' * 43}")
    assert _MOVING.sub("", answer.text) == _MOVING.sub("", guessed.text)
    assert "This link does not work" in answer.text
    return answer.status_code == 404 == guessed.status_code


@both_databases
def test_a_document_is_read_by_somebody_outside(people: People, program: Program, shelf: list[str]) -> None:
    visitor, link = people.visitor(), _share(program, f"/documents/{shelf[0]}")
    answer = visitor.get(link)
    assert answer.status_code == 200
    assert (RYE in answer.text, "<em>stones</em>" in answer.text) == (True, True)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "noindex" in answer.headers["X-Robots-Tag"]
    assert answer.headers["Cache-Control"] == "no-store"
    for word in ("Our secret remark", "Ours", "ana@example.org", "open</", "/documents/", "tests"):
        assert word not in answer.text.replace(f"{link}/documents/", ""), word
    assert visitor.get(f"{link}/documents/{shelf[0]}").status_code == 200
    assert _is_nothing(visitor, f"{link}/documents/{shelf[1]}")
    assert _is_nothing(visitor, f"{link}/documents/{uuid4()}")
    assert _is_nothing(visitor, f"{link}/documents/{shelf[0]}/original")


@both_databases
def test_a_view_shows_what_it_matches_now_and_nothing_else(people: People, program: Program, shelf: list[str]) -> None:
    view = _view(program)
    visitor, link = people.visitor(), _share(program, view)
    page = visitor.get(link).text
    assert "first.md" in page
    assert "note-002" not in page
    assert "Inner name" not in page
    assert RYE in visitor.get(f"{link}/documents/{shelf[0]}").text
    assert _is_nothing(visitor, f"{link}/documents/{shelf[1]}")
    program.send("PATCH", f"/documents/{shelf[1]}", json={"tags": ["open"]})
    program.send("PATCH", f"/documents/{shelf[0]}", json={"tags": []})
    assert "first.md" not in visitor.get(link).text
    assert _is_nothing(visitor, f"{link}/documents/{shelf[0]}")
    assert visitor.get(f"{link}/documents/{shelf[1]}").status_code == 200
    program.send("PATCH", view, json={"query": "tag:nowhere"})
    assert "shows no documents" in visitor.get(link).text
    assert program.send("DELETE", view).status_code == 204
    assert _is_nothing(visitor, link)


@both_databases
def test_what_lies_in_the_bin_vanishes_at_once(people: People, program: Program, shelf: list[str]) -> None:
    visitor, of_view = people.visitor(), _share(program, _view(program), original=True)
    link = _share(program, f"/documents/{shelf[0]}", original=True)
    assert program.send("DELETE", f"/documents/{shelf[0]}").status_code == 204
    for path in (link, f"{link}/documents/{shelf[0]}", f"{link}/documents/{shelf[0]}/original"):
        assert _is_nothing(visitor, path)
    assert "first.md" not in visitor.get(of_view).text
    assert _is_nothing(visitor, f"{of_view}/documents/{shelf[0]}/original")
    assert program.post(f"/documents/{shelf[0]}/restore").status_code == 200
    assert RYE in visitor.get(link).text


@both_databases
def test_a_link_that_is_revoked_expired_or_guessed_is_one_and_the_same(
    app: Flask, people: People, program: Program, shelf: list[str]
) -> None:
    visitor, target = people.visitor(), f"/documents/{shelf[0]}"
    link = _share(program, target)
    assert visitor.get(link).status_code == 200
    [share] = _links(program, target)
    assert program.send("DELETE", f"/shares/{share['id']}").status_code == 204
    assert program.send("DELETE", f"/shares/{share['id']}").status_code == 404
    assert _is_nothing(visitor, link)
    link = _share(program, target)
    with app.app_context(), transaction(program.org_id) as opened:
        past = {"created_at": after(-100), "expires_at": after(-1)}
        opened.execute(update(ShareLink).where(ShareLink.revoked_at.is_(None)).values(past))
    assert _is_nothing(visitor, link)
    assert _links(program, target) == []
    for guess in ("x", "%00", "a" * 2000, "..", "%F0%9F%99%88"):
        assert _is_nothing(visitor, f"/s/{guess}")


@pytest.mark.parametrize("kind", [{"Accept": HTML}, HX, JSON])
def test_a_secret_opens_no_other_route(
    app: Flask, people: People, program: Program, shelf: list[str], kind: dict[str, str]
) -> None:
    """As the cookie of a session, as a token, and with the cookies that the page gave."""
    link = _share(program, f"/documents/{shelf[0]}", original=True)
    secret = link.removeprefix("/s/")
    ids = {"document_id": shelf[0], "share_id": _links(program)[0]["id"]}
    visitor = people.visitor()
    assert visitor.get(link).status_code == 200
    visitor.client.set_cookie("docmill_session", secret)
    walked = 0
    for rule in app.url_map.iter_rules():
        if access_of(app, rule.endpoint) is Access.PUBLIC:
            continue
        path = re.sub(r"<uuid:(\w+)>", lambda found: str(ids.get(found[1], UUID(int=1))), rule.rule)
        path = re.sub(r"<int:\w+>", "1", path).replace("<stage>", "process_document").replace("<kind>", "analysis")
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            for headers in (kind, {**kind, "Authorization": f"Bearer {secret}"}):
                answer = visitor.client.open(path, method=method, headers=headers)
                is_sent_away = answer.status_code == 303 and answer.location.startswith("/sign-in")
                assert answer.status_code == 401 or is_sent_away, f"{method} {rule} {answer.status_code}"
                walked += 1
    assert walked > 200
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert visitor.client.open(link, method=method, headers=kind).status_code == 405


def test_another_link_opens_no_document_of_this_one(people: People, program: Program, shelf: list[str]) -> None:
    visitor = people.visitor()
    first, second = (_share(program, f"/documents/{shelf[at]}", original=True) for at in (0, 1))
    assert visitor.get(f"{first}/documents/{shelf[0]}/original").status_code == 200
    assert _is_nothing(visitor, f"{second}/documents/{shelf[0]}")
    assert _is_nothing(visitor, f"{second}/documents/{shelf[0]}/original")


def test_a_signed_in_person_of_another_org_sees_no_more_than_a_guest(
    people: People, program: Program, shelf: list[str]
) -> None:
    other = people.browser("ops", org="Theirs", email="their@example.org")
    link = _share(program, f"/documents/{shelf[0]}")
    page = other.get(link).text
    assert RYE in page
    assert "their@example.org" not in page
    assert _is_nothing(other, f"{link}/documents/{shelf[1]}")
    assert other.get(f"/documents/{shelf[0]}").status_code == 404
    assert other.get("/account").status_code == 200


@both_databases
def test_openings_are_counted_once_for_each_session_of_a_browser(
    people: People, program: Program, ops: Program, shelf: list[str]
) -> None:
    target = f"/documents/{shelf[0]}"
    link = _share(program, target, name="The accountant")
    first, second = people.visitor(), people.visitor()
    for _ in range(3):
        assert first.get(link).status_code == 200
    assert first.client.head(link).status_code == 200
    assert second.get(f"{link}/documents/{shelf[0]}").status_code == 200
    [share] = _links(program, target)
    assert (share["openings"], share["name"]) == (2, "The accountant")
    assert share["last_opened_at"]
    lines = _log(ops, "share_opened")
    assert [line["actor"]["kind"] for line in lines] == ["link", "link"]
    assert lines[0]["actor"]["name"] == "The accountant"
    assert lines[0]["target"] == f"share:{share['id']}"
    assert "link “<bdi>The accountant" in people.browser("ops", email="op@example.org").get("/ops/security").text


def test_what_a_guest_does_during_a_long_write_is_written_down_afterwards(
    app: Flask, people: People, program: Program, ops: Program, shelf: list[str]
) -> None:
    link, is_writing, may_end = _share(program, f"/documents/{shelf[0]}"), threading.Event(), threading.Event()

    def write() -> None:
        with app.app_context(), write_turn():
            is_writing.set()
            may_end.wait(20)

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write)
        assert is_writing.wait(20)
        assert people.visitor().get(link).status_code == 200
        assert _links(program)[0]["openings"] == 0
        may_end.set()
        writing.result(20)
    later.finish()
    assert _links(program)[0]["openings"] == 1
    assert [line["address"] for line in _log(ops, "share_opened")] == ["127.0.0.1"]


def test_what_brings_no_cookie_does_not_fill_the_log(
    app: Flask, people: People, program: Program, ops: Program, shelf: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.web.rates._OPENINGS_AT_ONCE", 3.0)
    link = _share(program, f"/documents/{shelf[0]}")
    for _ in range(5):
        assert app.test_client().get(link).status_code == 200
    assert _links(program)[0]["openings"] == 5
    assert len(_log(ops, "share_opened")) == 3


def test_downloads_by_a_link_do_not_fill_the_log(
    app: Flask, program: Program, ops: Program, shelf: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.web.rates._OPENINGS_AT_ONCE", 3.0)
    link = _share(program, f"/documents/{shelf[0]}", original=True)
    for _ in range(5):
        with app.test_client().get(f"{link}/documents/{shelf[0]}/original") as answer:
            assert answer.status_code == 200
    assert _links(program)[0]["openings"] == 5
    assert len(_log(ops, "document_downloaded")) == 3


@both_databases
def test_the_original_is_downloaded_only_where_that_was_allowed(
    people: People, program: Program, ops: Program, shelf: list[str]
) -> None:
    visitor = people.visitor()
    without, link = (_share(program, f"/documents/{shelf[0]}", original=each) for each in (False, True))
    assert "Download original" not in visitor.get(without).text
    assert _is_nothing(visitor, f"{without}/documents/{shelf[0]}/original")
    assert "Download original" in visitor.get(link).text
    with visitor.get(f"{link}/documents/{shelf[0]}/original") as answer:
        assert answer.data == NOTES
        assert answer.headers["Content-Disposition"].startswith("attachment")
    [line] = _log(ops, "document_downloaded")
    assert (line["actor"]["kind"], line["target"]) == ("link", f"document:{shelf[0]}")


@both_databases
def test_only_the_hash_of_a_secret_is_stored(app: Flask, program: Program, shelf: list[str]) -> None:
    target = f"/documents/{shelf[0]}/shares"
    answer = program.post(target, json={}, headers={"Idempotency-Key": "once"})
    secret = read_json(answer)["url"].rpartition("/")[2]
    with app.app_context(), reading(program.org_id) as opened:
        row = opened.execute(select(ShareLink.__table__)).one()
        assert secret not in str(row)
        assert opened.scalar(select(func.count()).select_from(IdempotencyKey)) == 0
    assert secret not in program.get(target).text


def test_the_form_makes_a_link_and_shows_it_once(people: People, browser: Browser, shelf: list[str]) -> None:
    target = f"/documents/{shelf[0]}"
    assert f'href="{target}/shares"' in browser.get(target).text
    page = browser.post(f"{target}/shares", {"days": "30", "name": " For  Bo ", "original": "1", "until": ""})
    assert page.status_code == 200
    [path] = set(PATH.findall(page.text))
    again = browser.get(f"{target}/shares").text
    assert (path not in again, "For Bo" in again, "with downloads" in again) == (True, True, True)
    assert people.visitor().get(path).status_code == 200
    assert "For Bo" in browser.get("/shares").text
    [share_id] = re.findall(r'id="share-([0-9a-f-]{36})"', again)
    assert browser.post(f"/shares/{share_id}/revoke").location == f"{target}/shares"
    assert _is_nothing(people.visitor(), path)


def test_a_link_ends_with_the_day_that_was_chosen(program: Program, browser: Browser, shelf: list[str]) -> None:
    target, day = f"/documents/{shelf[0]}", utc_now().date() + timedelta(days=5)
    _share(program, target, until=day.isoformat())
    assert _links(program, target)[0]["expires_at"].startswith(f"{day + timedelta(days=1)}T00:00:00")
    assert browser.post(f"{target}/shares", {"days": "until", "until": day.isoformat()}).status_code == 200
    assert len(_links(program, target)) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"days": 0},
        {"days": 367},
        {"days": True},
        {"days": "soon"},
        {"until": "2020-01-01"},
        {"until": "9999-12-31"},
        {"until": "x"},
        {"until": None},
        {"days": 1, "until": "2026-12-31"},
        {"name": "x" * 101},
        {"name": "a\0b"},
        {"name": 5},
        {"original": "perhaps"},
    ],
)
def test_what_cannot_be_shared_like_that_says_why(program: Program, shelf: list[str], wrong: dict[str, Any]) -> None:
    answer = program.post(f"/documents/{shelf[0]}/shares", json=wrong)
    assert answer.status_code == 422
    assert read_json(answer)["detail"]
    assert _links(program) == []


def test_what_was_typed_stays_where_something_is_wrong(browser: Browser, shelf: list[str]) -> None:
    form = {"days": "until", "until": "2020-01-01", "name": "For Bo", "original": "1"}
    answer = browser.post(f"/documents/{shelf[0]}/shares", form)
    assert answer.status_code == 422
    assert "until must be a day" in answer.text
    assert ('value="For Bo"' in answer.text, 'value="1" checked' in answer.text) == (True, True)


def test_viewers_share_nothing_and_orgs_stay_apart(people: People, program: Program, shelf: list[str]) -> None:
    target = f"/documents/{shelf[0]}"
    _share(program, target)
    share_id = _links(program)[0]["id"]
    viewer, other = people.program("viewer"), people.program("ops", org="Theirs")
    for who, status in ((viewer, 403), (other, 404)):
        assert who.post(f"{target}/shares", json={}).status_code == status
        assert who.get(f"{target}/shares").status_code == status
        assert who.send("DELETE", f"/shares/{share_id}").status_code == status
    assert _links(other) == []
    assert "Share a link" not in people.browser("viewer", email="v@example.org").get(target).text


def test_a_private_view_is_shared_by_its_owner_alone(people: People, browser: Browser, shelf: list[str]) -> None:
    answer = browser.post("/views", {"name": "Mine", "query": "tag:open", "private": "1"})
    view_id = re.findall(r"/views/([0-9a-f-]{36})", browser.get("/views").text)[0]
    assert answer.status_code == 303
    page = browser.post(f"/views/{view_id}/shares", {"days": "1"})
    [path] = set(PATH.findall(page.text))
    assert "first.md" in people.visitor().get(path).text
    colleague = people.browser(email="colleague@example.org")
    assert colleague.get(f"/views/{view_id}/shares").status_code == 404
    assert "Mine" not in colleague.get("/shares").text
    [share_id] = re.findall(r'id="share-([0-9a-f-]{36})"', colleague.get("/shares").text)
    assert colleague.post(f"/shares/{share_id}/revoke").status_code == 404
    ops = people.browser("ops", email="op@example.org")
    assert ops.post(f"/shares/{share_id}/revoke", {"from": "list"}).location == "/shares"
    assert _is_nothing(people.visitor(), path)


@both_databases
def test_the_links_of_a_person_end_when_they_are_deactivated(people: People, ops: Program, shelf: list[str]) -> None:
    member = people.browser()
    page = member.post(f"/documents/{shelf[0]}/shares", {"days": "7"})
    [path] = set(PATH.findall(page.text))
    kept = _share(ops, f"/documents/{shelf[0]}")
    assert ops.send("PATCH", f"/people/{member.user_id}", json={"active": False}).status_code in (200, 409)
    assert _is_nothing(people.visitor(), path)
    assert people.visitor().get(kept).status_code == 200
    assert _log(ops, "user_disabled")[0]["details"]["links_ended"] == 1


def _token(app: Flask, person: Browser) -> tuple[Program, UUID]:
    assert person.org_id
    token_id = new_id()
    with app.app_context(), transaction(person.org_id):
        text = tokens.create(person.org_id, "theirs", Scope.WRITE, owner_id=person.user_id, token_id=token_id)
    return Program(app.test_client(), text, person.org_id), token_id


@both_databases
def test_links_end_with_the_token_that_made_them(
    app: Flask, people: People, program: Program, shelf: list[str]
) -> None:
    member = people.browser()
    token, token_id = _token(app, member)
    target, visitor = f"/documents/{shelf[0]}", people.visitor()
    path, kept = _share(token, target), _share(program, target)
    assert visitor.get(path).status_code == 200
    assert member.post(f"/account/tokens/{token_id}/revoke").status_code == 303
    assert _is_nothing(visitor, path)
    assert visitor.get(kept).status_code == 200


@both_databases
def test_links_end_where_somebody_else_may_have_made_them(
    app: Flask, people: People, program: Program, shelf: list[str]
) -> None:
    people.org("Theirs")
    member, ops = people.browser(), people.browser("ops", email="op@example.org")
    target, visitor = f"/documents/{shelf[0]}", people.visitor()
    form = {"password": "a sentence is good", "password_again": "a sentence is good"}
    ends: list[Callable[[], Any]] = [
        lambda: member.post("/account/password", form | {"end_tokens": "on"}),
        lambda: app.test_cli_runner().invoke(args=["users", "reset", "--org", "Ours", "--email", "ana@example.org"]),
        lambda: ops.post(f"/people/{member.user_id}/link", {"end_all": "1"}),
        lambda: ops.post(f"/people/{member.user_id}/role", {"role": "viewer"}),
    ]
    kept = _share(program, target)
    for end in ends:
        member = people.browser()
        path = _share(_token(app, member)[0], target)
        assert visitor.get(path).status_code == 200
        end()
        assert _is_nothing(visitor, path)
    assert visitor.get(kept).status_code == 200


@both_databases
@pytest.mark.parametrize("what", ["disabled", "viewer", "revoked"])
def test_no_link_is_made_by_who_may_not_write_any_more(
    app: Flask, people: People, program: Program, shelf: list[str], what: str
) -> None:
    """As where they were deactivated while their request was under way."""
    member = people.browser()
    _, token_id = _token(app, member)
    org_id, user_id = program.org_id, member.user_id
    assert user_id
    makers = [f"token:{token_id}"] if what == "revoked" else [f"token:{token_id}", f"user:{user_id}"]
    target = ShareTarget(document_id=UUID(shelf[0]))
    with app.app_context():
        with transaction(org_id):
            for maker in makers:
                shares.add(org_id, target, expires_at=after(60), by=maker)
            user = users.get(org_id, user_id)
            assert user
            if what == "disabled":
                users.disable(user)
            elif what == "viewer":
                users.set_role(user, Role.VIEWER)
            else:
                tokens.revoke(org_id, token_id)
        for maker in makers:
            with pytest.raises(MakerMayNotWrite), transaction(org_id):
                shares.add(org_id, target, expires_at=after(60), by=maker)


def test_with_sharing_off_links_show_nothing_and_none_is_made(
    app: Flask, people: People, program: Program, browser: Browser, shelf: list[str]
) -> None:
    link, target = _share(program, f"/documents/{shelf[0]}"), f"/documents/{shelf[0]}"
    found = services_of(app)
    settings = replace(found.settings, access=replace(found.settings.access, sharing="off"))
    app.extensions["docmill"] = replace(found, settings=settings)
    assert _is_nothing(people.visitor(), link)
    answer = program.post(f"{target}/shares", json={})
    assert (answer.status_code, read_json(answer)["reason"]) == (403, "sharing_off")
    assert browser.get("/shares").status_code == 403


def test_a_long_view_is_listed_in_parts(
    app: Flask, people: People, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.web.sharing.shared_pages._ROWS", 2)
    monkeypatch.setattr("webapp.library.shares._ROWS_AT_ONCE", 2)
    shelve(program, *map(notes, range(5)))
    visitor, link = people.visitor(), _share(program, _view(program, "", sort="name"))
    listed = [re.findall(r"note-\d+\.md</bdi></a>", visitor.get(f"{link}?list={n}").text) for n in (1, 2, 3, 4)]
    assert [[name[:8] for name in part] for part in listed] == [
        ["note-000", "note-001"],
        ["note-002", "note-003"],
        ["note-004"],
        [],
    ]
    assert "list=4" not in visitor.get(f"{link}?list=3").text
    assert visitor.get(f"{link}?list={'9' * 5000}").status_code == 400


def test_a_hostile_document_does_no_harm(app: Flask, people: People, program: Program) -> None:
    use_hashed_words(app)
    text = b"# <script>alert(1)</script>\n\n[away](javascript:alert(1)) [out](/sign-out) <img src=x onerror=alert(1)>\n"
    [document_id] = shelve(program, ("<script>x</script>.md", text))
    work_off(app)
    page = people.visitor().get(_share(program, f"/documents/{document_id}")).text
    article = page[page.index("<article") : page.index("</article>")]
    for harm in ("<script", "<img", 'href="javascript:', 'href="/sign-out"'):
        assert harm not in article, harm
    assert "<h1><bdi>&lt;script&gt;" in page
