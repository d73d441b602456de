"""Converts the weights of MiniLM-L6 into an ONNX graph of 8 bits, without torch: run by `minilm`, in an environment
of its own, since production has neither onnx nor safetensors.

Six transformer layers of 12 heads over one text without padding: so there is no attention mask,
and a vector depends on its own text alone. The output is the mean of the token vectors, scaled
to unit length.
"""

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

LAYERS, HEADS, HEAD_SIZE, SIZE = 6, 12, 32, 384
# Opset and file version that all supported runtimes read.
OPSET, FILE_VERSION = 17, 9
LAYER_NORM_EPSILON = 1e-12
TO_HEADS, KEYS_TO_HEADS = [0, 2, 1, 3], [0, 2, 3, 1]

Weights = Mapping[str, NDArray[np.float32]]


def main() -> None:
    """Read the weights in the first argument, and write the model that the second one names."""
    weights, target = map(Path, sys.argv[1:])
    tensors = load_file(weights)
    full = target.with_name("full.onnx")
    onnx.save(build_graph({name: tensor.astype(np.float32) for name, tensor in tensors.items()}), full)
    quantise(full, target)
    full.unlink()


def quantise(full: Path, target: Path) -> None:
    """Write the graph with 8-bit weights.

    One scale per output channel keeps the vectors near those of the full model (cosine 0.99,
    against 0.94 with one scale for all), and 7 of the 8 bits keep older processors, which add
    up products in 16 bits, from overflowing.
    """
    # It recommends a preprocessing that needs packages of its own and changes nothing here.
    logging.disable(logging.WARNING)
    quantize_dynamic(full, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)


def build_graph(weights: Weights) -> onnx.ModelProto:
    """Give the encoder: `input_ids` (1, tokens) in, `embedding` (1, 384) out."""
    writer = _Writer(weights)
    state = writer.embeddings()
    for layer in range(LAYERS):
        state = writer.layer(f"encoder.layer.{layer}", state)
    writer.pool(state)
    return writer.model()


class _Writer:
    """Collects nodes and constants; each method adds a part and names its result."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def embeddings(self) -> str:
        words = self._weight("embeddings.word_embeddings.weight")
        # A single text is all of the first segment, so its vector can be added once and for all.
        segment = self._weights["embeddings.token_type_embeddings.weight"][0]
        places = self._constant("places", self._weights["embeddings.position_embeddings.weight"] + segment)
        length = self._add("Slice", self._add("Shape", "input_ids"), self._integers(1), self._integers(2))
        here = self._add("Slice", places, self._integers(0), length, self._integers(0))
        total = self._add("Add", self._add("Gather", words, "input_ids"), here)
        return self._normalise("embeddings.LayerNorm", total)

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

    def model(self) -> onnx.ModelProto:
        ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])
        vector = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, SIZE])
        constants = list(self._constants.values())
        graph = helper.make_graph(self._nodes, "minilm", [ids], [vector], constants)
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=FILE_VERSION)
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
