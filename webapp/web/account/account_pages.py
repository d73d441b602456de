"""Signing in and out, the account page, and one's own password."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for

from webapp.accounts import links, orgs, passwords, sessions, sign_in, throttle
from webapp.accounts.audit import Action
from webapp.accounts.links import OpenLink, Purpose
from webapp.accounts.model import User
from webapp.accounts.roles import Principal
from webapp.accounts.sign_in import SignInRefused
from webapp.db import reading, transaction
from webapp.library import shares
from webapp.web import cookies, visitors
from webapp.web.access import current_user, people_only, principal, public, services
from webapp.web.account import proof
from webapp.web.account.account_view import account_page, own_id
from webapp.web.safe_paths import own_path
from webapp.web.security_log import note

pages = Blueprint("account", __name__)

_EMAIL_LENGTH_MAX = 254
_SENTENCES = {
    "wrong": "The e-mail or the password is wrong. Check both and try again.",
    "throttled": "Too many attempts. Wait {minutes} min, then try again.",
    "which_org": "This e-mail belongs to several organisations: choose one and give the password again.",
    "used": "It was used already, has expired, or was replaced by a newer one. Ask for a new one.",
    "length": f"Use {passwords.LENGTH_MIN} characters or more, and not more than {passwords.LENGTH_MAX}.",
    "different": "The two are not the same.",
}


@dataclass(frozen=True)
class _Credentials:
    """What somebody typed to be let in."""

    email: str
    password: str
    org: str
    next: str | None


@pages.route("/sign-in", methods=["GET", "POST"], endpoint="sign_in")
@public
def sign_in_page() -> Response:
    """The form. Who is signed in already goes on to where they wanted to be."""
    if request.method == "POST":
        return _sign_in(_credentials())
    wanted = own_path(request.args.get("next"))
    return _go(wanted) if current_user() else _sign_in_form(_Credentials("", "", "", wanted))


@pages.route("/sign-in/<token>", methods=["GET", "POST"])
@public
def sign_in_link(token: str) -> Response:
    """A one-time link: looking shows a button or a form, since what previews links must not use them up."""
    with reading(everywhere=True):
        link = links.find(token)
    if link is None or request.method == "GET":
        return _link_page(token, link)
    if link.purpose is Purpose.PASSWORD:
        return _set_first_password(token, link)
    days = services().settings.access.session_days
    found = sign_in.start_session_by_link(token, days, visitors.visit("link"))
    return _welcome(*found, None) if found else _link_page(token, None)


@pages.post("/sign-out")
@people_only
def sign_out() -> Response:
    """End this session, here and on the server."""
    who = principal()
    with transaction(who.org_id):
        _close_session(who)
        note(Action.SIGNED_OUT)
    response = _redirect(url_for("account.sign_in"))
    cookies.drop_session(response)
    return response


@pages.get("/account")
@people_only
def show() -> Response:
    """Who one is, where one is signed in, and the tokens."""
    return account_page()


@pages.route("/account/password", methods=["GET", "POST"])
@people_only
def set_password() -> Response:
    """A first or a new password; every other session of this person ends."""
    who, user_id = principal(), own_id()
    has_password = proof.has_password(who.org_id, user_id)
    # A person who came by a link may have forgotten the password; without one, only the session can prove anything.
    is_known = who.came_by_link or (not has_password and who.is_fresh)
    if request.method == "GET":
        return _password_form(has_password, asks=has_password and not is_known)
    errors = _password_errors()
    unproven = proof.error_of_proof(who, is_known=is_known) if not errors else None
    if unproven:
        errors[proof.FIELD] = unproven
    if errors:
        return _password_form(has_password, asks=has_password and not is_known, errors=errors)
    days = services().settings.access.session_days
    ends_tokens = "end_tokens" in request.form
    token = sign_in.set_password(
        who.org_id, user_id, request.form["password"], days, visitors.visit(), ends_tokens=ends_tokens
    )
    if ends_tokens:
        # Afterwards, when no token and no earlier session can make another one.
        with transaction(who.org_id):
            shares.revoke_all_by(who.org_id, user_id)
    response = _redirect(url_for("account.show"))
    cookies.keep_session(response, token, days)
    return response


def _sign_in(given: _Credentials) -> Response:
    network = visitors.network_of(request.remote_addr)
    counters = throttle.counters_of(given.email, network, cookies.known_device(given.email))
    wait_seconds = throttle.admit(counters)
    if wait_seconds is not None:
        return _wait_page(given, wait_seconds)
    matching = sign_in.authenticate(given.email, given.password)
    if not matching:
        sign_in.record_failure(given.email, visitors.visit())
        return _sign_in_form(given, "wrong", status=422)
    throttle.forgive(counters)
    if len(matching) == 1:
        return _let_in(matching[0], given)
    return _let_in_one_of(matching, given)


def _credentials() -> _Credentials:
    form = request.form
    email = form.get("email", "").strip().lower()[:_EMAIL_LENGTH_MAX]
    return _Credentials(email, form.get("password", ""), form.get("org", ""), own_path(form.get("next")))


def _let_in_one_of(matching: Sequence[User], given: _Credentials) -> Response:
    """The same e-mail and password in several orgs: their owner says which."""
    with reading(everywhere=True):
        names = {user.org_id: org.name for user in matching if (org := orgs.get(user.org_id))}
    for user in matching:
        if names.get(user.org_id) == given.org:
            return _let_in(user, given)
    return _sign_in_form(given, "which_org", status=422, org_names=sorted(names.values()))


def _let_in(user: User, given: _Credentials) -> Response:
    """A fresh session, and an end to the one this browser had before."""
    try:
        token = sign_in.start_session(user, services().settings.access.session_days, visitors.visit())
    except SignInRefused:
        sign_in.record_failure(given.email, visitors.visit())
        return _sign_in_form(given, "wrong", status=422)
    return _welcome(user, token, given.next)


def _set_first_password(token: str, link: OpenLink) -> Response:
    """Use a link up with the password that was typed; one that can't be used leaves the link as it is."""
    errors = _password_errors()
    if errors:
        return _link_page(token, link, errors)
    days = services().settings.access.session_days
    found = sign_in.set_first_password(token, request.form["password"], days, visitors.visit("link"))
    return _welcome(*found, None) if found else _link_page(token, None)


