"""An emulator of OpenAI's API: `python -m tests.emulators.openai --port 9001`.

Its vectors are true work: hashed words, so that the same text always gives the same vector and
shared words bring texts together. Further endpoints are further entries in `ENDPOINTS`.
"""

import argparse
import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.emulators import openai_speech
from tests.emulators.server import Emulator, Fault, Reply, Request

Vector = NDArray[np.float64]
NATIVE_DIMENSIONS = 1536
TEXTS_MAX = 2048
# What the service refuses: some four letters are a token of usual text.
TEXT_TOKENS_MAX = 8192
CALL_TOKENS_MAX = 300_000
_WORDS = re.compile(r"\w+")
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded", 404: "model_not_found"}
# Words that mean nearly the same count as one: enough meaning for a test to ask for some.
_MEANINGS = {"warranty": "guarantee", "car": "vehicle", "invoice": "bill"}


class OpenAI(Emulator):
    """The server."""

    def __init__(self, port: int = 0, delay_seconds: float = 0.0) -> None:
        self.delay_seconds = delay_seconds
        super().__init__(port)

    @property
    def base_url(self) -> str:
        """What the setting OPENAI_BASE_URL holds."""
        return f"{self.url}/v1"

    def kind_of(self, request: Request) -> str:
        return request.path.removeprefix("/v1/").split("/")[0]

    def is_known(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {self.key}"

    def error(self, status: int, request: Request) -> Any:
        # Like the service, it quotes what it was given.
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        message = f"Incorrect API key provided: {given}." if status == 401 else f"Something is wrong with {given}."
        return _error(message, _CODES.get(status))

    def answer(self, kind: str, request: Request) -> Reply:
        endpoint = ENDPOINTS.get(f"{request.method} {request.path}")
        return endpoint(self, request) if endpoint else Reply(404, _error("Unknown request URL", "unknown_url"))

    def special(self, fault: Fault, reply: Reply) -> Reply:
        match fault.kind:
            case "wrong_count":
                return Reply(200, {**reply.body, "data": reply.body["data"][:-1]})
            case "wrong_dimensions":
                short = [{**row, "embedding": [1.0, 0.0]} for row in reply.body["data"]]
                return Reply(200, {**reply.body, "data": short})
            case "shuffled":
                return Reply(200, {**reply.body, "data": reply.body["data"][::-1]})
            case "no_direction":
                flat = [{**row, "embedding": [0.0] * NATIVE_DIMENSIONS} for row in reply.body["data"]]
                return Reply(200, {**reply.body, "data": flat})
            case "insufficient_quota":
                return Reply(429, _error("You exceeded your current quota.", "insufficient_quota"))
            case _:
                return openai_speech.special(fault, reply) or super().special(fault, reply)

    def embeddings(self, request: Request) -> Reply:
        """POST /v1/embeddings."""
        asked = json.loads(request.body)
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        if refusal := _refusal(texts):
            return Reply(400, refusal)
        started = time.monotonic()
        for text in texts:
            self.pay("embed", hashlib.sha256(text.encode()).hexdigest(), 1)
        dimensions = asked.get("dimensions") or NATIVE_DIMENSIONS
        encode = _base64 if asked.get("encoding_format") == "base64" else _numbers
        rows = [
            {"object": "embedding", "index": index, "embedding": encode(vector(text, dimensions))}
            for index, text in enumerate(texts)
        ]
        # What the emulator itself takes is a part of the time that a call takes.
        threading.Event().wait(max(0.0, started + self.delay_seconds - time.monotonic()))
        tokens = sum(map(_tokens, texts))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return Reply(200, {"object": "list", "data": rows, "model": asked["model"], "usage": usage})

    def models(self, _: Request) -> Reply:
        """GET /v1/models."""
        known = {"id": "text-embedding-3-small", "object": "model", "created": 1, "owned_by": "emulator"}
        return Reply(200, {"object": "list", "data": [known]})


ENDPOINTS: dict[str, Callable[[OpenAI, Request], Reply]] = {
    "POST /v1/embeddings": OpenAI.embeddings,
    "GET /v1/models": OpenAI.models,
    "POST /v1/audio/transcriptions": openai_speech.transcriptions,
    "POST /v1/chat/completions": openai_speech.chat,
}


def vector(text: str, dimensions: int) -> Vector:
    """A bag of hashed words at unit length; short words count for little."""
    counts = np.zeros(dimensions)
    for word in _WORDS.findall(text.casefold()) or [""]:
        counts[_hash(word) % dimensions] += 1.0 if len(word) > 3 else 0.1
    return counts / np.linalg.norm(counts)


@lru_cache(100_000)
def _hash(word: str) -> int:
    digest = hashlib.blake2b(_MEANINGS.get(word, word).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _base64(values: Vector) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


def _numbers(values: Vector) -> list[float]:
    return [float(value) for value in values]


def _tokens(text: str) -> int:
    return len(text) // 4 + 1


def _refusal(texts: Sequence[str]) -> Any:
    if not texts or len(texts) > TEXTS_MAX or not all(texts):
        return _error("'$.input' is invalid.", None)
    if max(map(_tokens, texts)) > TEXT_TOKENS_MAX:
        return _error(f"This model's maximum context length is {TEXT_TOKENS_MAX} tokens.", "context_length_exceeded")
    if sum(map(_tokens, texts)) > CALL_TOKENS_MAX:
        return _error(f"Requested too many tokens, the limit is {CALL_TOKENS_MAX}.", "max_tokens_per_request")
    return None


def _error(message: str, code: str | None) -> Any:
    kind = code if code == "insufficient_quota" else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def main() -> None:
    """Run by itself."""
    parser = argparse.ArgumentParser(description="An emulator of OpenAI's API.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that each call takes")
    given = parser.parse_args()
    OpenAI(given.port, given.delay).serve_forever()


if __name__ == "__main__":
    main()
