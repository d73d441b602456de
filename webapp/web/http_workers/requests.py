"""What programs send, checked: a mistake is answered with a sentence that names it."""

import json
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, TypeVar
from uuid import UUID, uuid4

from flask import request
from msgspec import Meta

from webapp.pipeline.http_workers import job
from webapp.pipeline.http_workers.stages import HTTP_STAGES
from webapp.readers.cleaning import clean_text
from webapp.runs.lifecycle import EndCode
from webapp.typed_json import TypedJson
from webapp.web.errors import Problem
from webapp.web.library.upload_seats import admit_upload

WAIT_SECONDS_MAX = 30
JOBS_MAX = 16
CHECKPOINT_BYTES_MAX = 64 * 1024
RESULT_BYTES_MAX = 32 * 1024 * 1024
RETRY_AFTER_SECONDS_MAX = 86_400

Body = TypeVar("Body", bound=TypedJson)


@dataclass(frozen=True)
class ClaimBody(TypedJson):
    """Which jobs a program wants. A claim that is repeated under the same id gets the same jobs."""

    stages: Annotated[tuple[str, ...], Meta(min_length=1, max_length=20)]
    worker: Annotated[str, Meta(pattern="^[A-Za-z0-9._-]{1,100}$")]
    limit: Annotated[int, Meta(ge=1, le=JOBS_MAX)] = 1
    wait_seconds: Annotated[float, Meta(ge=0, le=WAIT_SECONDS_MAX)] = 0
    claim_id: UUID | None = None

    @property
    def id(self) -> UUID:
        """Its id; one that was not given can't be repeated."""
        return self.claim_id or uuid4()


@dataclass(frozen=True)
class HeartbeatBody(TypedJson):
    """How much of the step is done, if the program knows."""

    progress: Annotated[float, Meta(ge=0, le=1)] | None = None


@dataclass(frozen=True)
class FailBody(TypedJson):
    """Why a program could not do a job."""

    message: Annotated[str, Meta(min_length=1, max_length=2000)]
    code: str = EndCode.HTTP_WORKER_FAILED
    permanent: bool = False
    retry_after_seconds: Annotated[float, Meta(ge=0, le=RETRY_AFTER_SECONDS_MAX)] | None = None


def claim_body() -> ClaimBody:
    """A claim; 422 for a stage that no program may work off."""
    found = _body(ClaimBody)
    if unknown := [stage for stage in found.stages if stage not in HTTP_STAGES]:
        raise Problem(
            422, detail=f"“{unknown[0]}” is no stage for programs. Those there are: {', '.join(HTTP_STAGES)}."
        )
    return found


def heartbeat_body() -> HeartbeatBody:
    """A heartbeat, which may have no body."""
    return _body(HeartbeatBody) if request.content_length else HeartbeatBody()


def fail_body() -> FailBody:
    """A failure; 422 for a code that nobody has a sentence for."""
    found = _body(FailBody)
    if found.code not in job.codes():
        raise Problem(422, detail=f"“{found.code}” is no code of a failure. Those there are: {', '.join(job.codes())}.")
    return replace(found, message=clean_text(found.message))


def checkpoint_body() -> dict[str, Any]:
    """The program's own checkpoint: a JSON object of any content."""
    if len(request.get_data()) > CHECKPOINT_BYTES_MAX:
        raise Problem(413, detail=f"A checkpoint has at most {CHECKPOINT_BYTES_MAX // 1024} KB.")
    return _object()


def result_body(kind: str, wanted: str) -> bytes:
    """The bytes of a result; 422 for a kind that the stage does not write."""
    if kind != wanted:
        raise Problem(422, detail=f"This stage has a result of the kind “{wanted}”, not “{kind}”.")
    # A large body holds a thread while it comes, so it needs a seat.
    admit_upload()
    return request.get_data(cache=False)


def _body(kind: type[Body]) -> Body:
    plain = _object()
    known = [each.name for each in fields(kind)]  # type: ignore[arg-type] # all bodies are dataclasses
    if unknown := [name for name in plain if name not in known]:
        raise Problem(422, detail=f"There is no member “{unknown[0]}”. Those there are: {', '.join(known)}.")
    try:
        return kind.from_plain(plain)
    except ValueError as error:
        raise Problem(422, detail=f"{error}.") from error


def _object() -> dict[str, Any]:
    plain = request.get_json(force=True)
    if not isinstance(plain, dict):
        raise Problem(422, detail="The body must be a JSON object.")
    try:
        # What is stored or quoted has to be text that can be sent again.
        json.dumps(plain, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise Problem(422, detail="A text in the body has half of a character (a lone surrogate).") from error
    except ValueError as error:
        raise Problem(422, detail="The body must be JSON: NaN and Infinity are not.") from error
    except RecursionError as error:
        raise Problem(400, detail="The JSON is nested too deeply.") from error
    return plain
