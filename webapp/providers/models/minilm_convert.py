"""Converts the weights of MiniLM-L6 into an ONNX graph: run by `minilm` in an environment of its own."""

import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from webapp.providers.models.encoder_graph import write_graph

LAYERS = 6


def main() -> None:
    """Read the weights in the first argument, and write the model that the second one names."""
    weights, target = map(Path, sys.argv[1:])
    tensors = {name: tensor.astype(np.float32) for name, tensor in load_file(weights).items()}
    write_graph(tensors, LAYERS, target)
