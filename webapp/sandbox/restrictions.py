"""Linux's ways to lock a process in: die with the parent, no network, no foreign files, no strays.

Each says whether it worked: some kernels and containers do not offer it. What follows from that is
the setting SANDBOX's to say.
"""

import ctypes
import os
import signal
import struct
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
RULE_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, TRUNCATE_SINCE = 1 << 14, 3
# Rights that a kernel knows grow with its Landlock version: files, then network, then scopes.
FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
TCP_RIGHTS, TCP_SINCE = 3, 4
SCOPES, SCOPES_SINCE = 3, 6

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Ask for SIGKILL when the parent dies; exit at once if it already has."""
    if sys.platform == "linux":
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(71)


def leave_network() -> int:
    """Move into an empty network namespace; give the namespaces that were left, 0 where that is not allowed."""
    if sys.platform != "linux":
        return 0
    return next((flags for flags in (CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNET) if _libc.unshare(flags) == 0), 0)


def adopt_strays() -> bool:
    """Become the parent of all descendants whose own parent dies, whatever group or session they moved to."""
    return sys.platform == "linux" and int(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0


def children() -> list[int]:
    """The processes whose parent this one is; none where the system does not tell."""
    try:
        own = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
        return [int(pid) for pid in own.split()]
    except OSError:
        return [pid for pid in _processes() if _parent_of(pid) == os.getpid()]


def forbid_files(readable: Sequence[str], writable: str | None = None) -> bool:
    """Allow this process to read `readable` and program files, to write `writable`, and no more; say whether it worked.

    The limit of the environment alone would not be enough: a captured parser could read the
    parent's through /proc, and the database file from its place.
    """
    version = landlock_version()
    if version < 1:
        return False
    handled = max(rights for since, rights in FILE_RIGHTS.items() if since <= version)
    ruleset = _create_ruleset(handled, version)
    if ruleset < 0:
        return False
    try:
        for path in _program_paths():
            _allow(ruleset, path, EXECUTE | READ_FILE | READ_DIR)
        for path in readable:
            _allow(ruleset, path, READ_FILE | READ_DIR if Path(path).is_dir() else READ_FILE)
        if writable is not None:
            _allow(ruleset, writable, READ_FILE | WRITE_FILE | (TRUNCATE if version >= TRUNCATE_SINCE else 0))
        _allow(ruleset, "/dev/null", READ_FILE | WRITE_FILE)
        _allow(ruleset, "/dev/urandom", READ_FILE)
        _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return int(_libc.syscall(RESTRICT_SELF, ruleset, 0)) == 0
    finally:
        os.close(ruleset)


def landlock_version() -> int:
    """Give the version of Landlock that this kernel has; below 1 there is none."""
    if sys.platform != "linux":
        return 0
    return int(_libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def _processes() -> list[int]:
    try:
        return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        return []


def _parent_of(pid: int) -> int | None:
    try:
        # The name comes second, in brackets, and may hold anything.
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _create_ruleset(handled: int, version: int) -> int:
    fields = [handled]
    if version >= TCP_SINCE:
        fields.append(TCP_RIGHTS)
    if version >= SCOPES_SINCE:
        fields.append(SCOPES)
    data = struct.pack(f"={len(fields)}Q", *fields)
    return int(_libc.syscall(CREATE_RULESET, data, ctypes.c_size_t(len(data)), 0))


def _allow(ruleset: int, path: str, rights: int) -> None:
    # A program path that is not there needs no permission.
    with suppress(OSError):
        number = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = struct.pack("=Qi", rights, number)
            _libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0)
        finally:
            os.close(number)


def _program_paths() -> list[str]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    libraries = [sysconfig.get_paths()[name] for name in names]
    return [*libraries, str(Path(__file__).resolve().parents[1]), "/lib", "/lib64", "/usr/lib", "/usr/share"]
