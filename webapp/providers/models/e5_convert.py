"""Converts multilingual-e5-small into an ONNX graph and a model of its pieces of words.

Run by `e5` in an environment of its own. The weights come in a format of the package's own: a header, the vocabulary, a
table of names and places, and numbers of 4 bits in blocks of 32 that share a scale. The words' vectors stay in 4 bits.
"""

import base64
import json
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webapp.providers.models.encoder_graph import SIZE, WordVectors, write_graph

LAYERS, INNER_SIZE = 12, 1536
MARK = b"E5S1"
# A block of numbers: its scale, then two numbers in each byte, 8 more than they mean.
BLOCK, ZERO = 32, 8
BLOCK_TYPE = np.dtype([("scale", "<f2"), ("pairs", "u1", BLOCK // 2)])
# The names of a layer's parts: ours, the file's, and the width of what goes in and comes out.
PARTS = (
    ("attention.self.query", "q", SIZE, SIZE),
    ("attention.self.key", "k", SIZE, SIZE),
    ("attention.self.value", "v", SIZE, SIZE),
    ("attention.output.dense", "ao", SIZE, SIZE),
    ("intermediate.dense", "fi", SIZE, INNER_SIZE),
    ("output.dense", "fo", INNER_SIZE, SIZE),
)
NORMS = (("attention.output.LayerNorm", "aln"), ("output.LayerNorm", "oln"))
# Kinds of pieces in SentencePiece's format: these never come out of a text. All others are ordinary.
UNKNOWN, CONTROL = 2, 3
SPECIAL_PIECES = {"<s>": CONTROL, "<pad>": CONTROL, "</s>": CONTROL, "<unk>": UNKNOWN, "<mask>": CONTROL}
UNIGRAM = 1


def main() -> None:
    """Read weights and tokenizer, the first two arguments, and write the two files that the others name."""
    weights, tokenizer, model, pieces = map(Path, sys.argv[1:])
    stored = StoredWeights(weights.read_bytes())
    write_graph(stored.by_usual_names(), LAYERS, model, stored.words())
    pieces.write_bytes(piece_model(json.loads(tokenizer.read_text(encoding="utf-8"))))


class StoredWeights:
    """The package's file of weights."""

    def __init__(self, data: bytes) -> None:
        if data[: len(MARK)] != MARK:
            raise ValueError("the weights have another format")
        self._data = data
        size, layers, _, inner, self._vocabulary, self._places, _ = struct.unpack_from("<7i", data, 8)
        if (size, layers, inner) != (SIZE, LAYERS, INNER_SIZE):
            raise ValueError("the weights are those of another model")
        self._table = dict(self._entries(self._end_of_vocabulary()))

    def words(self) -> WordVectors:
        """The vectors of the vocabulary."""
        return WordVectors(*self._blocks("emb.word", self._vocabulary, SIZE))

    def by_usual_names(self) -> Mapping[str, NDArray[np.float32]]:
        """All other weights, as numbers, under the names that models of this kind have."""
        found: dict[str, NDArray[np.float32]] = {
            "embeddings.position_embeddings.weight": self._numbers("emb.pos").reshape(self._places, SIZE),
            "embeddings.token_type_embeddings.weight": self._numbers("emb.type").reshape(-1, SIZE),
            **self._norm("embeddings.LayerNorm", "emb.ln"),
        }
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            for usual, short, width_in, width_out in PARTS:
                numbers, scales = self._blocks(f"l{layer}.{short}.w", width_out, width_in)
                found[f"{name}.{usual}.weight"] = numbers.astype(np.float32) * np.repeat(scales, BLOCK, axis=1)
                found[f"{name}.{usual}.bias"] = self._numbers(f"l{layer}.{short}.b")
            for usual, short in NORMS:
                found |= self._norm(f"{name}.{usual}", f"l{layer}.{short}")
        return found

    def _norm(self, usual: str, short: str) -> Mapping[str, NDArray[np.float32]]:
        return {f"{usual}.weight": self._numbers(f"{short}.w"), f"{usual}.bias": self._numbers(f"{short}.b")}

    def _numbers(self, name: str) -> NDArray[np.float32]:
        count, start = self._table[name]
        return np.frombuffer(self._data, "<f4", count, start)

    def _blocks(self, name: str, rows: int, columns: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        _, start = self._table[name]
        blocks = np.frombuffer(self._data, BLOCK_TYPE, rows * columns // BLOCK, start).reshape(rows, -1)
        pairs = blocks["pairs"]
        numbers = np.concatenate([pairs & 0x0F, pairs >> 4], axis=-1).astype(np.int8) - ZERO
        return numbers.reshape(rows, columns), blocks["scale"].astype(np.float32)

    def _end_of_vocabulary(self) -> int:
        # Behind the header: two settings, five numbers, the first of which counts the pieces, and how long all are.
        place = 8 + 7 * 4 + 2 * 4
        (pieces,) = struct.unpack_from("<i", self._data, place)
        place += 5 * 4
        (letters,) = struct.unpack_from("<Q", self._data, place)
        place += 8 + (pieces + 1) * 4 + pieces * 4 + letters
        (rules,) = struct.unpack_from("<I", self._data, place + 4)
        return int(place + 8 + rules)

    def _entries(self, place: int) -> Iterator[tuple[str, tuple[int, int]]]:
        (count,) = struct.unpack_from("<i", self._data, place)
        place += 4
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._data, place)
            name = self._data[place + 2 : place + 2 + length].decode("ascii")
            numbers, start, _ = struct.unpack_from("<IQQ", self._data, place + 2 + length + 1)
            yield name, (numbers, start)
            place += 2 + length + 1 + 20


def piece_model(tokenizer: Mapping[str, Any]) -> bytes:
    """The tokenizer's pieces and rules in SentencePiece's own format, a message of Protocol Buffers.

    In this form a process needs 50 MB for them instead of 280.
    """
    pieces = tokenizer["model"]["vocab"]
    (rules,) = [each for each in tokenizer["normalizer"]["normalizers"] if each["type"] == "Precompiled"]
    places = {piece: place for place, (piece, _) in enumerate(pieces)}
    training = [(3, UNIGRAM), (4, len(pieces))]
    training += [(40, places["<unk>"]), (41, places["<s>"]), (42, places["</s>"]), (43, places["<pad>"])]
    normalising = _bytes(2, base64.b64decode(rules["precompiled_charsmap"]))
    # Put a space in front, make one of several, and write spaces as a sign.
    normalising += b"".join(_whole(field, 1) for field in (3, 4, 5))
    return (
        b"".join(_bytes(1, _piece(*each)) for each in pieces)
        + _bytes(2, b"".join(_whole(*each) for each in training))
        + _bytes(3, normalising)
    )


def _piece(letters: str, score: float) -> bytes:
    kind = SPECIAL_PIECES.get(letters)
    written = _bytes(1, letters.encode()) + b"\x15" + struct.pack("<f", score)
    return written if kind is None else written + _whole(3, kind)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _whole(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])
