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

from webapp.provider_errors import FailureCode, ProviderError
from webapp.providers.openai.client import OpenAIRole, unusable

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


class OpenAIEmbedder(OpenAIRole):
    """An Embedder that asks a server; there are `concurrency` turns for the calls of this process."""

    batch_bytes = CALL_BYTES_MAX

    def __init__(
        self, client: openai.OpenAI, model: Model, *, batch_size: int, concurrency: int, timeout_seconds: float
    ) -> None:
        super().__init__(client)
        self.model = str(model)
        self.dimensions = model.dimensions
        self.batch_size = batch_size
        self.concurrency = concurrency
        self._timeout_seconds = timeout_seconds
        self._model = model
        self.turns: threading.Semaphore = threading.BoundedSemaphore(concurrency)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Give one vector of unit length for each text, in order."""
        sent = [_shortened(text) for text in texts]
        return [vector.tolist() for batch in self._calls(sent) for vector in self._ask(batch)]

    def embed_query(self, text: str) -> list[float]:
        """Give the vector of unit length of a question, which OpenAI's models read like any text."""
        return self.embed([text])[0]

    def knows_words_of(self, text: str) -> bool:
        """Always: nobody says how the server's model cuts words."""
        return True

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
        with self._translated("embeddings"):
            answer = self._client.embeddings.with_raw_response.create(
                model=self._model.name, input=texts, encoding_format="base64", **more
            )
            content = answer.http_response.content
        return self._vectors(content, len(texts))

    def _vectors(self, content: bytes, count: int) -> list[Vector]:
        """Read an answer; an error that counts as an attempt where it is not what was asked for."""
        try:
            rows = json.loads(content)["data"]
            by_index = {int(row["index"]): _vector(row["embedding"]) for row in rows}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
            raise unusable("embeddings: the answer could not be read") from error
        if len(rows) != count or sorted(by_index) != list(range(count)):
            raise unusable(f"embeddings: {len(rows)} vectors came for {count} texts")
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
            raise unusable("embeddings: a vector points nowhere")
        return (vector / length).astype(np.float32)


def _vector(value: object) -> Vector:
    """Floats in base64, or as numbers from servers that know nothing else."""
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    return np.asarray(value, dtype=np.float32)


def _shortened(text: str) -> str:
    """Cut a text that is too long, and remove lone surrogates, which JSON does not allow."""
    encoded = text.encode("utf-8", "ignore")[:TEXT_BYTES_MAX]
    return encoded.decode("utf-8", "ignore") or NOTHING
