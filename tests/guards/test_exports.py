"""Each table is taken along with a library, or left out for a reason that is written down."""

import importlib
import pkgutil

import webapp
from webapp.db import Base
from webapp.library.exports.rows import BY_NAME, NOT_TAKEN_ALONG


def _tables() -> set[str]:
    for module in pkgutil.walk_packages(webapp.__path__, "webapp."):
        if module.name.endswith("model"):
            importlib.import_module(module.name)
    return set(Base.metadata.tables)


def test_each_table_is_exported_or_left_out_on_purpose() -> None:
    tables = _tables()
    assert {"documents", "users", "incidents", "query_embeddings"} <= tables
    undecided = sorted(tables - BY_NAME.keys() - NOT_TAKEN_ALONG.keys())
    assert undecided == [], "name them in webapp/library/exports/rows.py"
    assert NOT_TAKEN_ALONG.keys() & BY_NAME.keys() == set()
    assert NOT_TAKEN_ALONG.keys() - tables == set()
