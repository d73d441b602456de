"""What PostgreSQL does for others: the statements that it got and their CPU, and the CPU of all its processes.

The CPU of a statement is what its session used for it, by the server's own `log_statement_stats`. A transaction's BEGIN
and COMMIT are counted with its statements.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

_TICKS = os.sysconf("SC_CLK_TCK")
_HEAD = re.compile(r"^#(\d+)/(\d+) (?:LOG:  (?P<title>[A-Z ]+) STATISTICS|(?P<kind>[A-Z]+):  (?P<words>.*))$")
_USED = re.compile(r"^\t?!\s+([\d.]+) s user, ([\d.]+) s system, [\d.]+ s elapsed$")
_RUNS = ("EXECUTE MESSAGE", "QUERY")


@dataclass
class Sent:
    """A statement that a session ran, and the seconds of CPU for its parsing, planning and execution.

    `changes` says whether its transaction had changed or locked a row by then.
    """

    pid: int
    text: str
    seconds: float
    changes: bool


@dataclass
class Share:
    """How many statements are of a class, and their CPU."""

    number: float = 0
    seconds: float = 0.0


def cpu_of(pid: int, *, children: bool = False) -> float:
    """The seconds of CPU that a process has used; with `children` also those of all that it has started."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / _TICKS
    return own + cpu_of_children(pid) if children else own


def cpu_of_children(pid: int) -> float:
    """The seconds of CPU of all that a process has started, now and before."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / _TICKS + sum(_cpu_or_nothing(child) for child in _children(pid))


def _cpu_or_nothing(pid: int) -> float:
    try:
        return cpu_of(pid, children=True)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def _children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    try:
        return [int(child) for thread in threads for child in thread.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


class Server:
    """A running server, as its superuser sees it."""

    def __init__(self, owner_url: str) -> None:
        self._connection = psycopg.connect(owner_url, autocommit=True)
        self._folder = Path(self._asked("SHOW data_directory"))
        self.postmaster = int((self._folder / "postmaster.pid").read_text().split()[0])

    def cpu(self) -> float:
        """The seconds of CPU of all its processes so far, but for our own session's."""
        return cpu_of(self.postmaster, children=True) - cpu_of(self._connection.info.backend_pid)

    def wal_bytes(self) -> int:
        """How many bytes were written to the log of changes so far."""
        return int(self._asked("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint::text"))

    def sessions(self) -> int:
        """How many clients are connected, but for us."""
        return int(
            self._asked("SELECT (count(*) - 1)::text FROM pg_stat_activity WHERE backend_type = 'client backend'")
        )

    def close(self) -> None:
        """Leave."""
        self._connection.close()

    @contextmanager
    def noting(self) -> Iterator[list[Sent]]:
        """Note each statement until the block ends; the list is filled then."""
        found = list[Sent]()
        log = self._folder / "log"
        self._set(log_statement_stats="on", log_line_prefix="'#%p/%x '", log_checkpoints="off")
        begins = log.stat().st_size
        yield found
        self._set(log_statement_stats="off")
        with log.open(errors="replace") as lines:
            lines.seek(begins)
            found.extend(_read(lines, self._connection.info.backend_pid))

    def _set(self, **settings: str) -> None:
        for name, value in settings.items():
            self._connection.execute(f"ALTER SYSTEM SET {name} = {value}".encode())
        self._connection.execute("SELECT pg_reload_conf()")

    def _asked(self, statement: str) -> str:
        row = self._connection.execute(statement.encode()).fetchone()
        assert row is not None
        return str(row[0])


def _read(lines: Iterator[str], ours: int) -> Iterator[Sent]:
    """The statements of a log. Parts of one (parse, bind, execute) follow each other in its session."""
    parts: dict[int, float] = defaultdict(float)
    title, pid, seconds, text, changes = "", 0, 0.0, list[str](), False

    def ended() -> Iterator[Sent]:
        if not title or pid == ours:
            return
        parts[pid] += seconds
        if title in _RUNS:
            yield Sent(pid, "\n".join(text), parts.pop(pid), changes)

    for line in (each.rstrip("\n") for each in lines):
        head = _HEAD.match(line)
        if head and head["title"]:
            yield from ended()
            title, pid, seconds, text, changes = head["title"], int(head[1]), 0.0, [], head[2] != "0"
        elif head and head["kind"] == "STATEMENT" and int(head[1]) == pid:
            text.append(head["words"])
        elif head and head["kind"] not in {"DETAIL", "STATEMENT"}:
            yield from ended()
            title = ""
        elif used := _USED.match(line):
            seconds = float(used[1]) + float(used[2])
        elif text:
            text.append(line.strip())
    yield from ended()


def shares(sent: list[Sent], class_of: Callable[[Sent], str | None], order: list[str]) -> dict[str, Share]:
    """The statements by class. BEGIN and COMMIT (`class_of` is None) go to the class of their transaction.

    Of a transaction with statements of several classes that is the one that comes first in `order`.
    """
    found, open_now = defaultdict[str, Share](Share), dict[int, list[Sent]]()
    for each in sent:
        whole = open_now.setdefault(each.pid, [])
        whole.append(each)
        if each.text.upper().startswith(("COMMIT", "ROLLBACK")) or not whole[0].text.upper().startswith("BEGIN"):
            _add(found, open_now.pop(each.pid), class_of, order)
    for rest in open_now.values():
        _add(found, rest, class_of, order)
    return found


def _add(found: dict[str, Share], whole: list[Sent], class_of: Callable[[Sent], str | None], order: list[str]) -> None:
    classes = [class_of(each) for each in whole]
    named = [each for each in classes if each is not None]
    own = min(named, key=order.index) if named else order[-1]
    for each, name in zip(whole, classes, strict=True):
        share = found[name or own]
        share.number += 1
        share.seconds += each.seconds
