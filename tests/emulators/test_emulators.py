"""The emulators as programs of their own: for tests of other processes, and for trying things out."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.emulators.ports import free_port, wait_for_port
from tests.emulators.server import KEY
from tests.postgres import ROOT


@contextmanager
def program(name: str, *options: str) -> Iterator[str]:
    """The address of an emulator in a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", f"tests.emulators.{name}", "--port", str(port), *options]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        wait_for_port(port, 20, lambda: process.poll() is None)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def ask(url: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """A request with a JSON body, or without one; the status, and the answer's JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            content = answer.read()
            return answer.status, json.loads(content) if content else None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openai", "documentintelligence"])
def test_an_emulator_runs_by_itself_and_takes_orders(name: str) -> None:
    with program(name) as url:
        assert ask(f"{url}/control/ledger") == (200, {"calls": {}, "ledger": [], "most_in_flight": {}})
        assert ask(f"{url}/control/misbehave", {"kind": "status", "on": "models", "code": 503})[0] == 204
        key = {"Authorization": f"Bearer {KEY}", "Ocp-Apim-Subscription-Key": KEY}
        assert ask(f"{url}/v1/models", **key)[0] == (503 if name == "openai" else 404)
        assert ask(f"{url}/control/ledger")[1]["calls"]
        assert ask(f"{url}/control/reset", {})[0] == 204
        assert ask(f"{url}/control/ledger")[1]["calls"] == {}


def test_without_the_key_nothing_is_done_and_nothing_is_paid(openai: Any, documentintelligence: Any) -> None:
    address = f"{documentintelligence.url}/documentintelligence/documentModels/prebuilt-layout:analyze"
    assert ask(f"{address}?api-version=2024-11-30", {"base64Source": ""})[0] == 401
    assert ask(f"{openai.base_url}/embeddings", {"model": "m", "input": ["a"]})[0] == 401
    assert openai.ledger == documentintelligence.ledger == []


def test_vectors_come_as_numbers_or_as_base64(openai: Any) -> None:
    key = {"Authorization": f"Bearer {KEY}"}
    asked = {"model": "m", "input": "a single text", "dimensions": 8}
    _, numbers = ask(f"{openai.base_url}/embeddings", asked, **key)
    _, encoded = ask(f"{openai.base_url}/embeddings", {**asked, "encoding_format": "base64"}, **key)
    assert len(numbers["data"][0]["embedding"]) == 8
    assert isinstance(encoded["data"][0]["embedding"], str)
    assert openai.paid_twice() != {}
