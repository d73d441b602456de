"""What the tests of pages share."""

import pytest
from flask import Flask

from tests.bare import DatabaseUnderTest
from tests.web.people import Browser, People, Program


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest) -> DatabaseUnderTest:
    """Pages and routes are the same on every database: one will do, but for tests that are marked `both_databases`."""
    found: DatabaseUnderTest = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.fixture(autouse=True)
def signing_in_is_cheap(cheap_passwords: None) -> None:
    """What a password costs is no business of the pages."""


@pytest.fixture
def people(app: Flask) -> People:
    """Makes the people that a test needs."""
    return People(app)


@pytest.fixture
def browser(people: People) -> Browser:
    """A member who is signed in."""
    return people.browser()


@pytest.fixture
def program(people: People) -> Program:
    """A program with a member's token."""
    return people.program()


@pytest.fixture
def ops(people: People) -> Program:
    """A program with an ops token."""
    return people.program("ops")


@pytest.fixture
def operator(people: People) -> Browser:
    """Somebody who runs the installation, signed in: in the only org, the ops do."""
    return people.browser("ops", email="op@example.org")
