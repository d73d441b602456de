"""Embeddings from OpenAI, or from any server that speaks its protocol.

The client retries nothing; the queue does. Vectors travel as base64, which is a quarter of what
they are as JSON numbers, and are checked before anybody uses them.
"""

import base64
import binascii
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import openai
from numpy.typing import NDArray

from webapp.providers.errors import FailureCode, ProviderError, ProviderUnavailable
from webapp.providers.openai_errors import openai_error
from webapp.providers.vendor_http import redactor

Vector = NDArray[np.float32]

# The service takes 8,192 tokens of a text and 300,000 in a call. No text has more tokens than
# bytes, so counting bytes needs no tokenizer and is never wrong. Passages are far shorter.
TEXT_BYTES_MAX = 8_000
CALL_BYTES_MAX = 300_000
# These models shorten their vectors when asked to; others refuse the very question.
SHORTENS = "text-embedding-3"
LENGTH_MIN = 1e-6
# One text is mostly a question: a person waits for the answer, and can have one by words alone.
QUESTION_SECONDS = 10.0
# The service refuses an empty text.
NOTHING = " "


@dataclass(frozen=True, slots=True)
class Model:
    """Which vectors are asked for."""

    name: str
    dimensions: int

    def __str__(self) -> str:
        """What is kept with each vector: those of another length can't be compared."""
        return f"{self.name}@{self.dimensions}"


class OpenAIEmbedder:
    """An Embedder that asks a server; at most `concurrency` calls of this process are on their way."""

    name = "openai"
    batch_bytes = CALL_BYTES_MAX

    def __init__(
        self, client: openai.OpenAI, model: Model, *, batch_size: int, concurrency: int, timeout_seconds: float
    ) -> None:
        self.model = str(model)
        self.dimensions = model.dimensions
        self.batch_size = batch_size
        self.concurrency = concurrency
        self._client = client
        self._timeout_seconds = timeout_seconds
        self._model = model
        self._turns = threading.BoundedSemaphore(concurrency)
        self._redact = redactor(client.api_key)

    @classmethod
    def connect(
        cls, base_url: str, api_key: str, model: Model, *, batch_size: int, concurrency: int, timeout_seconds: float
    ) -> "OpenAIEmbedder":
        """Make the client; it connects when it is first used. A server without keys is sent a word in its place."""
        client = openai.OpenAI(
            base_url=base_url,
            api_key=api_key or "none",
            max_retries=0,
            timeout=timeout_seconds,
        )
        return cls(client, model, batch_size=batch_size, concurrency=concurrency, timeout_seconds=timeout_seconds)

    def check(self) -> None:
        """Ask for the list of models, which is free; a server that has none is at least there."""
        try:
            self._client.models.list()
        except openai.NotFoundError:
            return
        except openai.OpenAIError as error:
            raise openai_error(error, "models", self._redact) from None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Give one vector of unit length for each text, in order."""
        sent = [_shortened(text) for text in texts]
        return [vector.tolist() for batch in self._calls(sent) for vector in self._ask(batch)]

    def _calls(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """What goes into one call; callers that keep to the limits are given back what they brought."""
        batch: list[str] = []
        size = 0
        for text in texts:
            length = len(text.encode())
            if batch and (len(batch) == self.batch_size or size + length > self.batch_bytes):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += length
        if batch:
            yield batch

    def _ask(self, texts: list[str]) -> list[Vector]:
        more: dict[str, Any] = {"dimensions": self.dimensions} if self._model.name.startswith(SHORTENS) else {}
        if len(texts) == 1:
            more["timeout"] = min(QUESTION_SECONDS, self._timeout_seconds)
        try:
            with self._turns:
                answer = self._client.embeddings.with_raw_response.create(
                    model=self._model.name, input=texts, encoding_format="base64", **more
                )
                content = answer.http_response.content
        except openai.OpenAIError as error:
            # Its own words stay out of tracebacks, too: they may quote the key.
            raise openai_error(error, "embeddings", self._redact) from None
        return self._vectors(content, len(texts))

    def _vectors(self, content: bytes, count: int) -> list[Vector]:
        """Read an answer; an error that counts as an attempt where it is not what was asked for."""
        try:
            rows = json.loads(content)["data"]
            by_index = {int(row["index"]): _vector(row["embedding"]) for row in rows}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
            raise _useless("embeddings: the answer could not be read") from error
        if len(rows) != count or sorted(by_index) != list(range(count)):
            raise _useless(f"embeddings: {len(rows)} vectors came for {count} texts")
        return [self._unit(by_index[index]) for index in range(count)]

    def _unit(self, vector: Vector) -> Vector:
        if vector.shape != (self.dimensions,):
            # A setting is wrong: every further try would cost the same and bring the same.
            message = (
                f"embeddings: vectors have {vector.size} numbers, OPENAI_EMBEDDING_DIMENSIONS says {self.dimensions}"
            )
            raise ProviderError(message, permanent=True, code=FailureCode.REQUEST_REFUSED, is_outcome_unknown=True)
        length = float(np.linalg.norm(vector.astype(np.float64)))
        if not LENGTH_MIN < length < np.inf:
            raise _useless("embeddings: a vector points nowhere")
        return (vector / length).astype(np.float32)


def _useless(message: str) -> ProviderUnavailable:
    """An answer that is not what was asked for is on the bill like any other."""
    return ProviderUnavailable(message, is_outcome_unknown=True)


def _vector(value: object) -> Vector:
    """Floats in base64, or as numbers from servers that know nothing else."""
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    return np.asarray(value, dtype=np.float32)


def _shortened(text: str) -> str:
    """The beginning stands for a text that is too long; lone surrogates, which no JSON may hold, are left out."""
    encoded = text.encode("utf-8", "ignore")[:TEXT_BYTES_MAX]
    return encoded.decode("utf-8", "ignore") or NOTHING
