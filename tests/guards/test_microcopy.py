"""Sentences that people found odd stay gone, from pages, scripts and messages."""

import re

from tests.guards.sources import ROOT, project_files

_SPACES = re.compile(r"\s+")

# Whole sentences or their tell-tale parts: "was not taken" for "couldn't be added", and so on.
GONE = (
    "was not taken: this kind of file",
    "Waiting for the uploads before it",
    "Storing safely",
    "Waiting its turn",
    "its plain text is used",
    "The text names no encoding",
    "Not there yet",
    "This document has not been processed to the end",
    "it exceeded its time.",
    "goes through more easily in parts",
    "would stand here",
    "stands here, with each of its errors",
    "Picked out of the transcript by rules",
    "nobody has weighed it",
    "No words were made out",
    "wait behind whatever people are waiting for",
    "What was paid for before is not paid for again",
    "No new work is taken",
    "Take work again",
    "comes to its end",
    "New work is taken again",
    "is the settings' own",
    "this is the moment for maintenance",
    "and what the caches saved",
    "No program has a key to this library yet",
    "A sentence is good.",
    "does not open the door",
    "do not go together",
    "Docmill does not answer. Trying",
    "passages, the best first",
)


def test_odd_sentences_stay_gone() -> None:
    shown = [path for path in project_files() if path.startswith(("templates/", "static/js/")) or path.endswith(".py")]
    shown = [path for path in shown if not path.startswith("tests/")]
    texts = {path: _SPACES.sub(" ", (ROOT / path).read_text(encoding="utf-8")) for path in shown}
    assert len(texts) > 300
    assert {sentence: path for sentence in GONE for path, text in texts.items() if sentence in text} == {}
