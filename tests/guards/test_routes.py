"""Every route is authorised or listed as public, every form proves where it comes from, every id is one's own."""

import re
from uuid import UUID, uuid4

import pytest
from flask import Flask
from werkzeug.routing import Rule

from tests.bare import DatabaseUnderTest
from tests.guards.sources import ROOT, project_files
from tests.web.databases import both_databases
from tests.web.people import HTML, HX, JSON, Browser, People, Program
from tests.web.work import failed
from webapp.accounts import sessions, tokens
from webapp.clock import after, utc_now
from webapp.db import reading, transaction
from webapp.documents.correction_model import Correction
from webapp.documents.source_model import SourceItem
from webapp.library import bulk, corrections, rules, shares, tag_changes, tags, views, webhooks
from webapp.library.bulk import BulkAction, BulkRequest
from webapp.library.shares import ShareTarget
from webapp.library.sources import registry
from webapp.web.access import Access, access_of
from webapp.web.csrf import FIELD

# Each line here lets everybody on the network in.
PUBLIC = {
    "static",
    "account.sign_in",
    "account.sign_in_link",
    "api.openapi",
    "health.healthz",
    "health.readyz",
    "htmx.script",
    "shared.show",
    "shared.document",
    "shared.original",
}
FOR_OPS = {
    "ops.overview",
    "correction_export.show",
    "jobs.index",
    "throughput.show",
    "jobs.show",
    "job_actions.retry_one",
    "job_actions.retry",
    "job_actions.cancel_one",
    "job_actions.cancel",
    "job_actions.discard_one",
    "job_actions.discard",
    "job_actions.restore_one",
    "job_actions.restore",
    "reprocess.read_again",
    "reprocess.reembed",
    "security.show",
    "sources.index",
    "sources.show",
    "sources.create",
    "sources.change",
    "sources.edit",
    "sources.remove",
    "sources.delete",
    "sources.poll",
    "sources.test",
    "sources.retry",
    "people.index",
    "people.change",
    "people.remove",
    "bin.confirm_empty",
    "bin.empty",
    "deletion.confirm_purge",
    "deletion.purge",
    "deliveries.replay",
    "deliveries.show",
    "webhooks.change",
    "webhooks.create",
    "webhooks.delete",
    "webhooks.edit",
    "webhooks.index",
    "webhooks.remove",
    "webhooks.renew",
    "webhooks.replay",
    "webhooks.show",
    "webhooks.test",
}
FOR_OPS_PEOPLE = {
    "people.invite",
    "people.make_link",
    "people.give_role",
    "people.deactivate",
    "people.reactivate",
    "people.withdraw",
}
FOR_OPERATORS = {"stages.pause", "stages.pause_all", "stages.resume", "stages.resume_all", "stages.limit"}
FOR_MONITORS = {"health.prometheus"}
FOR_UPLOADERS = {"upload.create"}
FOR_READERS = {"mcp.serve"}
FOR_WORKERS = {
    "http_worker.claim",
    "http_worker.read_input",
    "http_worker.heartbeat",
    "http_worker.checkpoint",
    "http_worker.put_result",
    "http_worker.complete",
    "http_worker.fail",
    "http_worker.release",
}
FOR_SHARERS = {"shares.index", "shares.of_document", "shares.of_view"}
FOR_WRITERS = {"deletion.confirm_delete", "reprocess.confirm", "cell.edit", "tags.confirm_delete"} | FOR_SHARERS
FOR_PEOPLE = {
    "account.sign_out",
    "account.show",
    "account.set_password",
    "sessions.end",
    "sessions.end_all",
    "tokens.create",
    "tokens.revoke",
}
_FORM = re.compile(r"<form\b(?P<head>[^>]*)>(?P<body>.*?)</form>", re.DOTALL | re.IGNORECASE)


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest) -> DatabaseUnderTest:
    """Routes know nothing of databases: one will do, but where another's rows must not be found."""
    found: DatabaseUnderTest = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.fixture
def people(app: Flask) -> People:
    """Makes the people that a test needs."""
    return People(app)


def _rules(app: Flask) -> list[Rule]:
    return sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule)


def _url(rule: Rule, ids: dict[str, UUID] | None = None) -> str:
    """The rule's address, with the given ids or invented ones."""
    given = ids or {}
    path = re.sub(r"<uuid:(\w+)>", lambda found: str(given.get(found[1]) or uuid4()), rule.rule)
    path = path.replace("<kind>", "analysis")
    return re.sub(r"<stage>", "process_document", re.sub(r"<int:\w+>", "1", path))


def _methods(rule: Rule) -> list[str]:
    return sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})


