"""How much a web process does at once: connections, and threads for large requests."""

import resource

# An answer of this size needs no thread while its reader takes it in. More than any page is without signing in, and
# than most are.
SMALL_ANSWER_BYTES = 1 << 19
_CONNECTIONS_MAX = 1000
# Beside connections: the database's, files being read and written, parsers' pipes, libraries' own.
_OTHER_FILES = 300
_FILES_WANTED = 4096


def connections_max() -> int:
    """The number of connections that the open-files limit allows; the limit is raised as far as possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = max(soft, _FILES_WANTED)
    if soft < min(_FILES_WANTED, hard):
        soft = min(_FILES_WANTED, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return max(50, min(_CONNECTIONS_MAX, soft - _OTHER_FILES))


def upload_seats(threads: int) -> int:
    """How many uploads and large downloads may be under way: a quarter of the threads is never held by slow ones."""
    return max(1, threads - max(1, threads // 4))


def large_at_once(threads: int) -> int:
    """How many requests with a large body may have a thread: uploads, and some that are being refused.

    However many uploads are refused at the same time, the threads that are left serve pages.
    """
    return max(upload_seats(threads), threads - max(1, threads // 8))
