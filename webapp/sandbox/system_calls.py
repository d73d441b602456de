"""A filter of system calls for parsers: they read what they were given and answer, and need little of the kernel.

Landlock forbids files, and an empty network namespace forbids the network, but neither stops a captured parser that
connects to a UNIX socket in the file system, leaves its process group, or changes the mode of a file. This does.
It names what is forbidden, not what is allowed: a library's next version may use another harmless call.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from dataclasses import dataclass

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
SECCOMP_MODE_FILTER = 2
CLONE_THREAD = 0x10000
X32_CALLS = 0x40000000

# One instruction of the filter's language: operation, two jumps, a number.
LOAD, IS_EQUAL, IS_AT_LEAST, HAS_BITS, ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
# Where it finds the call's number, the processor's kind and the arguments; little endian, so the low half comes first.
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16

# Each call's number on x86-64 and on 64-bit ARM, in the order of the columns; None where it does not exist.
_FORBIDDEN: dict[str, tuple[int | None, int | None]] = {
    # Talking to others. What is open already, the channel to the caller, stays open; so do pairs of sockets, by which a
    # library's threads wake each other, and which reach nobody else.
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "sendmsg": (46, 211), "recvmsg": (47, 212), "sendmmsg": (307, 269),
    "recvmmsg": (299, 243), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190),
    "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189),
    "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    # Making processes, leaving the group that is killed with the job, becoming somebody else.
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281), "setsid": (112, 157),
    "setpgid": (109, 154), "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setfsuid": (122, 151), "setfsgid": (123, 152),
    "setgroups": (116, 159), "capset": (126, 91), "personality": (135, 92), "setrlimit": (160, 164),
    # Reaching into other processes.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    # What Landlock does not cover of files: modes, owners, times, attributes, handles.
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "mknod": (133, None), "mknodat": (259, 33),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # Namespaces, mounts, and the machine as a whole, in case the parsers run as root.
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "sethostname": (170, 161),
    "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112), "acct": (163, 89),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "syslog": (103, 116), "iopl": (172, None), "ioperm": (173, None),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    # Large and rarely needed parts of the kernel, among them ways around this very filter.
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219),
}  # fmt: skip


@dataclass(frozen=True)
class _Machine:
    """What differs between processors: the kind's number, the column above, and the calls that depend on arguments."""

    kind: int
    column: int
    clone: int
    kill: int
    tgkill: int
    prctl: int
    prlimit: int


_MACHINES = {
    "x86_64": _Machine(0xC000003E, 0, clone=56, kill=62, tgkill=234, prctl=157, prlimit=302),
    "aarch64": _Machine(0xC00000B7, 1, clone=220, kill=129, tgkill=131, prctl=167, prlimit=261),
}
_CLONE3 = 435

_libc = ctypes.CDLL(None, use_errno=True)


def forbid_calls() -> bool:
    """Forbid this process, and all threads that it will have, what no parser needs; say whether it worked."""
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or sys.byteorder != "little" or machine is None:
        return False
    code = ctypes.create_string_buffer(program(machine, os.getpid()))
    instructions = (len(code) - 1) // 8
    described = struct.pack("@HP", instructions, ctypes.addressof(code))
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return int(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, described, 0, 0)) == 0


def program(machine: _Machine, pid: int) -> bytes:
    """The filter as the kernel reads it, for the process with this number."""
    numbers = [row[machine.column] for row in _FORBIDDEN.values()]
    steps = [
        # Calls of another processor's kind have other numbers, so none of them is looked at.
        _step(LOAD, ARCHITECTURE_AT), _step(IS_EQUAL, machine.kind, 1, 0), _step(ANSWER, KILL),
        _step(LOAD, NUMBER_AT), _step(IS_AT_LEAST, X32_CALLS, 0, 1), _step(ANSWER, KILL),
        # Its flags lie in memory, where a filter can't look. Without it, the C library takes `clone`.
        _step(IS_EQUAL, _CLONE3, 0, 1), _step(ANSWER, FAIL | errno.ENOSYS),
        *(step for number in numbers if number is not None for step in _refused(number)),
        # A new thread is no new process.
        *_unless(machine.clone, 0, [_step(HAS_BITS, CLONE_THREAD, 0, 1)]),
        # Signals to itself, as when it aborts.
        *_unless(machine.kill, 0, [_step(IS_EQUAL, pid, 0, 1)]),
        *_unless(machine.tgkill, 0, [_step(IS_EQUAL, pid, 0, 1)]),
        # Limits may be asked for, not set: the address of new ones is null, in both halves.
        *_unless(
            machine.prlimit, 2, [_step(IS_EQUAL, 0, 0, 3), _step(LOAD, _argument(2) + 4), _step(IS_EQUAL, 0, 0, 1)]
        ),
        # It must not outlive its parent.
        *_unless(machine.prctl, 0, [_step(IS_EQUAL, PR_SET_PDEATHSIG, 1, 0)]),
        _step(ANSWER, ALLOW),
    ]  # fmt: skip
    return b"".join(steps)


def _refused(number: int) -> list[bytes]:
    return [_step(IS_EQUAL, number, 0, 1), _step(ANSWER, FAIL | errno.EPERM)]


def _unless(number: int, argument: int, test: list[bytes]) -> list[bytes]:
    """Refuse a call unless a test of its argument goes on to the step that is directly behind it."""
    # After the tests: allow, refuse. What the call's number is must not be forgotten on the way past.
    return [
        _step(IS_EQUAL, number, 0, len(test) + 3),
        _step(LOAD, _argument(argument)),
        *test,
        _step(ANSWER, ALLOW),
        _step(ANSWER, FAIL | errno.EPERM),
    ]


def _argument(index: int) -> int:
    return ARGUMENTS_AT + 8 * index


def _step(operation: int, number: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, then, otherwise, number)
