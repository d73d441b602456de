"""An emulator of Yandex SpeechKit v3 (asynchronous): `python -m tests.emulators.speechkit --port 9003`.

It takes the recording apart as the service does (base64 of Ogg Opus) and "hears" one sentence of
its script for each two seconds. An operation is done after so many looks, or when a test says so.
"""

import argparse
import base64
import hashlib
import io
import json
from dataclasses import dataclass
from typing import Any

import av

from tests.emulators.server import Emulator, Fault, Reply, Request

SCRIPT = (
    "good morning everyone",
    "today we talk about the harbour contract",
    "who is going to call the customer",
    "i will send the signed invoice by friday",
)
SECONDS_EACH = 2.0
BODY_BYTES_MAX = 60_000_000


@dataclass
class Operation:
    """A recognition and how far it is."""

    id: str
    seconds: float
    channels: int
    looks: int = 0
    is_removed: bool = False


class SpeechKitServer(Emulator):
    """The server."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)

    def reset(self) -> None:
        super().reset()
        with self.lock:
            self.operations: dict[str, Operation] = {}
            self.looks_needed = 1
            self.is_holding = False

    def kind_of(self, request: Request) -> str:
        if request.path.startswith("/operations/"):
            return "look"
        return {"recognizeFileAsync": "start", "getRecognition": "result", "deleteRecognition": "remove"}.get(
            request.path.rpartition("/")[2], "unknown"
        )

    def is_known(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Api-Key {self.key}"

    def error(self, status: int, request: Request) -> Any:
        return {"error": {"code": status, "message": f"refused with {request.headers.get('authorization', '')}"}}

    def answer(self, kind: str, request: Request) -> Reply:
        match kind:
            case "start":
                return self._start(request)
            case "look":
                return self._look(request.path.rpartition("/")[2])
            case "result":
                return self._result(request.query.get("operation_id", ""))
            case "remove":
                with self.lock:
                    self.operations[request.query["operation_id"]].is_removed = True
                return Reply(200, {})
            case _:
                return Reply(404, self.error(404, request))

    def special(self, fault: Fault, reply: Reply) -> Reply:
        match fault.kind:
            case "failed":
                return Reply(200, {**reply.body, "done": True, "error": {"code": fault.code, "message": "no luck"}})
            case "not_ready":
                return Reply(404, {"error": {"code": 5, "message": "operation data is not ready"}})
            case _:
                return super().special(fault, reply)

    def _start(self, request: Request) -> Reply:
        asked = json.loads(request.body)
        container = asked["recognitionModel"]["audioFormat"]["containerAudio"]["containerAudioType"]
        if len(request.body) > BODY_BYTES_MAX or container != "OGG_OPUS":
            return Reply(400, self.error(400, request))
        audio = base64.b64decode(asked["content"], validate=True)
        seconds, channels = measure(audio)
        with self.lock:
            self.asked_languages.extend(asked["recognitionModel"]["languageRestriction"]["languageCode"])
            operation = Operation(f"op{len(self.operations) + 1:04}", seconds, channels)
            self.operations[operation.id] = operation
        self.pay("start", hashlib.sha256(audio).hexdigest(), round(seconds))
        return Reply(200, {"id": operation.id, "done": False})

    def _look(self, operation_id: str) -> Reply:
        with self.lock:
            operation = self.operations.get(operation_id)
            if operation is None:
                return Reply(404, {"error": {"code": 5, "message": "no such operation"}})
            operation.looks += 1
            is_done = not self.is_holding and operation.looks > self.looks_needed
        return Reply(200, {"id": operation_id, "done": is_done})

    def _result(self, operation_id: str) -> Reply:
        with self.lock:
            operation = self.operations[operation_id]
        lines = [line for channel in range(operation.channels) for line in _lines(operation, channel)]
        return Reply(200, "\n".join(json.dumps(line) for line in lines).encode())


def measure(audio: bytes) -> tuple[float, int]:
    """How long a recording is, and how many channels it has."""
    with av.open(io.BytesIO(audio), "r", format="ogg") as container:
        stream = container.streams.audio[0]
        samples = sum(int(frame.samples) for frame in container.decode(stream))
        return samples / 48_000, stream.layout.nb_channels


def sentences(seconds: float) -> list[tuple[float, float, str]]:
    """What is heard when: one sentence of the script after the other."""
    count = max(1, int(seconds // SECONDS_EACH))
    each = seconds / count
    return [(place * each, (place + 1) * each, SCRIPT[place % len(SCRIPT)]) for place in range(count)]


def _lines(operation: Operation, channel: int) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for index, (start, end, text) in enumerate(sentences(operation.seconds)):
        times = {"startTimeMs": str(int(start * 1000)), "endTimeMs": str(int(end * 1000))}
        alternative = {"text": text, "words": [{"text": text.split()[0], **times}], **times}
        alternative["languages"] = [{"languageCode": "en-US", "probability": 0.9}]
        better = {"alternatives": [{"text": f"{text.capitalize()}.", **times}]}
        common = {"channelTag": str(channel), "audioCursors": {"finalIndex": str(index)}}
        lines.append({"result": {**common, "partial": {"alternatives": [{"text": text[:5]}]}}})
        lines.append({"result": {**common, "final": {"alternatives": [alternative]}}})
        refinement = {"finalIndex": str(index), "normalizedText": better}
        lines.append({"result": {**common, "finalRefinement": refinement}})
        lines.append({"result": {**common, "eouUpdate": {"timeMs": times["endTimeMs"]}}})
    return lines


def main() -> None:
    """Run by itself."""
    parser = argparse.ArgumentParser(description="An emulator of Yandex SpeechKit.")
    parser.add_argument("--port", type=int, required=True)
    SpeechKitServer(parser.parse_args().port).serve_forever()


if __name__ == "__main__":
    main()
