"""Orgs, people, sessions, links and tokens, on both databases."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from flask import Flask
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from webapp.accounts import links, orgs, passwords, sessions, sign_in, tokens, users
from webapp.accounts.keys import digest
from webapp.accounts.model import ApiToken, Org, SignInLink, User, UserSession
from webapp.accounts.roles import Permission, Principal, Role, Scope
from webapp.accounts.sessions import Visit
from webapp.accounts.sign_in import SignInRefused
from webapp.accounts.users import BadEmail, EmailTaken
from webapp.clock import after
from webapp.db import reading, session, transaction

pytestmark = pytest.mark.usefixtures("cheap_passwords")

PASSWORD = "a sentence is good"


def _with_password(user: User, password: str = PASSWORD) -> User:
    with transaction(user.org_id):
        users.set_password_hash(user, PasswordHasher(time_cost=1, memory_cost=8192).hash(password.encode()))
    return user


def _find_session(token: str) -> Principal | None:
    with reading(everywhere=True):
        found = sessions.find(token)
    return found.principal if found else None


def test_an_orgs_name_is_unique(org: Org) -> None:
    with pytest.raises(IntegrityError), transaction(everywhere=True):
        orgs.create("Ours")
    with transaction(everywhere=True):
        found, is_new = orgs.named("Ours")
        assert (found.id, is_new) == (org.id, False)
        assert orgs.named("New")[1]


@pytest.mark.parametrize(
    "email", ["", "no-at", "two@@x", "a b@x", "a@b\0c", "a@x\nBcc: b@x", "<a@x>", "x" * 300 + "@x"]
)
def test_what_is_no_address_is_refused(org: Org, email: str) -> None:
    with pytest.raises(BadEmail), transaction(org.id):
        users.create(org.id, email, Role.MEMBER)


def test_an_address_is_one_person_of_an_org_however_it_is_spelt(user: User) -> None:
    with pytest.raises(EmailTaken), transaction(user.org_id):
        users.create(user.org_id, "  ANA@Example.org ", Role.OPS)
    with transaction(everywhere=True):
        other = orgs.create("Theirs")
        assert users.create(other.id, "ana@example.org", Role.OPS).id != user.id


def test_a_session_says_who_it_is_and_ends_when_closed(user: User) -> None:
    token = sign_in.start_session(user, days=30)
    who = _find_session(token)
    assert who is not None
    assert (who.org_id, who.org_name, who.role, who.name) == (user.org_id, "Ours", Role.MEMBER, "ana@example.org")
    assert who.is_person
    assert who.session_id is not None
    with transaction(user.org_id):
        sessions.close(user.org_id, who.session_id)
    assert _find_session(token) is None


def test_only_a_hash_of_a_session_is_stored(user: User) -> None:
    token = sign_in.start_session(user, days=30)
    with reading(user.org_id) as database:
        [stored] = database.query(UserSession).all()
    assert stored.token_hash == digest(token)
    assert token not in str(vars(stored))
    assert stored.expires_at - stored.created_at == pytest.approx(timedelta(days=30), abs=timedelta(seconds=5))


def test_a_session_runs_out_and_is_cleared_away(user: User) -> None:
    old = sign_in.start_session(user, days=30)
    with transaction(user.org_id):
        session().execute(update(UserSession).values(expires_at=after(-1)))
    assert _find_session(old) is None
    sign_in.start_session(user, days=30)
    with reading(user.org_id) as database:
        assert database.query(UserSession).count() == 1


@pytest.mark.parametrize("token", ["", "x", "\0", "\udcff", "é" * 5000])
def test_an_invented_session_is_nobody(bare_app: Flask, token: str) -> None:
    assert _find_session(token) is None


def test_somebody_disabled_is_out_at_once(user: User) -> None:
    token = sign_in.start_session(user, days=30)
    _with_password(user)
    with transaction(user.org_id):
        link = links.create(user)
        users.disable(user)
    assert _find_session(token) is None
    assert sign_in.authenticate("ana@example.org", PASSWORD) == []
    with transaction(everywhere=True):
        assert links.use(link) is None


def test_a_password_lets_its_person_in(user: User) -> None:
    _with_password(user)
    assert [found.id for found in sign_in.authenticate(" Ana@Example.org", PASSWORD)] == [user.id]
    assert sign_in.authenticate("ana@example.org", "wrong") == []
    assert sign_in.authenticate("nobody@example.org", PASSWORD) == []
    assert sign_in.authenticate("a\0b@example.org", PASSWORD) == []


def test_without_a_password_no_password_fits(user: User) -> None:
    assert sign_in.authenticate(user.email, "nobody signs in with this") == []


def test_an_old_hash_is_renewed_when_its_person_signs_in(user: User) -> None:
    _with_password(user)
    sign_in.authenticate(user.email, PASSWORD)
    with reading(user.org_id):
        found = users.get(user.org_id, user.id)
    assert found is not None
    assert found.password_hash is not None
    assert not passwords.needs_rehash(found.password_hash)
    assert sign_in.is_password_of(user.org_id, user.id, PASSWORD)


def test_a_hash_is_not_renewed_over_a_password_that_was_set_meanwhile(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_password(user)
    needs_rehash = passwords.needs_rehash

    def set_another(stored: str) -> bool:
        monkeypatch.undo()
        sign_in.set_password(user.org_id, user.id, "another sentence", days=30)
        return True

    monkeypatch.setattr(passwords, "needs_rehash", set_another)
    assert sign_in.authenticate(user.email, PASSWORD) == []
    assert passwords.needs_rehash is needs_rehash
    assert sign_in.is_password_of(user.org_id, user.id, "another sentence")


def test_two_sign_ins_renew_a_hash_at_once(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_password(user)
    needs_rehash = passwords.needs_rehash

    def sign_in_elsewhere(stored: str) -> bool:
        monkeypatch.setattr(passwords, "needs_rehash", needs_rehash)
        assert sign_in.authenticate(user.email, PASSWORD)
        return needs_rehash(stored)

    monkeypatch.setattr(passwords, "needs_rehash", sign_in_elsewhere)
    [found] = sign_in.authenticate(user.email, PASSWORD)
    assert _find_session(sign_in.start_session(found, days=30))


def _forget(user: User) -> None:
    users.set_password_hash(user, "another")


@pytest.mark.parametrize("end", [users.reset, users.disable, _forget])
def test_a_password_that_was_right_a_moment_ago_opens_no_session(user: User, end: Callable[[User], None]) -> None:
    _with_password(user)
    [found] = sign_in.authenticate(user.email, PASSWORD)
    with transaction(user.org_id):
        end(user)
    with pytest.raises(SignInRefused):
        sign_in.start_session(found, days=30)
    with reading(user.org_id) as database:
        assert database.query(UserSession).count() == 0


def test_a_sign_in_waits_for_a_reset_that_is_under_way(bare_app: Flask, user: User) -> None:
    _with_password(user)
    [found] = sign_in.authenticate(user.email, PASSWORD)

    def start() -> str:
        with bare_app.app_context():
            return sign_in.start_session(found, days=30)

    with ThreadPoolExecutor(1) as thread:
        with transaction(user.org_id):
            users.reset(user)
            started = thread.submit(start)
            with pytest.raises(TimeoutError):
                started.result(0.1)
        with pytest.raises(SignInRefused):
            started.result(20)


def test_the_same_email_in_two_orgs_is_two_people(user: User) -> None:
    with transaction(everywhere=True):
        theirs = users.create(orgs.create("Theirs").id, user.email, Role.OPS)
    _with_password(user, "first sentence")
    _with_password(theirs, "second sentence")
    assert [found.id for found in sign_in.authenticate(user.email, "second sentence")] == [theirs.id]
    _with_password(theirs, "first sentence")
    assert {found.id for found in sign_in.authenticate(user.email, "first sentence")} == {user.id, theirs.id}


def test_a_new_password_ends_every_other_session_and_link(user: User) -> None:
    elsewhere = sign_in.start_session(user, days=30)
    with transaction(user.org_id):
        link = links.create(user)
    here = sign_in.set_password(user.org_id, user.id, PASSWORD, days=30)
    assert _find_session(elsewhere) is None
    assert _find_session(here) is not None
    with reading(everywhere=True):
        assert links.find(link) is None


def test_a_link_works_once(user: User) -> None:
    with transaction(user.org_id):
        link = links.create(user)
    with reading(everywhere=True):
        assert links.find(link) is not None
    with transaction(everywhere=True):
        used = links.use(link)
    assert used is not None
    assert used.id == user.id
    with transaction(everywhere=True):
        assert links.use(link) is None


def test_a_link_by_which_more_could_be_done_than_its_maker_may_ends(user: User) -> None:
    with transaction(user.org_id):
        link = links.create(user)
        users.set_role(user, Role.VIEWER)
        assert links.find(link) is not None
    user.role = Role.VIEWER.value
    with transaction(user.org_id):
        users.set_role(user, Role.OPERATOR)
    assert sign_in.start_session_by_link(link, 30, Visit("link")) is None


def test_a_link_used_by_many_at_once_lets_one_in(bare_app: Flask, user: User) -> None:
    with transaction(user.org_id):
        link = links.create(user)
    start, let_in = threading.Barrier(4), []

    def use() -> None:
        with bare_app.app_context():
            start.wait(10)
            with transaction(everywhere=True):
                let_in.append(links.use(link) is not None)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(let_in) == [False, False, False, True]


def test_a_link_runs_out(user: User) -> None:
    with transaction(user.org_id):
        link = links.create(user)
        session().execute(update(SignInLink).values(expires_at=after(-1)))
    with transaction(everywhere=True):
        assert links.use(link) is None


def test_a_token_is_shown_once_and_known_by_its_hash(org: Org) -> None:
    with transaction(org.id):
        text = tokens.create(org.id, "Nightly import", Scope.OPS)
    assert text.startswith("dm_")
    with reading(org.id):
        [stored] = tokens.of_org(org.id)
    assert text.startswith(tokens.mark(stored.id))
    assert text not in str(vars(stored))
    with reading(everywhere=True):
        found = tokens.find(text)
    assert found is not None
    assert (found.principal.org_id, found.principal.role, found.principal.is_person) == (org.id, None, False)
    assert found.principal.may(Permission.OPS)


def test_the_use_of_a_token_is_noted_once_a_minute(org: Org) -> None:
    with transaction(org.id):
        text = tokens.create(org.id, "x", Scope.WRITE)
    assert _is_use_due(text)
    with transaction(org.id):
        [stored] = tokens.of_org(org.id)
        tokens.record_use(org.id, stored.id)
    assert not _is_use_due(text)
    with transaction(org.id):
        session().execute(update(ApiToken).values(last_used_at=after(-61)))
    assert _is_use_due(text)


def _is_use_due(text: str) -> bool:
    with reading(everywhere=True):
        found = tokens.find(text)
    assert found is not None
    return found.is_use_due


def test_a_revoked_token_opens_nothing(org: Org) -> None:
    with transaction(org.id):
        text = tokens.create(org.id, "x", Scope.WRITE)
        [stored] = tokens.of_org(org.id)
        first = tokens.revoke(org.id, stored.id)
    with transaction(org.id):
        assert tokens.revoke(org.id, stored.id) == first
        assert tokens.of_org(org.id) == []
    with reading(everywhere=True):
        assert tokens.find(text) is None


def test_an_org_reaches_only_its_own(user: User) -> None:
    with transaction(everywhere=True):
        theirs = orgs.create("Theirs")
        tokens.create(theirs.id, "x", Scope.WRITE)
        [token] = tokens.of_org(theirs.id)
    with transaction(user.org_id):
        assert tokens.get(user.org_id, token.id) is None
        assert tokens.revoke(user.org_id, token.id) is None
        assert tokens.of_org(user.org_id) == []
        assert users.get(theirs.id, user.id) is None
