"""The files by which Docmill is deployed, as data."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.postgres import ROOT

DEPLOY = ROOT / "deploy"
UNITS = tuple(sorted((DEPLOY / "systemd").glob("*.service")))
CONTAINERFILE = DEPLOY / "Containerfile"


def procfile() -> dict[str, str]:
    """The command of each kind of process."""
    lines = (ROOT / "Procfile").read_text().splitlines()
    return {name: command.strip() for name, _, command in (line.partition(":") for line in lines)}


def app_json() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "app.json").read_text())
    return found


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def manifests() -> list[dict[str, Any]]:
    """The objects for a cluster."""
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def containers() -> Iterator[dict[str, Any]]:
    """Those of all pods, what runs before the others included."""
    for each in manifests():
        if each["kind"] == "Deployment":
            pod = each["spec"]["template"]["spec"]
            yield from (*pod.get("initContainers", ()), *pod["containers"])


def unit(path: Path) -> dict[str, list[str]]:
    """The entries of a systemd unit; a name may occur more than once."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", path.read_text(), re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def instructions(name: str) -> list[str]:
    """The arguments of each instruction of this name in the Containerfile."""
    return re.findall(rf"^{name} (.+)$", CONTAINERFILE.read_text(), re.MULTILINE)
