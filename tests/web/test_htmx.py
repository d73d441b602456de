"""What pages and their server say about HTMX: where it is, which hash it must have, and what is missing."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask

from tests.bare import DatabaseUnderTest, dispose, settings_for
from tests.web.people import HTML
from webapp.app import create_app
from webapp.providers.models.htmx import CDN_URL, INTEGRITY, VERSION, copy_path, ensure
from webapp.web.htmx import MISSING

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def htmx_copy() -> Path:
    """The real file; set-up fetches it once."""
    models = ROOT / ".cache" / "models"
    ensure(models)
    return copy_path(models)


@pytest.fixture
def models(htmx_copy: Path, tmp_path: Path) -> Path:
    """A folder that holds the copy alone."""
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(htmx_copy, folder)
    return folder


@contextmanager
def serving(database: DatabaseUnderTest, models: Path, **variables: str) -> Iterator[Flask]:
    data = {"DATABASE_URL": database.url, "MODELS_DIR": str(models), **variables}
    app = create_app(settings_for(models.parent / "data", **data))
    try:
        yield app
    finally:
        dispose(app)


def loader(app: Flask) -> str:
    """The element of the script that loads HTMX."""
    page = app.test_client().get("/sign-in", headers={"Accept": HTML}).text
    assert CDN_URL not in re.sub(r'data-url="[^"]+"', "", page)
    [found] = re.findall(r"<script[^>]*load_htmx[^>]*>", page)
    return str(found)


def test_the_cdns_file_is_pinned_and_the_copy_is_there(sqlite_database: DatabaseUnderTest, models: Path) -> None:
    with serving(sqlite_database, models) as app:
        script = loader(app)
    assert f'data-url="{CDN_URL}" data-integrity="{INTEGRITY}"' in script
    assert f'data-copy="/static/htmx-{VERSION}.min.js"' in script
    assert re.search(r"@\d+\.\d+\.\d+/", CDN_URL)


def test_local_names_no_other_server(sqlite_database: DatabaseUnderTest, models: Path) -> None:
    with serving(sqlite_database, models, HTMX_URL="local") as app:
        script = loader(app)
    assert "data-copy" in script
    assert "data-url" not in script


def test_another_address_must_deliver_the_same_file(sqlite_database: DatabaseUnderTest, models: Path) -> None:
    url = "http://intranet.example/htmx.js"
    with serving(sqlite_database, models, HTMX_URL=url) as app:
        assert f'data-url="{url}" data-integrity="{INTEGRITY}"' in loader(app)


def test_or_one_whose_hash_is_given(sqlite_database: DatabaseUnderTest, models: Path) -> None:
    other = f"sha384-{'A' * 64}"
    with serving(sqlite_database, models, HTMX_URL="/own/htmx.js", HTMX_INTEGRITY=other) as app:
        assert f'data-url="/own/htmx.js" data-integrity="{other}"' in loader(app)


def test_the_copy_is_served_to_anybody_and_kept(
    sqlite_database: DatabaseUnderTest, models: Path, htmx_copy: Path
) -> None:
    with serving(sqlite_database, models) as app:
        answer = app.test_client().get(f"/static/htmx-{VERSION}.min.js")
    assert answer.status_code == 200
    assert answer.data == htmx_copy.read_bytes()
    assert answer.content_type == "text/javascript; charset=utf-8"
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("content", [None, b"", b"alert('not HTMX')"], ids=["missing", "empty", "another"])
def test_a_copy_that_is_not_the_pinned_file_is_not_served(
    sqlite_database: DatabaseUnderTest, models: Path, content: bytes | None
) -> None:
    copy_path(models).unlink()
    if content is not None:
        copy_path(models).write_bytes(content)
    with serving(sqlite_database, models) as app:
        assert "data-copy" not in loader(app)
        assert f'data-url="{CDN_URL}"' in loader(app)
        assert app.test_client().get(f"/static/htmx-{VERSION}.min.js").status_code == 404


def test_the_doctor_is_content_with_a_copy(sqlite_database: DatabaseUnderTest, models: Path) -> None:
    with serving(sqlite_database, models) as app:
        assert "\nhtmx: ok\n" in app.test_cli_runner().invoke(args=["doctor"]).stdout


def test_the_doctor_says_what_depends_on_the_cdn(sqlite_database: DatabaseUnderTest, tmp_path: Path) -> None:
    with serving(sqlite_database, tmp_path / "models") as app:
        result = app.test_cli_runner().invoke(args=["doctor"])
    assert f"\nhtmx: {MISSING}; it comes from {CDN_URL} alone\n" in result.stdout


def test_local_without_a_copy_is_a_fault_that_is_logged(
    sqlite_database: DatabaseUnderTest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(sqlite_database, tmp_path / "models", HTMX_URL="local") as app:
        result = app.test_cli_runner().invoke(args=["doctor"])
        script = loader(app)
    assert result.exit_code == 1
    assert f"\nhtmx: {MISSING}; HTMX_URL=local needs it\n" in result.stdout
    assert "make setup" in caplog.text
    assert "data-" not in script
