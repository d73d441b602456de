"""The tree speaks of the project alone: no machine's paths, no mirror's host, no ticket numbers."""

import re

from tests.guards.sources import ROOT, project_files

# Put together from halves, so that this file passes its own guard.
FOREIGN = re.compile(
    "|".join(
        first + second
        for first, second in (
            ("/wo", "rk/"),
            ("/fa", "rm/"),
            ("/ro", "ot/"),
            ("/home", r"/(?!app/)\w"),
            ("/tm", "p/bash_"),
            ("/tm", "p/brief"),
            (r"\.\./sha", "red"),
            ("registry\\.", "npmjs"),
            ("python", "hosted"),
            ("deb\\.", "debian\\.org"),
            ("pypi\\.", "org/simple"),
            (r"\bissue", r"s? #?\d"),
            (r"\bissues", " show"),
        )
    )
)
BINARY_HINT = b"\0"


def test_no_file_names_a_machine_a_registry_or_a_ticket() -> None:
    found = [
        f"{path}:{number}: {line.strip()[:100]}"
        for path in project_files()
        for number, line in enumerate(_lines(path), start=1)
        if FOREIGN.search(line)
    ]
    assert found == []


def test_the_guard_would_notice() -> None:
    assert FOREIGN.search("see /wo" + "rk/notes.md")
    assert FOREIGN.search("as asked in issue" + " 12")
    assert not FOREIGN.search("an issue of trust, homework, framework/")


def _lines(path: str) -> list[str]:
    content = (ROOT / path).read_bytes()
    return [] if BINARY_HINT in content[:8192] else content.decode("utf-8", errors="replace").splitlines()
