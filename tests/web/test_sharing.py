"""Share links: what somebody outside sees by one, and all that they don't."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
from flask import Flask
from sqlalchemy import func, select, update

from tests.web.databases import both_databases
from tests.web.people import HTML, HX, JSON, People, Program
from tests.web.share_links import RYE, is_nothing, links_of, log_of, make_view, share_link, shelve_three
from tests.web.shelves import NOTES, notes, read_json, shelve, use_hashed_words, work_off
from webapp.accounts.model import IdempotencyKey
from webapp.clock import after
from webapp.db import later, reading, transaction, write_turn
from webapp.documents.share_model import ShareLink
from webapp.web.access import Access, access_of


@pytest.fixture
def shelf(app: Flask, program: Program) -> list[str]:
    return shelve_three(app, program)


@pytest.fixture
def ops(people: People) -> Program:
    return people.program("ops")


@both_databases
def test_a_document_is_read_by_somebody_outside(people: People, program: Program, shelf: list[str]) -> None:
    visitor, link = people.visitor(), share_link(program, f"/documents/{shelf[0]}")
    answer = visitor.get(link)
    assert answer.status_code == 200
    assert (RYE in answer.text, "<em>stones</em>" in answer.text) == (True, True)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "noindex" in answer.headers["X-Robots-Tag"]
    assert answer.headers["Cache-Control"] == "no-store"
    for word in ("Our secret remark", "Ours", "ana@example.org", "open</", "/documents/", "tests"):
        assert word not in answer.text.replace(f"{link}/documents/", ""), word
    assert visitor.get(f"{link}/documents/{shelf[0]}").status_code == 200
    assert is_nothing(visitor, f"{link}/documents/{shelf[1]}")
    assert is_nothing(visitor, f"{link}/documents/{uuid4()}")
    assert is_nothing(visitor, f"{link}/documents/{shelf[0]}/original")


@both_databases
def test_a_view_shows_what_it_matches_now_and_nothing_else(people: People, program: Program, shelf: list[str]) -> None:
    view = make_view(program)
    visitor, link = people.visitor(), share_link(program, view)
    page = visitor.get(link).text
    assert "first.md" in page
    assert "note-002" not in page
    assert "Inner name" not in page
    assert RYE in visitor.get(f"{link}/documents/{shelf[0]}").text
    assert is_nothing(visitor, f"{link}/documents/{shelf[1]}")
    program.send("PATCH", f"/documents/{shelf[1]}", json={"tags": ["open"]})
    program.send("PATCH", f"/documents/{shelf[0]}", json={"tags": []})
    assert "first.md" not in visitor.get(link).text
    assert is_nothing(visitor, f"{link}/documents/{shelf[0]}")
    assert visitor.get(f"{link}/documents/{shelf[1]}").status_code == 200
    program.send("PATCH", view, json={"query": "tag:nowhere"})
    assert "shows no documents" in visitor.get(link).text
    assert program.send("DELETE", view).status_code == 204
    assert is_nothing(visitor, link)


@both_databases
def test_what_lies_in_the_bin_vanishes_at_once(people: People, program: Program, shelf: list[str]) -> None:
    visitor, of_view = people.visitor(), share_link(program, make_view(program), original=True)
    link = share_link(program, f"/documents/{shelf[0]}", original=True)
    assert program.send("DELETE", f"/documents/{shelf[0]}").status_code == 204
    for path in (link, f"{link}/documents/{shelf[0]}", f"{link}/documents/{shelf[0]}/original"):
        assert is_nothing(visitor, path)
    assert "first.md" not in visitor.get(of_view).text
    assert is_nothing(visitor, f"{of_view}/documents/{shelf[0]}/original")
    assert program.post(f"/documents/{shelf[0]}/restore").status_code == 200
    assert RYE in visitor.get(link).text


@both_databases
def test_a_link_that_is_revoked_expired_or_guessed_is_one_and_the_same(
    app: Flask, people: People, program: Program, shelf: list[str]
) -> None:
    visitor, target = people.visitor(), f"/documents/{shelf[0]}"
    link = share_link(program, target)
    assert visitor.get(link).status_code == 200
    [share] = links_of(program, target)
    assert program.send("DELETE", f"/shares/{share['id']}").status_code == 204
    assert program.send("DELETE", f"/shares/{share['id']}").status_code == 404
    assert is_nothing(visitor, link)
    link = share_link(program, target)
    with app.app_context(), transaction(program.org_id) as opened:
        past = {"created_at": after(-100), "expires_at": after(-1)}
        opened.execute(update(ShareLink).where(ShareLink.revoked_at.is_(None)).values(past))
    assert is_nothing(visitor, link)
    assert links_of(program, target) == []
    for guess in ("x", "%00", "a" * 2000, "..", "%F0%9F%99%88"):
        assert is_nothing(visitor, f"/s/{guess}")


@pytest.mark.parametrize("kind", [{"Accept": HTML}, HX, JSON])
def test_a_secret_opens_no_other_route(
    app: Flask, people: People, program: Program, shelf: list[str], kind: dict[str, str]
) -> None:
    """As the cookie of a session, as a token, and with the cookies that the page gave."""
    link = share_link(program, f"/documents/{shelf[0]}", original=True)
    secret = link.removeprefix("/s/")
    ids = {"document_id": shelf[0], "share_id": links_of(program)[0]["id"]}
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
    first, second = (share_link(program, f"/documents/{shelf[at]}", original=True) for at in (0, 1))
    assert visitor.get(f"{first}/documents/{shelf[0]}/original").status_code == 200
    assert is_nothing(visitor, f"{second}/documents/{shelf[0]}")
    assert is_nothing(visitor, f"{second}/documents/{shelf[0]}/original")


def test_a_signed_in_person_of_another_org_sees_no_more_than_a_guest(
    people: People, program: Program, shelf: list[str]
) -> None:
    other = people.browser("ops", org="Theirs", email="their@example.org")
    link = share_link(program, f"/documents/{shelf[0]}")
    page = other.get(link).text
    assert RYE in page
    assert "their@example.org" not in page
    assert is_nothing(other, f"{link}/documents/{shelf[1]}")
    assert other.get(f"/documents/{shelf[0]}").status_code == 404
    assert other.get("/account").status_code == 200


@both_databases
def test_openings_are_counted_once_for_each_session_of_a_browser(
    people: People, program: Program, ops: Program, shelf: list[str]
) -> None:
    target = f"/documents/{shelf[0]}"
    link = share_link(program, target, name="The accountant")
    first, second = people.visitor(), people.visitor()
    for _ in range(3):
        assert first.get(link).status_code == 200
    assert first.client.head(link).status_code == 200
    assert second.get(f"{link}/documents/{shelf[0]}").status_code == 200
    [share] = links_of(program, target)
    assert (share["openings"], share["name"]) == (2, "The accountant")
    assert share["last_opened_at"]
    lines = log_of(ops, "share_opened")
    assert [line["actor"]["kind"] for line in lines] == ["link", "link"]
    assert lines[0]["actor"]["name"] == "The accountant"
    assert lines[0]["target"] == f"share:{share['id']}"
    assert "link “<bdi>The accountant" in people.browser("ops", email="op@example.org").get("/ops/security").text


def test_what_a_guest_does_during_a_long_write_is_written_down_afterwards(
    app: Flask, people: People, program: Program, ops: Program, shelf: list[str]
) -> None:
    link, is_writing, may_end = share_link(program, f"/documents/{shelf[0]}"), threading.Event(), threading.Event()

    def write() -> None:
        with app.app_context(), write_turn():
            is_writing.set()
            may_end.wait(20)

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write)
        assert is_writing.wait(20)
        assert people.visitor().get(link).status_code == 200
        assert links_of(program)[0]["openings"] == 0
        may_end.set()
        writing.result(20)
    later.finish()
    assert links_of(program)[0]["openings"] == 1
    assert [line["address"] for line in log_of(ops, "share_opened")] == ["127.0.0.1"]


def test_what_brings_no_cookie_does_not_fill_the_log(
    app: Flask, people: People, program: Program, ops: Program, shelf: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.web.rates._OPENINGS_AT_ONCE", 3.0)
    link = share_link(program, f"/documents/{shelf[0]}")
    for _ in range(5):
        assert app.test_client().get(link).status_code == 200
    assert links_of(program)[0]["openings"] == 5
    assert len(log_of(ops, "share_opened")) == 3


def test_downloads_by_a_link_do_not_fill_the_log(
    app: Flask, program: Program, ops: Program, shelf: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.web.rates._OPENINGS_AT_ONCE", 3.0)
    link = share_link(program, f"/documents/{shelf[0]}", original=True)
    for _ in range(5):
        with app.test_client().get(f"{link}/documents/{shelf[0]}/original") as answer:
            assert answer.status_code == 200
    assert links_of(program)[0]["openings"] == 5
    assert len(log_of(ops, "document_downloaded")) == 3


@both_databases
def test_the_original_is_downloaded_only_where_that_was_allowed(
    people: People, program: Program, ops: Program, shelf: list[str]
) -> None:
    visitor = people.visitor()
    without, link = (share_link(program, f"/documents/{shelf[0]}", original=each) for each in (False, True))
    assert "Download original" not in visitor.get(without).text
    assert is_nothing(visitor, f"{without}/documents/{shelf[0]}/original")
    assert "Download original" in visitor.get(link).text
    with visitor.get(f"{link}/documents/{shelf[0]}/original") as answer:
        assert answer.data == NOTES
        assert answer.headers["Content-Disposition"].startswith("attachment")
    [line] = log_of(ops, "document_downloaded")
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


def test_a_long_view_is_listed_in_parts(
    app: Flask, people: People, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.web.sharing.shared_pages._ROWS", 2)
    monkeypatch.setattr("webapp.library.shares._ROWS_AT_ONCE", 2)
    shelve(program, *map(notes, range(5)))
    visitor, link = people.visitor(), share_link(program, make_view(program, "", sort="name"))
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
    page = people.visitor().get(share_link(program, f"/documents/{document_id}")).text
    article = page[page.index("<article") : page.index("</article>")]
    for harm in ("<script", "<img", 'href="javascript:', 'href="/sign-out"'):
        assert harm not in article, harm
    assert "<h1><bdi>&lt;script&gt;" in page
