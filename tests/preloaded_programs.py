"""What the programs import, so that the process that they are forked from has it (see preloaded.py)."""

# ruff: noqa: F401 - all of these are for the programs

import gc

import flask.cli
import gunicorn.app.wsgiapp
import gunicorn.arbiter
from sqlalchemy.orm import configure_mappers

import webapp.app
import webapp.logs
import webapp.sandbox.state
import webapp.serving.gunicorn_worker
import webapp.serving.listening
import webapp.web.account.welcome
import webapp.worker.embedded
import webapp.worker.process
import webapp.worker.shutdown

configure_mappers()
# What is here stays in every program: none of them should look through it for garbage.
gc.collect()
gc.freeze()
