"""An emulator of Azure Document Intelligence: `python -m tests.emulators.documentintelligence --port 9002`.

It reads the file that it is sent, so its results are those of this very file. Each operation that it
takes on is on the bill: pages of a content, by model.
"""

import argparse
import base64
import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.emulators import analysis, layout
from tests.emulators.analysis import API_VERSION
from tests.emulators.layout import Unreadable
from tests.emulators.server import Emulator, Fault, Reply, Request

ROOT = "/documentintelligence/"
_ANALYZE = re.compile(ROOT + r"documentModels/(?P<model>[^/:]+):analyze")
_RESULT = re.compile(ROOT + r"documentModels/(?P<model>[^/:]+)/analyzeResults/(?P<id>[^/]+)")
MODELS = frozenset({"prebuilt-layout", "prebuilt-read", "prebuilt-invoice", "prebuilt-receipt", "prebuilt-contract"})


@dataclass
class Operation:
    """Something that was taken on."""

    model: str
    query: Mapping[str, str]
    data: bytes
    ready_at: float
    polls: int = 0
    failure: str | None = None
    is_gone: bool = False
    result: dict[str, Any] | None = field(default=None, repr=False)


class DocumentIntelligence(Emulator):
    """The server. An operation is done after so many polls, and so many seconds."""

    def __init__(self, port: int = 0, *, polls: int = 1, seconds: float = 0.0, retry_after: str | None = "0") -> None:
        self._usual = (polls, seconds, retry_after)
        super().__init__(port)

    def reset(self) -> None:
        super().reset()
        with self.lock:
            self.polls_needed, self.seconds_needed, self.retry_after = self._usual
            self.pages_max: int | None = None
            self.operations: dict[str, Operation] = {}
            self.queries: list[dict[str, str]] = []
            self.content_types: list[str] = []
            self.keeps_running = False

    def expire(self) -> None:
        """Forget the results, as the service does after a day."""
        with self.lock:
            for operation in self.operations.values():
                operation.is_gone = True

    def kind_of(self, request: Request) -> str:
        if request.method == "POST" and _ANALYZE.fullmatch(request.path):
            return "analyze"
        if _RESULT.fullmatch(request.path):
            return "poll" if request.method == "GET" else "delete"
        return request.path.removeprefix(ROOT)

    def is_known(self, request: Request) -> bool:
        return request.headers.get("ocp-apim-subscription-key") == self.key

    def error(self, status: int, request: Request) -> Any:
        # Like some services, it quotes what it was given.
        given = request.headers.get("ocp-apim-subscription-key", "")
        return _error(str(status), f"Something is wrong with the subscription key {given}.")

    def answer(self, kind: str, request: Request) -> Reply:
        if request.query.get("api-version") != API_VERSION:
            return Reply(404, _error("404", "Resource not found"))
        match kind:
            case "analyze":
                return self._analyze(request)
            case "poll":
                return self._poll(request)
            case "delete":
                self._operation(request).is_gone = True
                return Reply(204)
            case "info":
                return Reply(200, {"customDocumentModels": {"count": 0, "limit": 500}})
            case _:
                return Reply(404, _error("404", "Resource not found"))

    def special(self, fault: Fault, reply: Reply) -> Reply:
        """`failed`: the operation that was just taken on will fail · `bad_location`: without a way to poll it."""
        with self.lock:
            if fault.kind == "failed":
                list(self.operations.values())[-1].failure = "InternalServerError"
                return reply
            if fault.kind == "bad_input":
                list(self.operations.values())[-1].failure = "InvalidContent"
                return reply
            if fault.kind == "bad_location":
                return Reply(reply.status, reply.body, {"Operation-Location": "nowhere"})
        return super().special(fault, reply)

    def _analyze(self, request: Request) -> Reply:
        found = _ANALYZE.fullmatch(request.path)
        assert found is not None
        model, data = found["model"], _content(request)
        if refusal := self._refusal(model, data):
            return refusal
        operation_id = str(uuid4())
        with self.lock:
            self.queries.append(dict(request.query))
            self.content_types.append(request.headers.get("content-type", ""))
            ready_at = time.monotonic() + self.seconds_needed
            self.operations[operation_id] = Operation(model, dict(request.query), data, ready_at)
        pages = request.query.get("pages", "all")
        self.pay("analyze", f"{hashlib.sha256(data).hexdigest()}/{model}/{pages}", _units(data, request.query))
        host = request.headers["host"]
        address = f"http://{host}{ROOT}documentModels/{model}/analyzeResults/{operation_id}?api-version={API_VERSION}"
        return Reply(202, None, {"Operation-Location": address, **self._waiting(), "apim-request-id": operation_id})

    def _refusal(self, model: str, data: bytes) -> Reply | None:
        if model not in MODELS:
            return Reply(404, _error("NotFound", "Resource not found.", "ModelNotFound"))
        if b"%PDF-" not in data[:1024]:
            is_known = data.startswith((b"PK", b"\xff\xd8", b"\x89PNG", b"II*\0", b"MM\0*", b"BM"))
            return None if is_known else Reply(400, _error("InvalidRequest", "Invalid request.", "InvalidContent"))
        try:
            layout.page_count(data)
        except Unreadable as error:
            code = "UnsupportedContent" if error.is_locked else "InvalidContent"
            return Reply(400, _error("InvalidRequest", "Invalid request.", code))
        return None

    def _poll(self, request: Request) -> Reply:
        operation = self._operation(request)
        if operation.is_gone:
            return Reply(404, _error("NotFound", "Resource not found.", "OperationNotFound"))
        with self.lock:
            operation.polls += 1
            waits = operation.polls <= self.polls_needed or time.monotonic() < operation.ready_at
        times = {"createdDateTime": "2026-01-01T00:00:00Z", "lastUpdatedDateTime": "2026-01-01T00:00:01Z"}
        if waits or self.keeps_running:
            return Reply(200, {"status": "running", **times}, self._waiting())
        if operation.failure:
            inner = None if operation.failure == "InternalServerError" else operation.failure
            return Reply(200, {"status": "failed", **times, **_error(operation.failure, "It failed.", inner)})
        return Reply(200, {"status": "succeeded", **times, "analyzeResult": self._result(operation)})

    def _result(self, operation: Operation) -> dict[str, Any]:
        if operation.result is None:
            query = dict(operation.query)
            if self.pages_max is not None:
                # The free tier reads the first pages only, and does not say so.
                count = layout.page_count(operation.data)
                numbers = analysis.wanted(query.get("pages"), count)[: self.pages_max]
                query["pages"] = ",".join(map(str, numbers))
            operation.result = analysis.analyze(operation.data, operation.model, query)
        return operation.result

    def _operation(self, request: Request) -> Operation:
        found = _RESULT.fullmatch(request.path)
        assert found is not None
        with self.lock:
            unknown = Operation("", {}, b"", 0, is_gone=True)
            return self.operations.get(found["id"], unknown)

    def _waiting(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": self.retry_after}


def _content(request: Request) -> bytes:
    if "json" not in request.headers.get("content-type", ""):
        return request.body
    return base64.b64decode(json.loads(request.body)["base64Source"])


def _units(data: bytes, query: Mapping[str, str]) -> int:
    if b"%PDF-" not in data[:1024]:
        return 1
    return len(analysis.wanted(query.get("pages"), layout.page_count(data)))


def _error(code: str, message: str, inner: str | None = None) -> dict[str, Any]:
    more = {"innererror": {"code": inner, "message": "The details."}} if inner else {}
    return {"error": {"code": code, "message": message, **more}}


def main() -> None:
    """Run by itself."""
    parser = argparse.ArgumentParser(description="An emulator of Azure Document Intelligence.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--polls", type=int, default=1, help="polls that find an operation still running")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long an operation takes")
    parser.add_argument("--retry-after", default="1")
    given = parser.parse_args()
    server = DocumentIntelligence(given.port, polls=given.polls, seconds=given.seconds, retry_after=given.retry_after)
    server.serve_forever()


if __name__ == "__main__":
    main()
