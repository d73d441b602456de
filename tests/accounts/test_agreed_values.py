"""Values that all processes of an installation have in common."""

import threading
from pathlib import Path

import pytest
from flask import Flask

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from webapp.accounts.agreed_values import agree
from webapp.app import create_app
from webapp.db import db


@pytest.mark.usefixtures("bare_app")
def test_the_first_proposal_holds() -> None:
    assert agree("colour", "green") == "green"
    assert agree("colour", "red") == "green"
    assert agree("shape", "round") == "round"


def test_processes_that_start_at_once_agree(bare_app: Flask) -> None:
    found: list[str] = []
    start = threading.Barrier(4)

    def propose(number: int) -> None:
        with bare_app.app_context():
            start.wait()
            found.append(agree("colour", str(number)))
            db.session.remove()

    threads = [threading.Thread(target=propose, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_the_secret_of_an_earlier_version_is_kept(database: DatabaseUnderTest, tmp_path: Path) -> None:
    """Cookies that were signed before several machines agreed on a secret stay good."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secret_key").write_text("what an earlier version made\n")
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=database.url, SECRET_KEY=""))
    assert not app.config["SECRET_KEY"]
    app.test_client().get("/healthz")
    assert not app.secret_key, "a monitor needs no database"
    app.test_client().get("/sign-in")
    assert app.config["SECRET_KEY"] == "what an earlier version made"
    dispose(app)
