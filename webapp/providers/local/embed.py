"""Embeddings on this machine: MiniLM-L6 or multilingual-e5-small, 8 bit, on onnxruntime.

Texts are run one by one. Quantised activations share one range per run, so the neighbours in a
batch would change a vector (measured: cosine down to 0.986 between batches); and without
padding, one by one is also faster (94 texts a second against 57, one thread, 164 tokens each).
"""

import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import sentencepiece
from tokenizers import Tokenizer

from webapp.provider_errors import FailureCode, ProviderUnavailable
from webapp.providers.models.embedding_files import MINILM, MODEL_FILE, EmbeddingModel

# No tokens that a model takes are longer in sensible text, and the tokenizer's work should have a bound.
CHARACTERS_MAX = 20_000
# What a model of XLM-RoBERTa's kind expects around the pieces of a text.
BEGIN, END = 0, 2
# Each model has one before and one behind a text.
MARKS = 2
# Chinese, Japanese, Korean and Thai say as much in fewer signs.
SIGN_LETTERS = 3
_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")

Tokens = Callable[[str], Sequence[int]]


class LocalEmbedder:
    """An Embedder on a model that `make setup` built; one text at a time, on so many threads."""

    name = "local"
    dimensions = 384
    batch_size = 8
    batch_bytes = 1 << 20
    concurrency = 1

    def __init__(self, models: Path, *, made_by: EmbeddingModel = MINILM, threads: int = 2) -> None:
        self.model = made_by.name
        self._made_by = made_by
        self._models = models
        self._threads = threads
        self._lock = threading.Lock()
        # Only paid calls take turns; here each text waits for its own.
        self.turns: threading.Semaphore = threading.BoundedSemaphore(self.concurrency)
        self._loaded: tuple[Tokens, onnxruntime.InferenceSession] | None = None

    def check(self) -> None:
        """ProviderUnavailable, with the cure, where the model has not been built."""
        if missing := self._made_by.missing(self._models):
            message = f"{self.model} is not built ({', '.join(missing)} missing): run `make setup`"
            raise ProviderUnavailable(message, code=FailureCode.MODEL_MISSING)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Give one vector of unit length for each passage, in order."""
        return [self._vector(self._made_by.before_passages + text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Give the vector of unit length of a question."""
        return self._vector(self._made_by.before_queries + text)

    def knows_words_of(self, text: str) -> bool:
        """Say whether a question has words that the model knows, by how long the parts are into which it cuts them."""
        with self._lock:
            tokens, _ = self._ready()
            count = len(tokens(text[:CHARACTERS_MAX])) - MARKS
        letters = len("".join(text.split())) + (SIGN_LETTERS - 1) * len(_SIGN.findall(text))
        return letters >= self._made_by.letters_per_token_least * count

    def _vector(self, text: str) -> list[float]:
        # One text at a time for all callers: that bounds the processors in use, and a search
        # waits for one passage of a book, not for the book.
        with self._lock:
            tokens, session = self._ready()
            ids = np.array([tokens(text[:CHARACTERS_MAX])], np.int64)
            (vectors,) = session.run(None, {"input_ids": ids})
        vector: list[float] = vectors[0].astype(float).tolist()
        return vector

    def _ready(self) -> tuple[Tokens, onnxruntime.InferenceSession]:
        if self._loaded is None:
            self.check()
            self._loaded = self._load()
        return self._loaded

    def _load(self) -> tuple[Tokens, onnxruntime.InferenceSession]:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        # Threads that spin while they wait would take the processors from everybody else.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        folder = self._made_by.folder(self._models)
        try:
            tokens = _tokens_of(folder / self._made_by.tokenizer_file, self._made_by.tokens_max)
            path = str(folder / MODEL_FILE)
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the libraries raise types of their own, tokenizers a bare Exception
            message = f"{self.model} can't be loaded: run `make setup` again"
            raise ProviderUnavailable(message, code=FailureCode.MODEL_MISSING) from error
        return tokens, session


def _tokens_of(file: Path, most: int) -> Tokens:
    """Load what cuts a text into so many tokens at most."""
    if file.suffix == ".json":
        tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_padding()
        tokenizer.enable_truncation(most)
        return lambda text: tokenizer.encode(text).ids
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(file))
    return lambda text: [BEGIN, *pieces.encode(text)[: most - 2], END]
