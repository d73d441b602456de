"""A new result that has far fewer passages than the one before is noted: somebody should look at it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipeline.workplace import Counted, Workplace, prose
from webapp.db import reading
from webapp.providers.ports import KeptParts
from webapp.readers.extraction import Extraction
from webapp.statistics import incidents
from webapp.statistics.incidents import IncidentName

PARAGRAPHS = 60


class Shorter(Counted):
    """A newer version of the reader, which finds only the beginning of a file."""

    def __init__(self, real: Counted, share: float) -> None:
        super().__init__(real.real)
        self.version = f"{self.version}-shorter"
        self._share = share

    def extract(
        self,
        source: Path,
        content_type: str,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
        parts: KeptParts | None = None,
    ) -> Extraction:
        text = source.read_bytes()
        beginning = source.with_name("beginning")
        beginning.write_bytes(text[: int(self._share * len(text))])
        return super().extract(beginning, content_type, timeout_seconds=timeout_seconds, progress=progress)


@pytest.mark.parametrize(
    ("paragraphs", "share", "is_noted"), [(PARAGRAPHS, 0.3, True), (PARAGRAPHS, 0.8, False), (6, 0.3, False)]
)
def test_the_loss_of_most_passages_is_noted(
    workplace: Workplace, paragraphs: int, share: float, *, is_noted: bool
) -> None:
    document = workplace.processed(prose(paragraphs), "story.md")
    before = len(workplace.chunks(document.id))
    assert (before >= 20) is (paragraphs == PARAGRAPHS)
    workplace.with_extractor(Shorter(workplace.extractor, share))
    workplace.reprocess(document.id)
    workplace.process()
    lost = before - len(workplace.chunks(document.id))
    assert lost > 0
    with reading(everywhere=True):
        found = [(each.name, each.number) for each in incidents.recent()]
    assert found == ([(IncidentName.PASSAGES_LOST, lost)] if is_noted else [])
