"""What is done from a terminal."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import Result
from flask import Flask

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.web.databases import both_databases
from tests.web.people import HTML, People
from tests.web.work import failed, queued
from webapp.accounts import audit
from webapp.app import create_app
from webapp.config import Settings
from webapp.db import reading
from webapp.documents import events
from webapp.jobs.states import JobStatus
from webapp.web.account.welcome import announce, base_url


def _run(app: Flask, *arguments: object, typed: str | None = None) -> Result:
    return app.test_cli_runner().invoke(args=[str(argument) for argument in arguments], input=typed)


def test_a_token_is_printed_alone_and_its_org_is_made(app: Flask) -> None:
    result = _run(app, "tokens", "create", "--org", "Acme", "--role", "ops")
    assert result.exit_code == 0
    token = result.stdout.removesuffix("\n")
    assert token.startswith("dm_")
    assert not set(token) & set(" \n\t")
    assert "“Acme” was made" in result.stderr
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    assert app.test_client().get("/ops", headers=headers).status_code == 200
    again = _run(app, "tokens", "create", "--org", "Acme")
    assert again.stderr == ""
    assert app.test_client().get("/ops", headers={"Authorization": f"Bearer {again.stdout.strip()}"}).status_code == 403


COMMANDS = [
    ("tokens", "create", "--org", "Acme"),
    ("users", "list"),
    ("jobs", "counts"),
    ("documents", "reprocess", "--org", "Acme", "--all"),
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_database_that_does_not_answer_is_a_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    url = "postgresql://docmill:secret-of-the-database@127.0.0.1:1/docmill"
    result = _run(create_app(Settings.from_environment({"DATA_DIR": str(tmp_path), "DATABASE_URL": url})), *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: The database does not answer. Nothing more was done.\n"


@pytest.mark.parametrize("arguments", COMMANDS)
def test_tables_that_are_not_there_are_a_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    app = create_app(Settings.from_environment({"DATA_DIR": str(tmp_path)}))
    result = _run(app, *arguments)
    dispose(app)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.endswith("Run first: flask --app wsgi db upgrade\n")


@both_databases
def test_a_second_org_leaves_nobody_operator_and_that_is_said(app: Flask, people: People) -> None:
    people.browser("ops", org="Ours", email="ana@example.org")
    sentence = "There are several organisations and nobody is operator"
    assert sentence not in _run(app, "doctor").output
    made = _run(app, "tokens", "create", "--org", "Theirs", "--role", "ops")
    assert made.stdout.count("\n") == 1, "the token alone"
    assert sentence in made.stderr
    assert f"warning: {sentence}" in _run(app, "doctor").output
    _run(app, "users", "role", "--org", "Ours", "--email", "ana@example.org", "--role", "operator")
    assert sentence not in _run(app, "tokens", "create", "--org", "Others").stderr
    assert sentence not in _run(app, "doctor").output


def test_tokens_are_listed_and_revoked(app: Flask) -> None:
    token = _run(app, "tokens", "create", "--org", "Acme", "--name", "Nightly").stdout.strip()
    listed = _run(app, "tokens", "list", "--org", "Acme").stdout
    token_id, mark, *rest = listed.strip().split("\t")
    assert token.startswith(mark.rstrip("…"))
    assert rest == ["write", "never used", "no end", "command line", "Nightly"]
    assert token not in listed
    assert _run(app, "tokens", "revoke", "--org", "Acme", token_id).exit_code == 0
    assert app.test_client().get("/documents", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert _run(app, "tokens", "list", "--org", "Acme").stdout == ""


def test_somebody_new_gets_a_link_that_works(app: Flask) -> None:
    result = _run(app, "users", "create", "--org", "Acme", "--email", "Ana@Example.org", "--role", "ops")
    assert result.exit_code == 0
    link = urlsplit(result.stdout.strip())
    assert f"{link.scheme}://{link.netloc}" == "http://127.0.0.1:8000"
    assert app.test_client().get(link.path, headers={"Accept": HTML}).status_code == 200
    assert "ana@example.org can sign in as ops of “Acme”" in result.stderr


def test_somebody_new_may_have_a_password_at_once(app: Flask) -> None:
    typed = "a sentence is good\n"
    arguments = ("users", "create", "--org", "Acme", "--email", "ana@example.org", "--password")
    result = _run(app, *arguments, typed=typed * 2)
    assert result.exit_code == 0
    assert "a sentence is good" not in result.output
    assert "sign-in/" not in result.output
    assert _run(app, "users", "list").stdout == "Acme\tana@example.org\tmember\tpassword\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("users", "create", "--org", "Acme", "--email", "nobody"), "is no e-mail address"),
        (("users", "create", "--org", "Acme", "--email", "ana@example.org", "--role", "king"), "king"),
        (("users", "disable", "--org", "Acme", "--email", "nobody@x"), "has nobody with the address"),
        (("users", "sign-in-link", "--org", "Nowhere", "--email", "nobody@x"), "There is no organisation"),
        (("tokens", "create", "--org", "  "), "needs a name"),
        (("tokens", "list", "--org", "Nowhere"), "There is no organisation"),
        (("tokens", "revoke", "--org", "Acme", "0198a3f0-0000-7000-8000-000000000000"), "has no token"),
        (("jobs", "retry", "--org", "Acme"), "Name the jobs"),
        (("jobs", "list", "--org", "Nowhere"), "There is no organisation"),
    ],
)
def test_mistakes_are_explained(app: Flask, arguments: tuple[str, ...], message: str) -> None:
    _run(app, "tokens", "create", "--org", "Acme")
    result = _run(app, *arguments)
    assert result.exit_code != 0
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_an_email_is_in_an_org_once(app: Flask) -> None:
    arguments = ("users", "create", "--org", "Acme", "--email", "ana@example.org")
    assert _run(app, *arguments).exit_code == 0
    assert "is in “Acme” already" in _run(app, *arguments).stderr


def test_somebody_disabled_is_out_and_gets_no_link(app: Flask, people: People) -> None:
    browser = people.browser()
    arguments = ("--org", "Ours", "--email", "ana@example.org")
    assert urlsplit(_run(app, "users", "sign-in-link", *arguments).stdout).path.startswith("/sign-in/")
    assert _run(app, "users", "disable", *arguments).exit_code == 0
    assert browser.get("/account").status_code == 303
    assert "is disabled" in _run(app, "users", "sign-in-link", *arguments).stderr
    assert _run(app, "users", "list", "--org", "Ours").stdout.endswith("disabled\n")
    assert _run(app, "users", "enable", *arguments).exit_code == 0
    assert _run(app, "users", "sign-in-link", *arguments).exit_code == 0


@both_databases
def test_failed_jobs_are_listed_and_retried(app: Flask, people: People) -> None:
    org_id = people.org()
    first, second = failed(app, org_id, message="bad \x1b[31mred\nline"), failed(app, org_id)
    listed = _run(app, "jobs", "list", "--org", "Ours").stdout
    assert [line.split("\t")[0] for line in listed.splitlines()] == [str(second.job_id), str(first.job_id)]
    assert "\x1b" not in listed
    assert _run(app, "jobs", "retry", "--org", "Ours", first.job_id).exit_code == 0
    refused = _run(app, "jobs", "retry", "--org", "Ours", first.job_id)
    assert (refused.exit_code, "refused" in refused.stderr) == (1, True)
    assert "Retried: 1. Refused: 0." in _run(app, "jobs", "retry", "--org", "Ours", "--all").stderr
    with app.app_context(), reading(org_id):
        assert app.extensions["docmill"].queue.counts(org_id)[JobStatus.PENDING] == 2
        lines = [*events.timeline(org_id, first.document_id), *events.timeline(org_id, second.document_id)]
    asked = [line for line in lines if line.kind == "RETRY_REQUESTED"]
    assert [(line.job_id, line.details) for line in asked] == [
        (work.job_id, {"by": "command line"}) for work in (first, second)
    ]


@both_databases
def test_failures_are_discarded_restored_and_left_out(app: Flask, people: People) -> None:
    org_id = people.org()
    damaged, slow = failed(app, org_id, "a.pdf", code="corrupt"), failed(app, org_id, "b.pdf")

    def listed() -> list[str]:
        lines = _run(app, "jobs", "list", "--org", "Ours").stdout.splitlines()
        return [line.split("\t")[0] for line in lines]

    assert _run(app, "jobs", "discard", "--org", "Ours", slow.job_id).exit_code == 0
    assert listed() == [str(damaged.job_id)]
    assert _run(app, "jobs", "discard", "--org", "Ours", slow.job_id).exit_code == 1
    everything = _run(app, "jobs", "retry", "--org", "Ours", "--all").stderr
    assert "Left out: 1 of \u201cThe file is damaged\u201d (process_document, corrupt)." in everything
    assert "Retried: 0. Refused: 0." in everything
    assert _run(app, "jobs", "restore", "--org", "Ours", slow.job_id).exit_code == 0
    assert listed() == [str(slow.job_id), str(damaged.job_id)]
    assert _run(app, "jobs", "discard", "--org", "Ours").exit_code == 2
    with app.app_context(), reading(org_id):
        log = audit.page(org_id, with_installation=False, limit=10)
    assert [(entry.action, entry.actor_kind) for entry in log] == [
        ("jobs_restored", "command"),
        ("jobs_discarded", "command"),
    ]


def test_another_orgs_job_is_not_retried(app: Flask, people: People) -> None:
    theirs = failed(app, people.org("Theirs"))
    people.org("Ours")
    assert _run(app, "jobs", "retry", "--org", "Ours", theirs.job_id).exit_code == 1


@both_databases
def test_the_doctor_looks_at_all_parts_and_tells_no_secret(app: Flask) -> None:
    result = _run(app, "doctor")
    for line in (
        "database: ok",
        "schema: ok",
        "blobs: ok",
        "extraction: ok",
        "analysis: ok",
        "SANDBOX=auto",
        "sandbox: ok (held: files, network, limits, strays, calls)",
        "jobs: 0 pending",
        "workers: none",
        "vectors: ",
    ):
        assert line in result.stdout
    assert "\nspeech: " in result.stdout
    settings = app.extensions["docmill"].settings
    assert settings.secret_key not in result.output
    assert "SECRET_KEY" not in result.output
    assert "MAX_UPLOAD_MB=512" in result.stdout


def test_the_doctor_says_what_is_wrong(tmp_path: Path) -> None:
    url = "postgresql://nobody:hunter2@127.0.0.1:1/none"
    app = create_app(settings_for(tmp_path, DATABASE_URL=url))
    result = _run(app, "doctor")
    dispose(app)
    assert result.exit_code == 1
    assert "database: The database does not answer." in result.stdout
    assert "hunter2" not in result.output


def _announced(app: Flask, capsys: pytest.CaptureFixture[str]) -> str:
    announce(app)
    return capsys.readouterr().out


def _as_embedded(app: Flask, tmp_path: Path, **variables: str) -> Flask:
    settings = app.extensions["docmill"].settings
    url = settings.database_url
    return create_app(settings_for(tmp_path / "data", DATABASE_URL=url, EXECUTION="embedded", **variables))


def _link_in(text: str) -> str:
    [link] = [line for line in text.splitlines() if "/sign-in/" in line]
    return link


@both_databases
def test_the_first_start_makes_an_owner_and_prints_a_link(
    app: Flask, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does each start at a terminal; a log that others read gets none once somebody has signed in."""
    embedded = _as_embedded(app, tmp_path, PORT="8123")
    link = _link_in(_announced(embedded, capsys))
    assert link.startswith("http://127.0.0.1:8123/sign-in/")
    visitor = People(embedded).visitor()
    assert visitor.post(urlsplit(link).path).location == "/"
    assert "Home" in visitor.get("/account").text
    assert visitor.get("/ops").status_code == 200
    later = _announced(embedded, capsys)
    assert "/sign-in/" not in later
    assert "users sign-in-link --org Home --email owner@localhost" in later
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert _link_in(_announced(embedded, capsys)) != link
    assert _run(embedded, "users", "list").stdout == "Home\towner@localhost\tops\tlink only\n"
    dispose(embedded)


