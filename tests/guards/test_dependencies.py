"""Every dependency is pinned, locked with hashes, explained, and under a licence that lets anybody use the whole."""

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from tests.guards.sources import ROOT

# What we ask for; and all that this brings, made by `make lock`.
FILES = ("requirements.in", "requirements-bullmq.in", "requirements-dev.in", "requirements-models.in")
LOCKED = {file: file.replace(".in", ".txt") for file in FILES}
# The packages that convert the embedding model are installed for that alone, so not here.
INSTALLED = FILES[:3]
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
# "GPL", "AGPL" and their long name; not "LGPL", under which a library may be used by anybody.
COPYLEFT = re.compile(r"(?<![L\w])A?GPL|GNU (Affero )?General Public", re.IGNORECASE)


def _requirements(file: str) -> list[Requirement]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]


def _locked(file: str) -> dict[Requirement, list[str]]:
    """The entries of a locked file and the hashes of each; comments are left out."""
    text = re.sub(r"^ *#.*\n", "", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for entry in text.replace("\\\n", " ").splitlines():
        requirement, *hashes = re.split(r" +(?=--hash)", entry.strip())
        found[Requirement(requirement)] = hashes
    return found


def _pins(requirements: Iterable[Requirement]) -> dict[str, tuple[str, frozenset[str]]]:
    """Version and extras of each, by name."""
    return {canonicalize_name(one.name): (str(one.specifier), frozenset(one.extras)) for one in requirements}


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


@pytest.mark.parametrize("file", FILES)
def test_what_we_ask_for_is_locked_as_it_was_asked_for(file: str) -> None:
    """A list that was changed without `make lock` is reported here."""
    locked = _pins(_locked(LOCKED[file]))
    asked_for = _pins(_requirements(file))
    assert {name: pin for name, pin in asked_for.items() if (locked.get(name) or ("", ""))[0] != pin[0]} == {}
    # uv names who asked for each package; "via" lines of other lists end differently.
    text = (ROOT / LOCKED[file]).read_text(encoding="utf-8")
    entries = re.findall(
        r"^([\w.-]+)(?:\[[^]]*\])?==[^\n]*\n(?:    --hash[^\n]*\n)*    # via ([^\n]*)", text, re.MULTILINE
    )
    assert len(entries) == len(locked)
    named = {name for name, via in entries if f"-r {file}" in via.split(", ")}
    assert named == set(asked_for)


@pytest.mark.parametrize(("file", "least"), list(zip(LOCKED.values(), (50, 7, 100, 4), strict=True)))
def test_every_locked_package_has_one_version_and_the_hashes_of_its_files(file: str, least: int) -> None:
    locked = _locked(file)
    assert len(locked) > least
    assert [str(one) for one in locked if not re.fullmatch(r"==[\w.]+", str(one.specifier))] == []
    assert [str(one) for one, hashes in locked.items() if not hashes or not all(map(HASH.fullmatch, hashes))] == []


def test_the_locked_files_name_the_same_versions() -> None:
    runtime, bullmq, development, models = (_pins(_locked(file)) for file in LOCKED.values())
    assert {name: pin for name, pin in runtime.items() if development.get(name, ("",))[0] != pin[0]} == {}
    assert {name: pin for name, pin in bullmq.items() if development.get(name, ("",))[0] != pin[0]} == {}
    assert {name: pin for name, pin in bullmq.items() if runtime.get(name, pin)[0] != pin[0]} == {}
    assert {name: pin for name, pin in models.items() if runtime.get(name, pin)[0] != pin[0]} == {}


@pytest.mark.parametrize("file", ["requirements-models.in", "requirements-bullmq.in"])
def test_what_not_everybody_needs_is_not_in_production(file: str) -> None:
    asked_for = {canonicalize_name(one.name) for one in _requirements(file)}
    assert asked_for
    assert asked_for & set(_pins(_locked("requirements.txt"))) == set()


@pytest.mark.parametrize("file", INSTALLED)
def test_all_that_an_installation_brings_is_locked(file: str) -> None:
    locked = _pins(_locked(LOCKED[file]))
    assert _closure(_requirements(file)) - set(locked) == set()


def test_what_is_installed_is_what_is_locked() -> None:
    wanted = [one for one in _locked("requirements-dev.txt") if one.marker is None or one.marker.evaluate()]
    assert [f"{one}: not {_installed(one.name)}" for one in wanted if _installed(one.name) not in one.specifier] == []


def test_no_runtime_package_takes_away_the_freedom_to_combine() -> None:
    asked_for = [*_requirements("requirements.in"), *_requirements("requirements-bullmq.in")]
    licences = {name: _licence(name) for name in _closure(asked_for)}
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
