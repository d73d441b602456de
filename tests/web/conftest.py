"""What the tests of pages share."""

import pytest
from argon2 import PasswordHasher
from flask import Flask

from tests.bare import DatabaseUnderTest
from tests.web.people import Browser, People, Program
from webapp.accounts import passwords


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest) -> DatabaseUnderTest:
    """Pages and routes are the same on every database: one will do, but for tests that are marked `both_databases`."""
    found: DatabaseUnderTest = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same hashes with parameters that cost nothing; tests/accounts has the real ones."""
    hasher = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", hasher)
    monkeypatch.setattr(passwords, "_NOBODY", hasher.hash("nobody signs in with this"))


@pytest.fixture
def people(app: Flask) -> People:
    """Makes whoever a test needs."""
    return People(app)


@pytest.fixture
def browser(people: People) -> Browser:
    """A member who is signed in."""
    return people.browser()


@pytest.fixture
def program(people: People) -> Program:
    """A program with a member's token."""
    return people.program()
