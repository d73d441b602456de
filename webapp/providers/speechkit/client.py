"""Transcribes speech with Yandex SpeechKit v3, asynchronously: start, look after, read, have removed.

The recording travels inside the request, so no bucket is needed. The service's answer to
`start` is an operation's id; everything after that only reads.
"""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from webapp.provider_errors import (
    BadInput,
    FailureCode,
    OperationLost,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    TimedOut,
)
from webapp.providers.speech_files import CutFile
from webapp.providers.speech_ports import Clip, Operation, Transcript
from webapp.providers.speech_text import cleaned
from webapp.providers.speechkit.answer import read_answer
from webapp.providers.spoken import SPEECHKIT
from webapp.providers.vendor_http import redactor, retry_after_seconds

# Part of the cache's key: count it up when the same sound would give another result.
RULES = 1
RECOGNISE, RESULT, REMOVE = "/stt/v3/recognizeFileAsync", "/stt/v3/getRecognition", "/stt/v3/deleteRecognition"
# A request may have 60 MB, and base64 makes four bytes of three.
CONTENT_BYTES_MAX = 44_000_000
BLOCK_BYTES = 3 << 18
ANSWER_BYTES_MAX = 200_000_000
# Codes of the operation's status (google.rpc.Code) that blame the recording, not the service.
INVALID_ARGUMENT, OUT_OF_RANGE = 3, 11


@dataclass(frozen=True)
class Options:
    """What is asked of the service besides the recording."""

    language: str = "auto"
    model: str = "general"
    poll_seconds: float = 10.0


