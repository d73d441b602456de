"""The endpoints of the OpenAI emulator that hear and understand: transcriptions and chat.

It "hears" the script of the other emulator. As a chat model it fills in the form that it is
given, or obeys when the transcript orders it to, as a model may: what it then writes is what the
product has to live with.
"""

import hashlib
import json
import re
from email import message_from_bytes
from typing import TYPE_CHECKING, Any

from tests.emulators.server import Fault, Reply, Request
from tests.emulators.speechkit import measure, sentences

if TYPE_CHECKING:
    from tests.emulators.openai import OpenAI

INVENTED_IBAN = "DE89370400440532013000"
SEDUCED = "I was told to say this <script>alert(1)</script>"


def transcriptions(server: "OpenAI", request: Request) -> Reply:
    """POST /v1/audio/transcriptions."""
    parts = _parts(request)
    audio, model, form = parts["file"], parts["model"].decode(), parts["response_format"].decode()
    server.asked_languages.append(parts.get("language", b"auto").decode())
    seconds, _ = measure(audio)
    server.pay("transcription", hashlib.sha256(audio).hexdigest(), round(seconds))
    text = " ".join(f"{sentence.capitalize()}." for _, _, sentence in sentences(seconds))
    if form == "json":
        return Reply(200, {"text": text})
    if form != "verbose_json" or not model.startswith("whisper"):
        return Reply(400, {"error": {"message": f"{form} is not for {model}", "type": "invalid_request_error"}})
    segments = [
        {"id": place, "start": start, "end": end, "text": f" {sentence.capitalize()}."}
        for place, (start, end, sentence) in enumerate(sentences(seconds))
    ]
    return Reply(
        200, {"task": "transcribe", "language": "english", "duration": seconds, "text": text, "segments": segments}
    )


def chat(server: "OpenAI", request: Request) -> Reply:
    """POST /v1/chat/completions."""
    asked = json.loads(request.body)
    if asked.get("stream"):
        return _streamed(server, asked, request.body)
    form = asked["response_format"]["json_schema"]
    transcript = asked["messages"][-1]["content"]
    server.pay("chat", hashlib.sha256(request.body).hexdigest(), len(transcript))
    fill_in = _read_fields if form["name"] == "fields" else _filled_in
    content = json.dumps(fill_in(form["schema"], json.loads(transcript)))
    message = {"role": "assistant", "content": content, "refusal": None}
    choices = [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}]
    usage = {"prompt_tokens": len(transcript) // 4, "completion_tokens": 50, "total_tokens": len(transcript) // 4 + 50}
    return Reply(
        200,
        {
            "id": "chat1",
            "object": "chat.completion",
            "created": 1,
            "model": asked["model"],
            "choices": choices,
            "usage": usage,
        },
    )


def special(fault: Fault, reply: Reply) -> Reply | None:
    """How these endpoints go wrong in ways of their own."""
    if fault.kind != "unfit":
        return None
    message = {"role": "assistant", "content": '{"summary": "Half a form"}', "refusal": None}
    return Reply(200, {**reply.body, "choices": [{**reply.body["choices"][0], "message": message}]})


def _streamed(server: "OpenAI", asked: dict[str, Any], body: bytes) -> Reply:
    """An answer as events: the passages that share a word with the question, and a sentence that none of them holds."""
    material = json.loads(asked["messages"][-1]["content"])
    server.pay("answer", hashlib.sha256(body).hexdigest(), 1)
    words = {word for word in material["question"].lower().strip("?").split() if len(word) > 3}
    lines = [
        f"{line} [{passage['number']}]"
        for passage in material["passages"]
        for line in re.split(r"(?<=[.]) ", passage["text"])
        if words & set(line.lower().replace(".", "").split())
    ]
    text = "\n".join([*lines, "It happened in 1789. [1]", "Nobody says so."]) if lines else "NONE"
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    deltas: list[dict[str, Any]] = [{"delta": {"content": piece}, "finish_reason": None} for piece in pieces]
    deltas.append({"delta": {}, "finish_reason": "stop"})
    event = {"id": "chat1", "object": "chat.completion.chunk", "created": 1, "model": asked["model"]}
    events = [f"data: {json.dumps({**event, 'choices': [{'index': 0, **delta}]})}\n\n" for delta in deltas]
    return Reply(200, ("".join(events) + "data: [DONE]\n\n").encode(), {"Content-Type": "text/event-stream"})


def _read_fields(schema: dict[str, Any], pages: list[dict[str, Any]]) -> dict[str, Any]:
    """The lines "Label: value" whose label is a field's name, and what no page says, as models make things up."""
    kinds = schema["properties"]["values"]["items"]["properties"]["field"]["enum"]
    papers = schema["properties"]["document"]["enum"]
    values = [
        {"field": kind, "value": value.strip(), "page": page["number"]}
        for page in pages
        for line in page["text"].splitlines()
        for label, colon, value in [line.replace("**", "").partition(":")]
        if colon and (kind := label.strip().lower().replace(" ", "_")) in kinds
    ]
    named = next((paper for paper in papers if any(paper in page["text"].lower() for page in pages)), "none")
    invented = [{"field": "iban", "value": INVENTED_IBAN, "page": 1}] if "iban" in kinds else []
    return {"document": named, "values": [*values, *invented]}


def _filled_in(schema: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {name: [] for name in schema["required"]}
    seduced = next((row for row in rows if "ignore all previous" in row["text"].lower()), None)
    found["summary"] = SEDUCED if seduced else f"A talk of {len(rows)} sentences about a contract."
    found["topics"] = ["harbour contract", "invoice"]
    for row in rows:
        point = {"text": row["text"], "segment": row["number"]}
        if row["text"].lower().startswith("who"):
            found["questions"].append(point)
        if "i will" in row["text"].lower():
            found["promises"].append(point)
            found["action_items"].append({"text": "Send the invoice", "segment": row["number"]})
    return found


def _parts(request: Request) -> dict[str, bytes]:
    head = b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n"
    message = message_from_bytes(head + request.body)
    found = {}
    for part in message.walk():
        name = part.get_param("name", header="content-disposition")
        data = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(data, bytes):
            found[name] = data
    return found
