"""The files in deploy/ name settings that exist, hold no secret, run what there is, and wait for a drain."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deployed import DEPLOY, UNITS, app_json, compose, containers, instructions, manifests, procfile, unit
from tests.guards.test_settings_documented import _names
from tests.postgres import ROOT
from webapp.config import Settings

# What is not ours: gunicorn's, Python's, and the image's of PostgreSQL.
OTHERS = {"WEB_CONCURRENCY", "PYTHONDONTWRITEBYTECODE", "POSTGRES_PASSWORD", "POSTGRES_DB"}
SECRET = re.compile(r"PASSWORD|SECRET|KEY|CONNECTION_STRING|DATABASE_\w*URL|REDIS_URL")
COMMANDS = {
    ".venv/bin/flask --app wsgi db upgrade",
    ".venv/bin/gunicorn wsgi:app",
    ".venv/bin/python worker.py",
}
DRAIN_SECONDS = Settings.from_environment({"DATABASE_URL": "postgresql://host/docmill"}).queue.drain_seconds


def _settings_of_compose() -> dict[str, str]:
    services = compose()["services"].values()
    return {name: str(value) for each in services for name, value in each.get("environment", {}).items()}


def _settings_of_cluster() -> dict[str, str]:
    (plain,) = (each["data"] for each in manifests() if each["kind"] == "ConfigMap")
    named = {each["name"]: each.get("value", "") for one in containers() for each in one.get("env", ())}
    return {**plain, **named}


def _settings_of_image() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in instructions("ENV") for pair in line.split())


def _settings_of_app() -> dict[str, str]:
    return {name: entry.get("value", "") for name, entry in app_json()["env"].items()}


EVERYWHERE = {
    "compose": _settings_of_compose,
    "cluster": _settings_of_cluster,
    "image": _settings_of_image,
    "app": _settings_of_app,
}


@pytest.mark.parametrize("place", EVERYWHERE)
def test_each_variable_is_a_setting(place: str) -> None:
    found = set(EVERYWHERE[place]())
    assert found
    assert found - _names(Settings) - OTHERS == set()


@pytest.mark.parametrize("place", EVERYWHERE)
def test_no_file_holds_a_secret(place: str) -> None:
    for name, value in EVERYWHERE[place]().items():
        if SECRET.search(name):
            # Nothing, or what somebody has to bring.
            rest = re.sub(r"\$\{\w+:\?[^}]*\}", "", value)
            assert rest in {"", "postgresql://postgres:@postgres/docmill"}, name


def test_the_example_of_the_database_takes_its_password_from_outside() -> None:
    assert "${POSTGRES_PASSWORD:?" in _settings_of_compose()["DATABASE_URL"]


def test_secrets_of_a_cluster_come_from_its_secret() -> None:
    named = [each for one in containers() for each in one.get("env", ()) if SECRET.search(each["name"])]
    assert len(named) > 3
    assert all(each["valueFrom"]["secretKeyRef"]["name"] == "docmill" for each in named)


def test_only_migrations_are_told_who_owns_the_tables() -> None:
    for one in containers():
        has_all = any("secretRef" in each for each in one.get("envFrom", ()))
        assert has_all == (one["name"] == "migrate")
    for path in UNITS:
        assert ("-/etc/docmill/owner.env" in unit(path)["EnvironmentFile"]) == ("migrate" in path.name)


def test_each_command_is_one_of_those_that_are_walked_through() -> None:
    of_compose = {" ".join(each["command"]) for each in compose()["services"].values() if "command" in each}
    of_cluster = {" ".join(one["command"]) for one in containers()}
    of_units = {unit(path)["ExecStart"][0].removeprefix("/opt/docmill/") for path in UNITS}
    assert of_compose == of_cluster == of_units == COMMANDS


def test_everybody_waits_longer_than_a_drain_takes() -> None:
    least = DRAIN_SECONDS + 10
    for name in ("web", "worker"):
        assert int(compose()["services"][name]["stop_grace_period"].removesuffix("s")) > least
    for each in manifests():
        if each["kind"] == "Deployment":
            assert each["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > least
    for path in UNITS:
        if "migrate" not in path.name:
            assert int(unit(path)["TimeoutStopSec"][0]) > least
    # A dyno is killed after 30 seconds; gunicorn itself takes ten more than the drain.
    assert int(app_json()["env"]["DRAIN_SECONDS"]["value"]) + 10 < 30


def test_a_host_of_dynos_starts_what_the_procfile_has() -> None:
    assert set(app_json()["formation"]) == {"web", "worker"}
    # honcho gives the first line the port that it was asked for.
    assert list(procfile()) == ["web", "worker", "release"]


def test_workers_are_scaled_by_the_age_of_the_oldest_waiting_job() -> None:
    (scaler,) = (each for each in manifests() if each["kind"] == "HorizontalPodAutoscaler")
    assert scaler["spec"]["scaleTargetRef"]["name"] == "docmill-worker"
    (metric,) = scaler["spec"]["metrics"]
    name = metric["external"]["metric"]["name"]
    assert f'"{name}"' in (ROOT / "webapp" / "web" / "ops" / "metrics.py").read_text()
    (worker,) = (
        each for each in manifests() if each["metadata"]["name"] == "docmill-worker" and "template" in each["spec"]
    )
    assert "replicas" not in worker["spec"], "an apply would undo what the autoscaler chose"


def test_each_selector_finds_its_pods() -> None:
    pods = {each["metadata"]["name"]: each for each in manifests() if each["kind"] == "Deployment"}
    for each in pods.values():
        assert each["spec"]["selector"]["matchLabels"] == each["spec"]["template"]["metadata"]["labels"]
    of_web = pods["docmill-web"]["spec"]["selector"]["matchLabels"]
    for each in manifests():
        if each["kind"] == "Service":
            assert each["spec"]["selector"] == of_web
        if each["kind"] == "PodDisruptionBudget":
            assert each["spec"]["selector"]["matchLabels"] == of_web


def test_what_an_image_takes_is_not_ignored() -> None:
    kept = (ROOT / ".containerignore").read_text().splitlines()
    copied = {path.removeprefix("./") for line in instructions("COPY") for path in line.split()[:-1]}
    assert {f"!{path}" for path in copied} == {line for line in kept if line.startswith("!")}
    assert (ROOT / ".dockerignore").read_text() == (ROOT / ".containerignore").read_text()


@pytest.mark.slow
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        if os.environ.get("REQUIRE_SYSTEMD") == "1":
            pytest.fail("REQUIRE_SYSTEMD=1, but there is no systemd-analyze: apt-get install systemd")
        pytest.skip("no systemd-analyze: apt-get install systemd")
    found = []
    for path in UNITS:
        # An instance of the worker, and programs that exist.
        found.append(tmp_path / path.name.replace("@", "@1"))
        found[-1].write_text(path.read_text().replace("/opt/docmill", str(ROOT)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *found], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_guide_names_every_file() -> None:
    guide = (ROOT / "docs" / "deploy.md").read_text()
    for path in (*DEPLOY.glob("*"), *UNITS):
        assert path.name in guide, path.name
