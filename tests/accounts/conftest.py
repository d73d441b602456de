"""An org and somebody in it."""

import pytest
from flask import Flask

from webapp.accounts import orgs, users
from webapp.accounts.model import Org, User
from webapp.accounts.roles import Role
from webapp.db import transaction


@pytest.fixture
def org(bare_app: Flask) -> Org:
    with transaction(everywhere=True):
        return orgs.create("Ours")


@pytest.fixture
def user(org: Org) -> User:
    with transaction(org.id):
        return users.create(org.id, "ana@example.org", Role.MEMBER)
