"""Embeddings on this machine: MiniLM-L6, 8 bit, on onnxruntime.

Texts are run one by one. Quantised activations share one range per run, so the neighbours in a
batch would change a vector (measured: cosine down to 0.986 between batches); and without
padding, one by one is also faster (94 texts a second against 57, one thread, 164 tokens each).
"""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from webapp.provider_errors import FailureCode, ProviderUnavailable
from webapp.providers.models.minilm_files import FILES, MODEL, MODEL_FILE, TOKENIZER_FILE, model_folder

# What the model was made for; a longer text is represented by its beginning.
TOKENS_MAX = 256
# No 256 tokens are longer in sensible text, and the tokenizer's work should have a bound.
CHARACTERS_MAX = 20_000


class LocalEmbedder:
    """An Embedder on the model that `make setup` built; one text at a time, on so many threads."""

    name = "local"
    model = MODEL
    dimensions = 384
    batch_size = 8
    batch_bytes = 1 << 20
    concurrency = 1

    def __init__(self, models: Path, *, threads: int = 2) -> None:
        self._folder = model_folder(models)
        self._threads = threads
        self._lock = threading.Lock()
        # Only paid calls take turns; here each text waits for its own.
        self.turns: threading.Semaphore = threading.BoundedSemaphore(self.concurrency)
        self._loaded: tuple[Tokenizer, onnxruntime.InferenceSession] | None = None

    def check(self) -> None:
        """ProviderUnavailable, with the cure, where the model has not been built."""
        missing = [name for name in FILES if not (self._folder / name).is_file()]
        if missing:
            message = f"{MODEL} is not built ({', '.join(missing)} missing): run `make setup`"
            raise ProviderUnavailable(message, code=FailureCode.MODEL_MISSING)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Give one vector of unit length for each text, in order."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        # One text at a time for all callers: that bounds the processors in use, and a search
        # waits for one passage of a book, not for the book.
        with self._lock:
            tokenizer, session = self._ready()
            ids = np.array([tokenizer.encode(text[:CHARACTERS_MAX]).ids], np.int64)
            (vectors,) = session.run(None, {"input_ids": ids})
        vector: list[float] = vectors[0].astype(float).tolist()
        return vector

    def _ready(self) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
        if self._loaded is None:
            self.check()
            self._loaded = self._load()
        return self._loaded

    def _load(self) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        # Threads that spin while they wait would take the processors from everybody else.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER_FILE))
            path = str(self._folder / MODEL_FILE)
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the two libraries raise types of their own, tokenizers a bare Exception
            message = f"{MODEL} can't be loaded: run `make setup` again"
            raise ProviderUnavailable(message, code=FailureCode.MODEL_MISSING) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(TOKENS_MAX)
        return tokenizer, session