def test_what_is_public_is_listed(app: Flask) -> None:
    assert _endpoints(app, Access.PUBLIC) == PUBLIC
    assert _endpoints(app, Access.OPS) == FOR_OPS
    assert _endpoints(app, Access.OPS_PEOPLE) == FOR_OPS_PEOPLE
    assert _endpoints(app, Access.OPERATOR) == FOR_OPERATORS
    assert _endpoints(app, Access.METRICS) == FOR_MONITORS
    assert _endpoints(app, Access.UPLOAD) == FOR_UPLOADERS
    assert _endpoints(app, Access.READ) == FOR_READERS
    assert _endpoints(app, Access.WORKER) == FOR_WORKERS
    assert _endpoints(app, Access.WRITE) == FOR_WRITERS
    assert _endpoints(app, Access.PERSON) == FOR_PEOPLE


def _endpoints(app: Flask, access: Access) -> set[str]:
    return {rule.endpoint for rule in _rules(app) if access_of(app, rule.endpoint) is access}


def test_without_signing_in_nothing_else_can_be_reached(app: Flask) -> None:
    client = app.test_client()
    for rule in _rules(app):
        for method in _methods(rule) if rule.endpoint not in PUBLIC else ():
            answer = client.open(_url(rule), method=method, headers=JSON)
            assert answer.status_code == 401, f"{method} {rule}"
            assert answer.headers["WWW-Authenticate"]
            person = client.open(_url(rule), method=method, headers={"Accept": HTML})
            assert person.location.startswith("/sign-in"), f"{method} {rule}"


def test_a_member_gets_into_no_ops_page(app: Flask, people: People) -> None:
    members = (people.browser(), people.program())
    for rule in _rules(app):
        for method in (
            _methods(rule)
            if rule.endpoint in FOR_OPS | FOR_OPS_PEOPLE | FOR_OPERATORS | FOR_MONITORS | FOR_WORKERS
            else ()
        ):
            for member in members:
                answer = member.client.open(_url(rule), method=method, headers=member.headers)
                assert answer.status_code == 403, f"{method} {rule}"


def test_no_unsafe_request_goes_through_on_a_cookie_alone(app: Flask, people: People) -> None:
    browser = people.browser("ops")
    for rule in _rules(app):
        for method in set(_methods(rule)) - {"GET"} if rule.endpoint not in FOR_WORKERS else ():
            answer = browser.client.open(_url(rule), method=method, headers=JSON)
            assert answer.status_code == 400, f"{method} {rule}"
            assert (answer.json or {}).get("reason") == "csrf", f"{method} {rule}"


def test_nothing_changes_by_looking(app: Flask) -> None:
    """A GET must be repeatable: whatever changes something takes another method."""
    verbs = re.compile(r"(cancel|pause|resume|limit|create|delete|remove|retry|reprocess|revoke|sign_out)")
    suspicious = {
        rule.endpoint
        for rule in _rules(app)
        if "GET" in (rule.methods or ()) and verbs.search(rule.endpoint) and "confirm" not in rule.endpoint
    }
    assert suspicious == set()


def test_every_form_that_changes_something_carries_its_token() -> None:
    forms = 0
    for path in project_files():
        if path.startswith("templates/") and path.endswith(".html"):
            for form in _FORM.finditer((ROOT / path).read_text(encoding="utf-8")):
                if 'method="post"' in form["head"].lower():
                    forms += 1
                    assert "{{ csrf() }}" in form["body"] or FIELD in form["body"], f"{path}: {form['head']}"
    assert forms >= 5


def test_htmx_carries_the_token_from_every_page() -> None:
    base = (ROOT / "templates" / "base.html").read_text(encoding="utf-8")
    assert """<body hx-headers='{"X-CSRFToken": "{{ csrf_token() }}"}'""" in base


@pytest.fixture
def their_ids(app: Flask, people: People) -> dict[str, UUID]:
    """Real ids of another org, by the names that rules give them."""
    work = failed(app, people.org("Theirs"), "secret.pdf")
    theirs = people.program(org="Theirs")
    with app.app_context(), reading(theirs.org_id):
        [token] = tokens.of_org(theirs.org_id)
    person = people.browser(org="Theirs", email="their@example.org")
    assert person.user_id
    with app.app_context(), reading(theirs.org_id):
        [session] = sessions.of_user(theirs.org_id, person.user_id)
    with app.app_context(), transaction(theirs.org_id) as opened:
        own = {"org_id": theirs.org_id, "document_id": work.document_id, "target": "field", "name": "Total", "nth": 0}
        opened.add(correction := Correction(**own, verdict="value", value="1", by="user:theirs"))
        opened.flush()
        correction_id = correction.id
    return {
        "document_id": work.document_id,
        "job_id": work.job_id,
        "run_id": work.run_id,
        "token_id": token.id,
        "session_id": session.id,
        "user_id": person.user_id,
        "lease_id": uuid4(),
        "correction_id": correction_id,
        "operation_id": _operation(app, theirs.org_id),
        **_tag(app, theirs.org_id, work.document_id),
        **_view_and_rule(app, theirs.org_id),
        **_source(app, theirs.org_id),
        **_webhook(app, theirs.org_id),
    }


