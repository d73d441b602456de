"""`python -m webapp.client`, which `make setup` installs as .venv/bin/docmill."""

import sys

from webapp.client.commands import main

sys.exit(main(sys.argv[1:]))
