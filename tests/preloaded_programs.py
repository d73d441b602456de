"""What the programs import, so that the process that they are forked from has it (see preloaded.py)."""

# ruff: noqa: F401 - all of these are for the programs

import flask.cli
import gunicorn.app.wsgiapp
import gunicorn.arbiter

import webapp.app
import webapp.logs
import webapp.sandbox.state
import webapp.serving.gunicorn_worker
import webapp.serving.listening
import webapp.web.account.welcome
import webapp.worker.embedded
import webapp.worker.process
import webapp.worker.shutdown
