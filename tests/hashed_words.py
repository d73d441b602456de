"""A small embedder that does real work: a bag of hashed words as a vector of unit length.

It knows no meaning, only which words are in a text; but it is an implementation of the port
like any other: the same text always gives the same vector, and shared words bring texts together.
"""

import hashlib
import math
import re
import threading
from collections.abc import Sequence


class HashedWords:
    """An Embedder without weights."""

    name = "hashed"
    batch_size = 8
    batch_bytes = 1 << 20
    concurrency = 1

    def __init__(self, dimensions: int = 64, model: str = "hashed-words-64") -> None:
        self.dimensions = dimensions
        self.model = model
        self.asked: list[str] = []
        self.turns: threading.Semaphore = threading.BoundedSemaphore(64)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed([text])[0]

    def knows_words_of(self, text: str) -> bool:
        return True

    def check(self) -> None:
        """Always ready."""

    def _vector(self, text: str) -> list[float]:
        counts = [0.0] * self.dimensions
        for word in re.findall(r"\w+", text.casefold()) or [""]:
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            counts[int.from_bytes(digest, "big") % self.dimensions] += 1.0
        length = math.sqrt(sum(count * count for count in counts))
        return [count / length for count in counts]