def test_an_org_that_is_there_before_the_first_start_is_the_owners(
    app: Flask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    embedded = _as_embedded(app, tmp_path, PUBLIC_URL="https://docs.example/")
    _run(embedded, "tokens", "create", "--org", "Acme")
    assert _link_in(_announced(embedded, capsys)).startswith("https://docs.example/sign-in/")
    assert _run(embedded, "users", "list").stdout == "Acme\towner@localhost\tops\tlink only\n"
    dispose(embedded)


def test_in_workers_mode_no_link_is_ever_printed(
    tmp_path: Path, postgresql_database: DatabaseUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgresql_database.url
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=url))
    said = _announced(app, capsys)
    assert "users create" in said
    assert "/sign-in/" not in said
    People(app).browser()
    assert "users create" not in _announced(app, capsys)
    dispose(app)


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({"HOST": "0.0.0.0", "PORT": "9000"}, "http://127.0.0.1:9000"),  # noqa: S104 - a setting under test
        ({"HOST": "::1"}, "http://[::1]:8000"),
        ({"PUBLIC_URL": "https://docs.example/"}, "https://docs.example"),
    ],
)
def test_the_address_is_one_that_can_be_opened(tmp_path: Path, variables: dict[str, str], url: str) -> None:
    assert base_url(settings_for(tmp_path, **variables)) == url


