"""A new stage is complete: it has steps, a handler, and words for people."""

import pytest

from tests.guards.sources import ROOT
from webapp.config.queue import STAGE_NAMES
from webapp.documents.states import EventKind
from webapp.pipeline.handlers import HANDLERS, STEP_FUNCTIONS
from webapp.runs.stages import STAGES, progress_at, way_of

WORDS = (ROOT / "templates" / "_words.html").read_text(encoding="utf-8")


def test_every_stage_has_a_handler_and_no_handler_is_left_over() -> None:
    assert set(HANDLERS) == set(STAGES)


@pytest.mark.parametrize("stage", STAGES)
def test_every_step_of_a_stage_has_a_function(stage: str) -> None:
    assert set(STEP_FUNCTIONS[stage]) == set(STAGES[stage])


def test_the_settings_know_the_names_of_all_stages() -> None:
    assert tuple(STAGES) == STAGE_NAMES


@pytest.mark.parametrize("stage", STAGES)
def test_the_steps_of_a_stage_fill_the_progress_bar(stage: str) -> None:
    # Stages that follow one another on the way to one result share a bar.
    way = way_of(stage)
    assert progress_at(stage, way[0], 0.0) == 0
    assert progress_at(stage, way[-1], 1.0) == pytest.approx(1)
    names = [name for step in way for name in (step.doing, step.done)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_and_its_steps_have_words(stage: str) -> None:
    assert f'"{stage}":' in WORDS
    for step in STAGES[stage]:
        assert f'"{step.doing}":' in WORDS
        assert f'"{step.done}":' in WORDS


@pytest.mark.parametrize("kind", EventKind)
def test_every_event_has_words(kind: EventKind) -> None:
    assert f'"{kind}":' in WORDS
