"""An ONNX graph of 8 bits for a text encoder of BERT's kind, made of its weights without torch.

Set-up imports it in an environment of its own, since production has no onnx. The graph is for one text without
padding: so there is no attention mask, and a vector depends on its own text alone. The output is the mean of the token
vectors, scaled to unit length.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

HEADS, HEAD_SIZE, SIZE = 12, 32, 384
LAYER_NORM_EPSILON = 1e-12
TO_HEADS, KEYS_TO_HEADS = [0, 2, 1, 3], [0, 2, 3, 1]
# Opset and file versions that all supported runtimes read; only the newer one knows numbers of 4 bits.
OPSET, FILE_VERSION, FILE_VERSION_OF_4_BITS = 17, 9, 10
# The operations that onnxruntime adds.
RUNTIME = "com.microsoft"

Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class WordVectors:
    """The vectors of the vocabulary in 4 bits: whole numbers from -8 to 7, and a scale for each block of a row."""

    numbers: NDArray[np.int8]
    scales: NDArray[np.float32]


def write_graph(weights: Weights, layers: int, target: Path, words: WordVectors | None = None) -> None:
    """Write an encoder with so many layers; `words` where the vectors of its vocabulary are in 4 bits."""
    full = target.with_name("full.onnx")
    onnx.save(build_graph(weights, layers, words), full)
    quantise(full, target, ["MatMul"] if words else None)
    full.unlink()


def quantise(full: Path, target: Path, only: Sequence[str] | None = None) -> None:
    """Write the graph with 8-bit weights, or only those of some operations.

    One scale per output channel keeps the vectors near those of the full model (cosine 0.99,
    against 0.94 with one scale for all), and 7 of the 8 bits keep older processors, which add
    up products in 16 bits, from overflowing.
    """
    # It recommends a preprocessing that needs packages of its own and changes nothing here.
    logging.disable(logging.WARNING)
    quantize_dynamic(
        full,
        target,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        op_types_to_quantize=only,
        # Of operations that only the runtime knows, it can't tell what comes out.
        extra_options={"DefaultTensorType": TensorProto.FLOAT} if only else None,
    )


def build_graph(weights: Weights, layers: int, words: WordVectors | None = None) -> onnx.ModelProto:
    """Give the encoder: `input_ids` (1, tokens) in, `embedding` (1, 384) out."""
    writer = _Writer(weights)
    state = writer.embeddings(writer.words() if words is None else writer.words_of_4_bits(words))
    for layer in range(layers):
        state = writer.layer(f"encoder.layer.{layer}", state)
    writer.pool(state)
    return writer.model(has_4_bits=words is not None)


class _Writer:
    """Collects nodes and constants; each method adds a part and names its result."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def words(self) -> str:
        return self._add("Gather", self._weight("embeddings.word_embeddings.weight"), "input_ids")

    def words_of_4_bits(self, words: WordVectors) -> str:
        pairs = words.numbers & 0x0F
        packed = TensorProto(name="words", data_type=TensorProto.INT4, dims=words.numbers.shape)
        packed.raw_data = (pairs[:, 0::2] | (pairs[:, 1::2] << 4)).astype(np.uint8).tobytes()
        self._constants["words"] = packed
        block = words.numbers.shape[1] // words.scales.shape[1]
        inputs = ("words", "input_ids", self._constant("scales", words.scales))
        return self._add(
            "GatherBlockQuantized", *inputs, domain=RUNTIME, gather_axis=0, quantize_axis=1, block_size=block
        )

    def embeddings(self, words: str) -> str:
        # A single text is all of the first segment, so its vector can be added once and for all.
        segment = self._weights["embeddings.token_type_embeddings.weight"][0]
        places = self._constant("places", self._weights["embeddings.position_embeddings.weight"] + segment)
        length = self._add("Slice", self._add("Shape", "input_ids"), self._integers(1), self._integers(2))
        here = self._add("Slice", places, self._integers(0), length, self._integers(0))
        return self._normalise("embeddings.LayerNorm", self._add("Add", words, here))

    def layer(self, name: str, state: str) -> str:
        attended = self._linear(f"{name}.attention.output.dense", self._attention(f"{name}.attention.self", state))
        state = self._normalise(f"{name}.attention.output.LayerNorm", self._add("Add", attended, state))
        wide = self._gelu(self._linear(f"{name}.intermediate.dense", state))
        narrow = self._linear(f"{name}.output.dense", wide)
        return self._normalise(f"{name}.output.LayerNorm", self._add("Add", narrow, state))

    def pool(self, state: str) -> None:
        mean = self._add("ReduceMean", state, axes=[1], keepdims=0)
        length = self._add("ReduceL2", mean, axes=[1], keepdims=1)
        self._nodes.append(helper.make_node("Div", [mean, length], ["embedding"]))

    def model(self, *, has_4_bits: bool) -> onnx.ModelProto:
        ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])
        vector = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, SIZE])
        constants = list(self._constants.values())
        graph = helper.make_graph(self._nodes, "encoder", [ids], [vector], constants)
        version = FILE_VERSION_OF_4_BITS if has_4_bits else FILE_VERSION
        opsets = [helper.make_opsetid("", OPSET)] + ([helper.make_opsetid(RUNTIME, 1)] if has_4_bits else [])
        model = helper.make_model(graph, opset_imports=opsets, ir_version=version)
        onnx.checker.check_model(model)
        return model

    def _attention(self, name: str, state: str) -> str:
        query = self._heads(f"{name}.query", state, TO_HEADS)
        keys = self._heads(f"{name}.key", state, KEYS_TO_HEADS)
        values = self._heads(f"{name}.value", state, TO_HEADS)
        scale = self._number("scale", 1 / np.sqrt(HEAD_SIZE))
        scores = self._add("Mul", self._add("MatMul", query, keys), scale)
        mixed = self._add("MatMul", self._add("Softmax", scores, axis=-1), values)
        return self._add("Reshape", self._add("Transpose", mixed, perm=TO_HEADS), self._integers(0, 0, SIZE))

    def _heads(self, name: str, state: str, order: list[int]) -> str:
        split = self._add("Reshape", self._linear(name, state), self._integers(0, 0, HEADS, HEAD_SIZE))
        return self._add("Transpose", split, perm=order)

    def _linear(self, name: str, state: str) -> str:
        turned = self._constant(f"{name}.turned", self._weights[f"{name}.weight"].T)
        return self._add("Add", self._add("MatMul", state, turned), self._weight(f"{name}.bias"))

    def _normalise(self, name: str, state: str) -> str:
        scale, shift = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._add("LayerNormalization", state, scale, shift, axis=-1, epsilon=LAYER_NORM_EPSILON)

    def _gelu(self, state: str) -> str:
        bent = self._add("Erf", self._add("Mul", state, self._number("root", 1 / np.sqrt(2))))
        share = self._add("Mul", self._add("Add", bent, self._number("one", 1.0)), self._number("half", 0.5))
        return self._add("Mul", state, share)

    def _add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _number(self, name: str, value: float) -> str:
        return self._constant(name, np.array(value, np.float32))

    def _integers(self, *values: int) -> str:
        return self._constant("i" + "_".join(map(str, values)), np.array(values, np.int64))

    def _constant(self, name: str, value: NDArray[np.generic]) -> str:
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name
