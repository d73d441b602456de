"""A running installation: real processes, spoken to over HTTP as programs do."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.emulators.ports import free_port
from tests.postgres import ROOT
from tests.preloaded import Preloaded, is_program, printed_by
from tests.worker.bench import wait_for

MODELS = ROOT / ".cache" / "models"
BIN = ROOT / ".venv" / "bin"
END_SECONDS = 45.0
# A long document on a machine that does other things as well.
WORK_SECONDS = 90.0


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(END_SECONDS)


@dataclass
class Installation:
    """Settings, and the processes that were started with them."""

    variables: Mapping[str, str]
    log: Path
    port: int = field(default_factory=free_port)
    token: str = ""
    patience_seconds: float = 20.0
    folder: Path = ROOT

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the tests' own environment but the way to programs."""
        return {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "FLASK_SKIP_DOTENV": "1",
            "SECRET_KEY": "a key for tests only",
            "MODELS_DIR": str(MODELS),
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "PYTHONUNBUFFERED": "1",
            **self.variables,
        }

    @contextlib.contextmanager
    def running(self, *command: str) -> Iterator["subprocess.Popen[bytes]"]:
        """A process in a session of its own, ended in the end; one that does not want to is killed.

        It is asked first, since a process manager's children have sessions of their own: only it ends them.
        """
        process = self._start(command)
        try:
            yield process
        finally:
            _end(process)

    def _start(self, command: Sequence[str]) -> "subprocess.Popen[bytes]":
        if is_program(command) and self.folder == ROOT:
            return Preloaded(command, self.environment, self.log)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def flask(self, *arguments: str) -> str:
        """What a command prints."""
        command = ["flask", "--app", "wsgi", *arguments]
        if self.folder == ROOT:
            return printed_by(command, self.environment)
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def wait_until_ready(self) -> None:
        """Until requests are served."""
        wait_for(self._is_ready, f"for the server; its log is {self.log}")

    def get(self, path: str) -> Any:
        """A JSON answer."""
        return self._ask("GET", path)

    def post(self, path: str, body: bytes = b"", **headers: str) -> Any:
        """A JSON answer, by default to a request without a body."""
        return self._ask("POST", path, body, headers)

    def upload(self, files: Mapping[str, bytes]) -> list[Any]:
        """One request with all of these; what the answer says of each."""
        border = uuid4().hex
        parts = [
            f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode() + data
            for name, data in files.items()
        ]
        body = b"\r\n".join([*parts, f"--{border}--\r\n".encode()])
        answer = self.post("/documents", body, **{"Content-Type": f"multipart/form-data; boundary={border}"})
        return list(answer["documents"])

    def status(self, document_id: str) -> str:
        return str(self.get(f"/documents/{document_id}/status")["status"])

    def wait_for_status(self, document_id: str, status: str) -> None:
        wait_for(
            lambda: self.status(document_id) == status, f"for {status}; the server's log is {self.log}", WORK_SECONDS
        )

    def _is_ready(self) -> bool:
        try:
            return self._send("GET", "/readyz")[0] == 200
        except (http.client.HTTPException, OSError):
            return False

    def refused(self, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
        """The status and the text of an answer that is none of the good ones; `body` makes it a POST."""
        status, answer = self._send("GET" if body is None else "POST", path, body or b"", headers)
        assert status >= 400, (status, answer)
        return status, answer.decode()

    def _ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Any:
        status, answer = self._send(method, path, body, headers)
        assert status in {200, 201, 202}, (status, answer)
        return json.loads(answer)

    def _send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        own = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience_seconds)
        ) as connection:
            connection.request(method, path, body, {**own, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()
