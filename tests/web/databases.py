"""On which databases the tests of pages run: see the fixture `database` beside this file."""

import pytest

# For what asks the database in its own way, or must not ask it more often than it does.
both_databases = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
