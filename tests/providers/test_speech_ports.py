"""What is stored of recordings travels as JSON, also from processes that can't be trusted."""

import json
from typing import Any

import pytest

from webapp.providers.speech_ports import Analysis, Point, Segment, Sound, Transcript

SOUND = Sound(61.5, 2, bytes(range(10)), "Übung", ("w",))
TRANSCRIPT = Transcript((Segment(0.0, 1.25, "Ünï 🙂", "Speaker 1"), Segment(1.25, 2.0, "b")), "en")
ANALYSIS = Analysis("local", "1", "short", ("a",), (Point("do", 1),), (Point("why"),))


@pytest.mark.parametrize("written", [SOUND, TRANSCRIPT, ANALYSIS, Transcript(())])
def test_json_and_back(written: Sound | Transcript | Analysis) -> None:
    assert type(written).from_json(written.to_json()) == written
    assert type(written).from_plain(json.loads(written.to_json())) == written


def test_a_transcript_is_written_as_before() -> None:
    """The key of a kept answer follows from these bytes: others would be paid for again."""
    first = '{"start":0.0,"end":1.25,"text":"Ünï 🙂","speaker":"Speaker 1"}'
    second = '{"start":1.25,"end":2.0,"text":"b","speaker":null}'
    assert TRANSCRIPT.to_json().decode() == f'{{"segments":[{first},{second}],"language":"en"}}'


@pytest.mark.parametrize(
    ("written", "change"),
    [
        (SOUND, {"duration_seconds": -1}),
        (SOUND, {"duration_seconds": float("nan")}),
        (SOUND, {"duration_seconds": "1"}),
        (SOUND, {"channels": 3}),
        (SOUND, {"channels": True}),
        (SOUND, {"levels": "AQID"}),
        (SOUND, {"levels": "no base64!"}),
        (SOUND, {"levels": None}),
        (TRANSCRIPT, {"segments": [{"start": 0, "end": 1e8, "text": "", "speaker": None}]}),
        (TRANSCRIPT, {"segments": [{"start": 0, "end": 1, "text": None, "speaker": None}]}),
        (TRANSCRIPT, {"segments": [1]}),
        (TRANSCRIPT, {"language": 1}),
        (ANALYSIS, {"summary": None}),
        (ANALYSIS, {"topics": "a"}),
        (ANALYSIS, {"promises": [{"text": "a", "segment": "1"}]}),
        (ANALYSIS, {"promises": [{"segment": 1}]}),
    ],
)
def test_wrong_types_are_refused(written: Sound | Transcript | Analysis, change: dict[str, Any]) -> None:
    plain = json.loads(written.to_json()) | change
    with pytest.raises(ValueError, match=f"not a valid {type(written).__name__}"):
        type(written).from_plain(plain)


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"{}", b"[" * 100_000, b'{"segments":' + b"[" * 100_000])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a valid Transcript"):
        Transcript.from_json(data)
