"""What gunicorn and `flask --app wsgi` load."""

import os
import sys

# Before anything can make a file: what Docmill keeps is nobody else's.
os.umask(0o077)

from webapp.app import create_app
from webapp.config import SettingsError

try:
    app = create_app()
except SettingsError as error:
    # Whoever mistyped a setting needs its sentence, not the way that it took through our code.
    sys.exit(str(error))
