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
    # A person who mistyped a setting needs the sentence about it, not our traceback.
    sys.exit(str(error))
