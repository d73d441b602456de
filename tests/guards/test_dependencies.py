"""Every dependency is pinned, explained, and under a licence that lets anybody use the whole."""

import re
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from tests.guards.sources import ROOT

FILES = ("requirements.txt", "requirements-dev.txt")
# "GPL", "AGPL" and their long name; not "LGPL", under which a library may be used by anybody.
COPYLEFT = re.compile(r"(?<![L\w])A?GPL|GNU (Affero )?General Public", re.IGNORECASE)


def _requirements(file: str) -> list[Requirement]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]


def _explained() -> set[NormalizedName]:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    return {canonicalize_name(name) for name in re.findall(r"^\| (?!package )(\w[\w.-]*) \|", text, re.MULTILINE)} - {
        "package"
    }


def _closure(names: list[Requirement]) -> set[str]:
    """All that an installation brings with it."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        extras = {"", *requirement.extras}
        if name in found and not requirement.extras:
            continue
        found.add(name)
        inner = [Requirement(line) for line in distribution(name).requires or ()]
        waiting += [one for one in inner if not one.marker or any(one.marker.evaluate({"extra": e}) for e in extras)]
    return found


def _licence(name: str) -> str:
    every = distribution(name).metadata.get_all("Classifier") or []
    classifiers = [line for line in every if line.startswith("License ::")]
    return _field(name, "License-Expression") or "; ".join(classifiers) or _field(name, "License")


def _installed(name: str) -> str:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return "0"


def _field(name: str, field: str) -> str:
    return "; ".join(distribution(name).metadata.get_all(field) or ())


@pytest.mark.parametrize("file", FILES)
def test_every_requirement_is_pinned(file: str) -> None:
    loose = [str(one) for one in _requirements(file) if not re.fullmatch(r"==[\w.]+", str(one.specifier))]
    assert loose == []


def test_every_requirement_is_explained_and_nothing_else_is() -> None:
    asked_for = {canonicalize_name(one.name) for file in FILES for one in _requirements(file)}
    assert _explained() == asked_for


def test_what_is_installed_is_what_is_pinned() -> None:
    pinned = [one for file in FILES for one in _requirements(file)]
    assert [f"{one}: not {_installed(one.name)}" for one in pinned if _installed(one.name) not in one.specifier] == []


def test_no_runtime_package_takes_away_the_freedom_to_combine() -> None:
    licences = {name: _licence(name) for name in _closure(_requirements("requirements.txt"))}
    assert {name: licence for name, licence in licences.items() if not licence or COPYLEFT.search(licence)} == {}


@pytest.mark.parametrize(
    "licence", ["GPL-3.0-only", "AGPL-3.0", "GNU General Public License v2 (GPLv2)", "MIT AND GPLv3"]
)
def test_the_guard_would_notice(licence: str) -> None:
    assert COPYLEFT.search(licence)


@pytest.mark.parametrize(
    "licence", ["LGPL-3.0-only", "MIT", "License :: OSI Approved :: GNU Lesser General Public License"]
)
def test_the_guard_lets_pass(licence: str) -> None:
    assert not COPYLEFT.search(licence)