class SpeechKit:
    """A Recogniser at Yandex."""

    name = "speechkit"
    # The service takes four hours; two of them in two channels are 43 MB.
    clip_seconds_max = 7_200.0
    tells_channels = True

    def __init__(
        self, url: str, operations_url: str, api_key: str, options: Options, cut: CutFile, *, timeout_seconds: float
    ) -> None:
        self.version = f"{RULES}+v3-{options.model}"
        self.result_wait_seconds = options.poll_seconds
        self._url, self._operations_url = url, operations_url
        self._options = options
        self._cut = cut
        self._redact = redactor(api_key)
        # Proxies and certificates of the environment are left to it; its retries are none.
        self._client = httpx2.Client(headers={"Authorization": f"Api-Key {api_key}"}, timeout=timeout_seconds)

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def options_key(self) -> str:
        """Give the options that can change a result."""
        return f"language={self._options.language}"

    def check(self) -> None:
        """Ask after an operation that cannot be there: any answer but a refusal of the key will do."""
        with self._translated("check"), suppress(OperationLost):
            self._answered(self._client.get(f"{self._operations_url}/operations/none"), "check")

    def start(
        self, audio: Path, clip: Clip, *, timeout_seconds: float, progress: Callable[[float], None]
    ) -> Transcript | Operation:
        """Send a clip. The answer is an operation; when it was lost, nobody knows whether there is one."""
        settings = self._settings(clip.language)
        with self._cut(audio, clip, timeout_seconds) as file:
            size = file.stat().st_size
            if size > CONTENT_BYTES_MAX:
                raise BadInput(f"{size} bytes are more than a request may have", code=FailureCode.TOO_LARGE)
            with self._translated("start"):
                answer = self._client.post(
                    self._url + RECOGNISE,
                    content=_body(file, settings),
                    headers={"Content-Type": "application/json", "Content-Length": str(_length(settings, size))},
                    timeout=timeout_seconds,
                )
                found = self._answered(answer, "start").json()
        progress(1.0)
        if not isinstance(found, dict) or not isinstance(found.get("id"), str) or not found["id"]:
            # Something was paid for, and is lost.
            raise ProviderUnavailable("start: the answer names no operation", is_outcome_unknown=True)
        return Operation(found["id"])

    def fetch(self, operation: Operation, clip: Clip) -> Transcript | None:
        """The result; None while there is none. It may come a little after the operation is done."""
        with self._translated("look"):
            found = self._answered(self._client.get(f"{self._operations_url}/operations/{operation.id}"), "look").json()
        if not isinstance(found, dict):
            raise ProviderUnavailable("look: the answer is no operation")
        if error := found.get("error"):
            raise self._failure(error)
        return self._result(operation, clip) if found.get("done") else None

    def forget(self, operation: Operation) -> None:
        """Have the result removed there; what fails is removed by the service itself after three days."""
        with suppress(httpx2.HTTPError):
            self._client.delete(self._url + REMOVE, params={"operation_id": operation.id})

    def _result(self, operation: Operation, clip: Clip) -> Transcript | None:
        with self._translated("result"):
            answer = self._client.get(self._url + RESULT, params={"operation_id": operation.id})
            if answer.status_code == 404:
                # Done, but not written everywhere yet.
                return None
            body = self._answered(answer, "result").content
        if len(body) > ANSWER_BYTES_MAX:
            raise ProviderUnavailable("result: larger than a transcript can be")
        try:
            return cleaned(read_answer(body, clip))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProviderUnavailable(f"result: it could not be read ({type(error).__name__})") from error

    def _failure(self, error: Any) -> ProviderError:
        code = error.get("code") if isinstance(error, dict) else None
        words = self._redact(str(error.get("message") or "")) if isinstance(error, dict) else ""
        if code in {INVALID_ARGUMENT, OUT_OF_RANGE}:
            return BadInput(f"the recording was refused: {words}")
        return OperationLost(f"the operation failed: {code} {words}")

    def _settings(self, chosen: str | None) -> dict[str, Any]:
        language = self._options.language if chosen is None else SPEECHKIT.get(chosen)
        if language is None:
            raise BadInput(f"SpeechKit knows no {chosen}", code=FailureCode.LANGUAGE)
        return {
            "recognitionModel": {
                "model": self._options.model,
                "audioFormat": {"containerAudio": {"containerAudioType": "OGG_OPUS"}},
                "textNormalization": {"textNormalization": "TEXT_NORMALIZATION_ENABLED", "literatureText": True},
                "languageRestriction": {"restrictionType": "WHITELIST", "languageCode": [language]},
                "audioProcessingType": "FULL_DATA",
            },
            "speakerLabeling": {"speakerLabeling": "SPEAKER_LABELING_ENABLED"},
        }

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise ProviderUnavailable(f"{what}: no connection") from error
        except httpx2.TimeoutException as error:
            raise TimedOut(f"{what}: no answer in time", is_outcome_unknown=True) from error
        except httpx2.HTTPError as error:
            raise ProviderUnavailable(f"{what}: {type(error).__name__}", is_outcome_unknown=True) from error
        except ValueError as error:
            raise ProviderUnavailable(f"{what}: the answer could not be read", is_outcome_unknown=True) from error

    def _answered(self, answer: httpx2.Response, what: str) -> httpx2.Response:
        status = answer.status_code
        if status < 300:
            return answer
        if status in {401, 403}:
            message = f"{what}: {status}, the key was refused"
            raise ProviderUnavailable(message, permanent=True, code=FailureCode.CREDENTIALS_REFUSED)
        wait = retry_after_seconds(answer.headers)
        if status == 429:
            raise RateLimited(f"{what}: 429, too many requests", retry_after_seconds=wait)
        if status == 404:
            raise OperationLost(f"{what}: 404, the operation is not known")
        if status == 408 or status >= 500:
            raise ProviderUnavailable(f"{what}: {status}", retry_after_seconds=wait)
        message = self._redact(f"{what}: {status} {answer.text[:1000]}")
        raise ProviderError(message, permanent=True, code=FailureCode.REQUEST_REFUSED)


_CLOSING = b'"}'


def _opening(settings: dict[str, Any]) -> bytes:
    return json.dumps(settings).encode()[:-1] + b', "content": "'


def _length(settings: dict[str, Any], size: int) -> int:
    return len(_opening(settings)) + 4 * -(-size // 3) + len(_CLOSING)


def _body(file: Path, settings: dict[str, Any]) -> Iterator[bytes]:
    """The request piece by piece: base64 of two hours would be much to hold at once."""
    yield _opening(settings)
    with file.open("rb") as opened:
        while block := opened.read(BLOCK_BYTES):
            yield base64.b64encode(block)
    yield _CLOSING
