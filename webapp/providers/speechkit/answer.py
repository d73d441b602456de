"""Reading the transcripts of SpeechKit: objects of JSON, one to a line, in the order in which they were made."""

import json
from typing import Any

from webapp.providers.speech_ports import Clip, Segment, Transcript
from webapp.providers.speech_text import speaker_name

Key = tuple[str, str]


def read_answer(body: bytes, clip: Clip) -> Transcript:
    """Take the final texts, each in its normalised form where there is one.

    A channel of the recording is a tag, and so is a speaker whom the service tells apart in one
    channel; where there is one tag alone, nobody was told apart.
    """
    finals: dict[Key, dict[str, Any]] = {}
    better: dict[Key, str] = {}
    for line in body.splitlines():
        if line.strip():
            _take(_result(json.loads(line)), finals, better)
    tags = sorted({tag for tag, _ in finals})
    segments = [
        _segment(found, better.get(key), clip, speaker_name(tags.index(key[0])) if len(tags) > 1 else None)
        for key, found in finals.items()
    ]
    return Transcript(tuple(segments), _language(finals))


def _result(line: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = line.get("result", line)
    return result


def _take(result: dict[str, Any], finals: dict[Key, dict[str, Any]], better: dict[Key, str]) -> None:
    tag = str(result.get("channelTag") or "0")
    if final := result.get("final"):
        index = str(result.get("audioCursors", {}).get("finalIndex", len(finals)))
        alternatives = final.get("alternatives") or []
        if alternatives:
            finals[tag, index] = alternatives[0]
    if refinement := result.get("finalRefinement"):
        alternatives = refinement.get("normalizedText", {}).get("alternatives") or []
        if alternatives:
            better[tag, str(refinement.get("finalIndex", "0"))] = str(alternatives[0].get("text", ""))


def _segment(found: dict[str, Any], better: str | None, clip: Clip, speaker: str | None) -> Segment:
    words = found.get("words") or [{}]
    start = found.get("startTimeMs", words[0].get("startTimeMs", 0))
    end = found.get("endTimeMs", words[-1].get("endTimeMs", start))
    return Segment(
        start=min(clip.end, clip.start + int(start) / 1000),
        end=min(clip.end, clip.start + int(end) / 1000),
        text=better or str(found.get("text", "")),
        speaker=speaker,
    )


def _language(finals: dict[Key, dict[str, Any]]) -> str | None:
    """The language that most of the texts are in, as two letters."""
    votes: dict[str, float] = {}
    for found in finals.values():
        for language in found.get("languages") or []:
            code = str(language.get("languageCode", ""))[:2].lower()
            votes[code] = votes.get(code, 0.0) + float(language.get("probability", 0))
    return max(votes, key=lambda code: votes[code]) or None if votes else None
