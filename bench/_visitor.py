"""A person of an org who has signed in, and opens pages as gunicorn would call them."""

from uuid import UUID

from flask import Flask
from flask.testing import FlaskClient

from webapp.accounts import sign_in, users
from webapp.accounts.roles import Role
from webapp.accounts.sessions import Visit
from webapp.db import transaction


def signed_in(app: Flask, org_id: UUID) -> FlaskClient:
    """A client with the session of an operator of this org."""
    with app.app_context(), transaction(org_id):
        user = users.create(org_id, "bench@example.org", Role.OPERATOR)
    with app.app_context():
        token = sign_in.start_session(user, days=1, visit=Visit(address="127.0.0.1"))
    client = app.test_client()
    client.set_cookie("docmill_session", token)
    return client
