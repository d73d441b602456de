"""What gunicorn and `flask --app wsgi` load."""

from webapp.app import create_app

app = create_app()
