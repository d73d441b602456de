"""A program that works off a stage over HTTP, and the org that it works for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from flask import Flask
from sqlalchemy import update
from werkzeug.test import TestResponse

from tests.web.people import People, Program
from tests.web.shelves import read_json, shelve, use_hashed_words
from webapp.db import transaction
from webapp.documents.model import RunEvent
from webapp.jobs.model import Job

EXTRACTION = {"extractor": "mine", "version": "1", "markdown": "# A mill\n\nWheat is ground between stones.\n"}


@dataclass
class Place:
    """An org with a member, who uploads, and a program that works."""

    app: Flask
    people: People
    member: Program
    worker: Program

    def upload(self, text: bytes = b"Wheat is ground between stones.\n", name: str = "mill.txt") -> str:
        (document_id,) = shelve(self.member, (name, text))
        return document_id

    def claim(self, **more: Any) -> list[dict[str, Any]]:
        """The jobs of a claim."""
        answer = self.worker.post("/worker/claim", json={"worker": "w1", "stages": ["process_document"], **more})
        assert answer.status_code == 200, answer.text
        return list(read_json(answer)["jobs"])

    def job(self) -> dict[str, Any]:
        """A new document's job, claimed."""
        self.upload(uuid4().hex.encode(), "some.txt")
        (job,) = self.claim()
        return job

    def send(self, method: str, url: str, body: Any = None) -> TestResponse:
        """A call with a JSON body, or with these bytes."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        return self.worker.send(method, url, data=data)

    def put(self, job: Mapping[str, Any], body: Any = EXTRACTION) -> TestResponse:
        return self.send("PUT", job["result"]["url"], body)

    def call(self, job: Mapping[str, Any], name: str, body: Any = None) -> TestResponse:
        return self.send("PUT" if name == "checkpoint" else "POST", job["calls"][name], body)

    def status(self, document_id: str) -> str:
        return str(read_json(self.member.get(f"/documents/{document_id}"))["status"])

    def jobs(self) -> list[Job]:
        with self.app.app_context(), transaction(everywhere=True) as session:
            found = session.query(Job).order_by(Job.created_at, Job.id).all()
            session.expunge_all()
            return found

    def change(self, **values: Any) -> None:
        """Change all jobs behind everybody's back."""
        with self.app.app_context(), transaction(everywhere=True) as session:
            session.execute(update(Job).values(**values))

    def events(self) -> list[tuple[str, str | None]]:
        with self.app.app_context(), transaction(everywhere=True) as session:
            found = session.query(RunEvent).order_by(RunEvent.created_at, RunEvent.id).all()
            return [(str(event.kind), event.step) for event in found]


def place_of(app: Flask) -> Place:
    """A place in this application."""
    use_hashed_words(app)
    people = People(app)
    return Place(app, people, people.program(), people.program("worker"))
