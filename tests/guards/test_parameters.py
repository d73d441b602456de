"""Every parameter that a page reads is one that programs may send."""

import re

from flask import Flask

from tests.guards.sources import ROOT, project_files
from webapp.web.parameters import KNOWN

_READ = re.compile(r"""(?:request\.args|arguments|values)\.get\(\s*"(\w+)\"""")


def test_what_is_read_is_known() -> None:
    known = {name for names in KNOWN.values() for name in names}
    read = {
        name
        for path in project_files()
        if path.startswith("webapp/web/") and path.endswith(".py")
        for name in _READ.findall((ROOT / path).read_text(encoding="utf-8"))
    }
    assert {"q", "cursor", "status"} <= read
    # The version of a static file.
    assert read - known == {"v"}


def test_each_address_exists(app: Flask) -> None:
    assert set(KNOWN) <= {rule.endpoint for rule in app.url_map.iter_rules()}
