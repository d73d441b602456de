"""What gunicorn and `flask --app wsgi` load."""

import sys

from webapp.app import create_app
from webapp.config import SettingsError

try:
    app = create_app()
except SettingsError as error:
    # Whoever mistyped a setting needs its sentence, not the way that it took through our code.
    sys.exit(str(error))
