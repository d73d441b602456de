"""Who asks in the tests of pages: browsers that are signed in, programs with a token, people without either."""

import re
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.web.described import checked
from webapp.accounts import orgs, sign_in, tokens, users
from webapp.accounts.roles import SCOPE_OF_ROLE, Role
from webapp.db import transaction

_CSRF = re.compile(r'<meta name="csrf-token" content="([^"]+)">')
HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
JSON = {"Accept": "application/json"}
HX = {"HX-Request": "true", "Accept": "*/*"}


@dataclass
class Browser:
    """A browser without JavaScript: it takes HTML, keeps cookies and sends a page's forms with their token."""

    client: FlaskClient
    org_id: UUID | None = None
    user_id: UUID | None = None
    headers: dict[str, str] = field(default_factory=lambda: {"Accept": HTML})

    def get(self, path: str, **more: Any) -> TestResponse:
        """Open a page."""
        return self.client.get(path, headers={**self.headers, **more.pop("headers", {})}, **more)

    def post(self, path: str, data: dict[str, Any] | None = None, **more: Any) -> TestResponse:
        """Send a form, with the token that a page of this session carries."""
        form = {"csrf_token": self.csrf(), **(data or {})}
        return self.client.post(path, data=form, headers={**self.headers, **more.pop("headers", {})}, **more)

    def csrf(self) -> str:
        """The token in a page of this session."""
        page = self.get("/account" if self.user_id else "/sign-in", follow_redirects=True).text
        found = _CSRF.search(page)
        assert found, page
        return found[1]


@dataclass
class Program:
    """A client with a bearer token that takes JSON."""

    client: FlaskClient
    token: str
    org_id: UUID

    @property
    def headers(self) -> dict[str, str]:
        """What it sends with each request."""
        return {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}

    def get(self, path: str, **more: Any) -> TestResponse:
        """GET with the token."""
        return self.send("GET", path, **more)

    def post(self, path: str, **more: Any) -> TestResponse:
        """POST with the token."""
        return self.send("POST", path, **more)

    def send(self, method: str, path: str, **more: Any) -> TestResponse:
        """A request with the token, whose answer has to be as the API's description says."""
        headers = {**self.headers, **more.pop("headers", {})}
        return checked(self.client.application, self.client.open(path, method=method, headers=headers, **more))


@dataclass(frozen=True)
class People:
    """Makes them, each with an org of its own unless one is named."""

    app: Flask

    def visitor(self) -> Browser:
        """Nobody in particular."""
        return Browser(self.app.test_client())

    def org(self, name: str = "Ours") -> UUID:
        """The org of this name."""
        with self.app.app_context(), transaction(everywhere=True):
            return orgs.named(name)[0].id

    def browser(self, role: str = "member", org: str = "Ours", email: str = "ana@example.org") -> Browser:
        """Somebody who is signed in."""
        org_id = self.org(org)
        with self.app.app_context():
            with transaction(org_id):
                user = users.find(org_id, email) or users.create(org_id, email, Role(role))
            token = sign_in.start_session(user, days=30)
        client = self.app.test_client()
        client.set_cookie("docmill_session", token)
        return Browser(client, org_id, user.id)

    def program(self, role: str = "member", org: str = "Ours") -> Program:
        """A program with a new token."""
        org_id = self.org(org)
        with self.app.app_context(), transaction(org_id):
            token = tokens.create(org_id, "tests", SCOPE_OF_ROLE[Role(role)])
        return Program(self.app.test_client(), token, org_id)