def _operation(app: Flask, org_id: UUID) -> UUID:
    with app.app_context():
        wanted = BulkRequest(BulkAction.TAG, ids=(), tags=("theirs",))
        return bulk.begin(app.extensions["docmill"].queue, org_id, wanted, "tests")


def _tag(app: Flask, org_id: UUID, document_id: UUID) -> dict[str, UUID]:
    with app.app_context(), transaction(org_id):
        tags.add(org_id, document_id, "theirs")
        [tag_id] = tags.within(org_id, "theirs")
        change_id = tag_changes.paint(org_id, tag_id, "red", "tests")
        assert change_id
    return {"tag_id": tag_id, "change_id": change_id}


def _view_and_rule(app: Flask, org_id: UUID) -> dict[str, UUID]:
    with app.app_context(), transaction(org_id):
        view_id = views.add(org_id, {"name": "theirs", "query": "", "sort": "newest"}, "tests")
        rule = {"name": "theirs", "view_id": view_id, "tags": ["theirs"], "is_on": True}
        share_id, _ = shares.add(org_id, ShareTarget(view_id=view_id), expires_at=after(60), by="tests")
        return {"view_id": view_id, "rule_id": rules.add(org_id, rule, "tests"), "share_id": share_id}


def _source(app: Flask, org_id: UUID) -> dict[str, UUID]:
    with app.app_context(), transaction(org_id) as opened:
        values = {"kind": "folder", "name": "theirs", "place": {"path": "/srv/theirs"}, "after_taking": "leave"}
        source_id = registry.add(org_id, {**values, "interval_seconds": 60}, "tests")
        own = {"org_id": org_id, "source_id": source_id, "key": "a", "version": "1", "name": "theirs.txt"}
        opened.add(item := SourceItem(**own, state="failed", reason="unreadable", ended_at=utc_now()))
        opened.flush()
        return {"source_id": source_id, "item_id": item.id}


def _webhook(app: Flask, org_id: UUID) -> dict[str, UUID]:
    found = app.extensions["docmill"]
    secret = webhooks.make_secret(found.webhook_seal)
    with app.app_context(), transaction(org_id):
        webhooks.add(org_id, secret, "https://example.com/", ["import.done"], "tests")
        delivery_id = webhooks.send_test(found.queue, org_id, secret.webhook_id)
        assert delivery_id
        return {"webhook_id": secret.webhook_id, "delivery_id": delivery_id}


def test_every_name_of_an_id_is_known_here(app: Flask, their_ids: dict[str, UUID]) -> None:
    named = {name for rule in _rules(app) for name in rule.arguments}
    assert named - {"filename", "token", "number", "stage", "kind", "key", "field", "row", "column"} == set(their_ids)


@both_databases
def test_another_orgs_id_is_answered_like_one_that_does_not_exist(
    app: Flask, people: People, their_ids: dict[str, UUID]
) -> None:
    asking = (people.browser("ops"), people.program("ops"))
    tried = 0
    for rule in _rules(app):
        if not rule.arguments & set(their_ids):
            continue
        for who in _askers(rule, people, asking):
            for method in _methods(rule):
                for kind in ({"Accept": HTML}, HX, JSON):
                    tried += 1
                    theirs, unknown = _ask(who, rule, method, kind, their_ids), _ask(who, rule, method, kind, None)
                    assert theirs == unknown, f"{method} {rule} {kind}"
                    assert theirs[0] == 404, f"{method} {rule} {kind}"
    assert tried > 50
    _nothing_of_theirs_was_touched(app, people, their_ids)


def _askers(rule: Rule, people: People, asking: tuple[Browser | Program, ...]) -> tuple[Browser | Program, ...]:
    """Those of our own org who may call this route."""
    if rule.endpoint in FOR_WORKERS:
        return (people.program("worker"),)
    return asking[:1] if rule.endpoint in FOR_PEOPLE | FOR_OPS_PEOPLE else asking


def _ask(
    who: Browser | Program, rule: Rule, method: str, kind: dict[str, str], ids: dict[str, UUID] | None
) -> tuple[int, str]:
    """Status and text, without what differs from answer to answer."""
    headers = {**who.headers, **kind}
    if isinstance(who, Browser) and method != "GET":
        headers["X-CSRFToken"] = who.csrf()
    answer = who.client.open(_url(rule, ids), method=method, headers=headers)
    text = re.sub(r'nonce="[^"]+"', "", answer.text)
    return answer.status_code, re.sub(r'("X-CSRFToken": |content=|value=)"[^"]+"', "", text)


def _nothing_of_theirs_was_touched(app: Flask, people: People, their_ids: dict[str, UUID]) -> None:
    theirs = people.program("ops", org="Theirs")
    document = theirs.get(f"/documents/{their_ids['document_id']}/status").json
    assert document is not None
    assert document["status"] == "FAILED"
    with app.app_context(), reading(theirs.org_id):
        assert any(token.id == their_ids["token_id"] for token in tokens.of_org(theirs.org_id))
        assert corrections.get(theirs.org_id, their_ids["document_id"], their_ids["correction_id"])