@both_databases
def test_the_levers_of_the_queue_are_there_too(app: Flask, people: People) -> None:
    org = people.org("Acme")
    first, second = queued(app, org), queued(app, org)
    failed(app, org)
    assert "process_document: paused" in _run(app, "jobs", "pause", "process_document").stderr
    assert _counts(app)[:2] == ["paused (command line)", "-"]
    assert _run(app, "jobs", "limit", "process_document", "3").exit_code == 0
    assert _run(app, "jobs", "pause", "--all").exit_code == 0
    assert "Paused, no new jobs start" in _run(app, "jobs", "counts").stderr
    for arguments in (("resume", "--all"), ("resume", "process_document")):
        assert _run(app, "jobs", *arguments).exit_code == 0
    assert _counts(app)[:6] == ["open", "3", "2", "0", "0", "1"]
    assert _run(app, "jobs", "limit", "process_document").exit_code == 0
    assert _counts(app, "--org", "Acme")[1] == "-"
    result = _run(app, "jobs", "cancel", "--org", "Acme", first.job_id, second.job_id, second.document_id)
    assert (result.exit_code, result.stdout.count(": cancelled")) == (1, 2)
    assert "Cancelled: 2. Refused: 1." in result.stderr
    assert (
        _run(app, "jobs", "prune").stdout
        == "jobs\t0\noperations\t0\ntag changes\t0\nsource items\t0\ndeliveries\t0\nkeys\t0\naudit\t0\nshare links\t0\n"
    )


def _counts(app: Flask, *more: str) -> list[str]:
    lines = _run(app, "jobs", "counts", *more).stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("process_document\t")]
    return line.split("\t")[1:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pause",), "Name the stages"),
        (("pause", "process_document", "--all"), "Name the stages"),
        (("resume", "brew_coffee"), "There is no stage"),
        (("limit", "*", "4"), "There is no stage"),
        (("limit", "process_document", "0"), "not in the range"),
        (("cancel", "--org", "Acme"), "Name the jobs"),
    ],
)
def test_a_lever_that_is_none_is_refused(app: Flask, people: People, arguments: tuple[str, ...], message: str) -> None:
    people.org("Acme")
    result = _run(app, "jobs", *arguments)
    assert result.exit_code != 0
    assert message in result.output