def _welcome(user: User, session_token: str, wanted: str | None) -> Response:
    before = current_user()
    if before:
        _close_session(before)
    response = _go(wanted)
    cookies.keep_session(response, session_token, services().settings.access.session_days)
    cookies.keep_device(response, user.email)
    return response


def _close_session(who: Principal) -> None:
    if who.session_id is not None:
        with transaction(who.org_id):
            sessions.close(who.org_id, who.session_id)


def _password_errors() -> dict[str, str]:
    form = request.form
    errors: dict[str, str] = {}
    if not passwords.is_acceptable(form.get("password", "")):
        errors["password"] = _SENTENCES["length"]
    elif form.get("password") != form.get("password_again"):
        errors["password_again"] = _SENTENCES["different"]
    return errors


def _sign_in_form(
    given: _Credentials, error: str | None = None, *, status: int = 200, org_names: Sequence[str] = ()
) -> Response:
    sentence = _SENTENCES[error] if error else None
    page = render_template(
        "account/sign_in.html", next=given.next, email=given.email, error=sentence, org_names=org_names
    )
    return make_response(page, status)


def _wait_page(given: _Credentials, wait_seconds: int) -> Response:
    sentence = _SENTENCES["throttled"].format(minutes=-(-wait_seconds // 60))
    page = render_template("account/sign_in.html", next=given.next, email=given.email, error=sentence)
    return make_response(page, 429, {"Retry-After": str(wait_seconds)})


def _link_page(token: str, link: OpenLink | None, errors: Mapping[str, str] | None = None) -> Response:
    error = None if link else _SENTENCES["used"]
    page = render_template(
        "account/sign_in_link.html",
        token=token,
        error=error,
        link=link,
        errors=errors or {},
        minimum_length=passwords.LENGTH_MIN,
    )
    response = make_response(page, 410 if link is None else 422 if errors else 200)
    # The address is a key: it goes nowhere.
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _password_form(has_password: bool, *, asks: bool, errors: Mapping[str, str] | None = None) -> Response:
    page = render_template(
        "account/set_password.html",
        has_password=has_password,
        asks_password=asks,
        errors=errors or {},
        minimum_length=passwords.LENGTH_MIN,
    )
    return make_response(page, 422 if errors else 200)


def _go(wanted: str | None) -> Response:
    return _redirect(wanted or url_for("library.index"))


def _redirect(path: str) -> Response:
    return make_response(redirect(path, 303))
