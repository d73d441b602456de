"""Signing in and out, one's own password, and the API tokens of one's org."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv6Address, ip_address, ip_network
from uuid import UUID

from flask import Blueprint, Response, current_app, make_response, redirect, render_template, request, url_for

from webapp.accounts import links, orgs, passwords, sessions, sign_in, tokens, users
from webapp.accounts.model import ApiToken, User
from webapp.accounts.roles import Principal, Role
from webapp.accounts.throttle import SignInThrottle
from webapp.db import reading, transaction
from webapp.web import cookies
from webapp.web.access import current_user, people_only, principal, public, services
from webapp.web.errors import Problem
from webapp.web.safe_paths import own_path

pages = Blueprint("account", __name__)

_EMAIL_LENGTH_MAX = 254
_SENTENCES = {
    "wrong": "This e-mail and password do not go together. Check both and try again.",
    "throttled": "Too many attempts. Wait {minutes} min, then try again.",
    "which_org": "This e-mail belongs to several organisations: choose one and give the password again.",
    "used": "It was used before or has run out. Ask for a new one.",
    "current_wrong": "This is not your current password.",
    "length": f"Use {passwords.LENGTH_MIN} characters or more, and not more than {passwords.LENGTH_MAX}.",
    "different": "The two are not the same.",
    "token_name": f"Give it a name of up to {tokens.NAME_LENGTH_MAX} characters.",
    "token_role": "You cannot give this role.",
}


@dataclass(frozen=True)
class TokenRow:
    """A token as its org sees it: how it begins, never what it is."""

    id: UUID
    name: str
    prefix: str
    role: str
    created_at: datetime
    last_used_at: datetime | None


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
    """A one-time link: looking shows a button, since what previews links must not use them up."""
    if request.method == "POST":
        with transaction(everywhere=True):
            user = links.use(token)
        return _let_in(user, None) if user else _link_page(token, is_usable=False)
    with reading(everywhere=True):
        is_usable = links.is_usable(token)
    return _link_page(token, is_usable=is_usable)


@pages.post("/sign-out")
@people_only
def sign_out() -> Response:
    """End this session, here and on the server."""
    _close_session(principal())
    response = _redirect(url_for("account.sign_in"))
    cookies.drop_session(response)
    return response


@pages.get("/account")
@people_only
def show() -> Response:
    """Who one is, and the tokens of one's org."""
    return _account_page()


@pages.route("/account/password", methods=["GET", "POST"])
@people_only
def set_password() -> Response:
    """A first or a new password; every other session of this person ends."""
    who, user_id = principal(), _own_id()
    has_password = _has_password(who.org_id, user_id)
    if request.method == "GET":
        return _password_form(has_password, {})
    errors = _password_errors()
    if has_password and not _knows_password(who, user_id):
        errors["current_password"] = _SENTENCES["current_wrong"]
    if errors:
        return _password_form(has_password, errors)
    days = services().settings.session_days
    token = sign_in.set_password(who.org_id, user_id, request.form["password"], days)
    response = _redirect(url_for("account.show"))
    cookies.keep_session(response, token, days)
    return response


@pages.post("/account/tokens")
@people_only
def create_token() -> Response:
    """A new token. It is in this answer and nowhere else, so the answer is the page itself."""
    who = principal()
    name, role = request.form.get("name", "").strip(), request.form.get("role") or Role.MEMBER
    errors = {}
    if not name or len(name) > tokens.NAME_LENGTH_MAX or not name.isprintable():
        errors["name"] = _SENTENCES["token_name"]
    if role not in who.role.may_give:
        errors["role"] = _SENTENCES["token_role"]
    if errors:
        return _account_page(errors=errors)
    with transaction(who.org_id):
        new_token = tokens.create(who.org_id, name, Role(role))
    return _account_page(new_token=new_token)


@pages.post("/account/tokens/<uuid:token_id>/revoke")
@people_only
def revoke_token(token_id: UUID) -> Response:
    """End a token. A member may end what a member may make."""
    who = principal()
    with transaction(who.org_id):
        token = tokens.get(who.org_id, token_id)
        if token is None:
            raise Problem(404)
        if token.role not in who.role.may_give:
            raise Problem(403, "ops_only")
        tokens.revoke(who.org_id, token_id)
    return _redirect(url_for("account.show"))


