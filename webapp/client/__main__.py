"""`python -m webapp.client`, which `make setup` installs as .venv/bin/docmill."""

import sys

from webapp.client.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