def _sign_in(given: _Credentials) -> Response:
    throttle, address = _throttle(), _network(request.remote_addr)
    wait_seconds = throttle.admit(given.email, address)
    if wait_seconds is not None:
        return _wait_page(given, wait_seconds)
    matching = sign_in.authenticate(given.email, given.password)
    if not matching:
        return _sign_in_form(given, "wrong", status=422)
    throttle.forgive(given.email, address)
    if len(matching) == 1:
        return _let_in(matching[0], given.next)
    return _let_in_one_of(matching, given)


def _throttle() -> SignInThrottle:
    found: SignInThrottle = current_app.extensions["docmill_sign_in_throttle"]
    return found


def _credentials() -> _Credentials:
    form = request.form
    email = form.get("email", "").strip().lower()[:_EMAIL_LENGTH_MAX]
    return _Credentials(email, form.get("password", ""), form.get("org", ""), own_path(form.get("next")))


def _network(address: str | None) -> str:
    """Whom failures are counted against: one who has an IPv6 address has a whole network of them."""
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return address or ""
    return str(ip_network((parsed, 64), strict=False)) if isinstance(parsed, IPv6Address) else str(parsed)


def _let_in_one_of(matching: Sequence[User], given: _Credentials) -> Response:
    """The same e-mail and password in several orgs: their owner says which."""
    with reading(everywhere=True):
        names = {user.org_id: org.name for user in matching if (org := orgs.get(user.org_id))}
    for user in matching:
        if names.get(user.org_id) == given.org:
            return _let_in(user, given.next)
    return _sign_in_form(given, "which_org", status=422, org_names=sorted(names.values()))


def _let_in(user: User, wanted: str | None) -> Response:
    """A fresh session, and an end to the one this browser had before."""
    before = current_user()
    if before:
        _close_session(before)
    days = services().settings.session_days
    response = _go(wanted)
    cookies.keep_session(response, sign_in.start_session(user, days), days)
    return response


def _close_session(who: Principal) -> None:
    if who.session_id is not None:
        with transaction(who.org_id):
            sessions.close(who.org_id, who.session_id)


def _own_id() -> UUID:
    """The person's id; `people_only` has seen to it that there is one."""
    user_id = principal().user_id
    if user_id is None:
        raise Problem(403, "people_only")
    return user_id


def _has_password(org_id: UUID, user_id: UUID) -> bool:
    with reading(org_id):
        user = users.get(org_id, user_id)
    return user is not None and user.password_hash is not None


def _knows_password(who: Principal, user_id: UUID) -> bool:
    """Whether the current password was given. Whoever found an open browser may not guess at it for ever."""
    throttle, key = _throttle(), f"{who.org_id} {who.name}"
    wait_seconds = throttle.admit(key, key)
    if wait_seconds is not None:
        raise Problem(429, headers={"Retry-After": str(wait_seconds)})
    knows = sign_in.is_password_of(who.org_id, user_id, request.form.get("current_password", ""))
    if knows:
        throttle.forgive(key, key)
    return knows


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


def _link_page(token: str, *, is_usable: bool) -> Response:
    error = None if is_usable else _SENTENCES["used"]
    response = make_response(render_template("account/sign_in_link.html", token=token, error=error))
    response.status_code = 200 if is_usable else 410
    # The address is a key: it goes nowhere.
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _password_form(has_password: bool, errors: Mapping[str, str]) -> Response:
    page = render_template(
        "account/set_password.html",
        has_password=has_password,
        errors=errors,
        minimum_length=passwords.LENGTH_MIN,
    )
    return make_response(page, 422 if errors else 200)


def _account_page(new_token: str | None = None, errors: Mapping[str, str] | None = None) -> Response:
    who = principal()
    with reading(who.org_id):
        rows = [_token_row(token) for token in tokens.of_org(who.org_id)]
    page = render_template(
        "account/page.html",
        user=who,
        has_password=_has_password(who.org_id, _own_id()),
        tokens=rows,
        new_token=new_token,
        errors=errors or {},
        roles=[role.value for role in who.role.may_give],
    )
    return make_response(page, 422 if errors else 200)


def _token_row(token: ApiToken) -> TokenRow:
    return TokenRow(token.id, token.name, tokens.mark(token.id), token.role, token.created_at, token.last_used_at)


def _go(wanted: str | None) -> Response:
    return _redirect(wanted or url_for("library.index"))


def _redirect(path: str) -> Response:
    return make_response(redirect(path, 303))
