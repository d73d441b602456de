"""Why a source could not be polled, and why one of its items was not taken: codes, for which pages have sentences."""

from enum import StrEnum


class SourceTrouble(StrEnum):
    """Why a poll ended early."""

    FOLDER_NOT_ALLOWED = "folder_not_allowed"
    FOLDER_MISSING = "folder_missing"
    FOLDER_UNREADABLE = "folder_unreadable"
    TOO_MANY_FILES = "too_many_files"
    NOT_MAILDIR = "not_maildir"
    HOST_UNKNOWN = "host_unknown"
    HOST_PRIVATE = "host_private"
    PLAIN_REFUSED = "plain_refused"
    SERVER_UNREACHABLE = "server_unreachable"
    SERVER_LOST = "server_lost"
    SERVER_REFUSED = "server_refused"
    CERTIFICATE = "certificate"
    TLS_FAILED = "tls_failed"
    LOGIN_REFUSED = "login_refused"
    SECRET_LOST = "secret_lost"  # noqa: S105 - the name of a trouble
    MAILBOX_MISSING = "mailbox_missing"
    CANT_MOVE = "cant_move"
    CANT_DELETE = "cant_delete"
    STORAGE_FULL = "storage_full"
    STORAGE_AWAY = "storage_away"
    ORG_FULL = "org_full"
    UNEXPECTED = "unexpected"
    NOT_POLLED = "not_polled"
    """It has been due for long, and no process has polled it."""


class ItemReason(StrEnum):
    """Why an item waits, was skipped or failed; or what else is to be said of one that was taken."""

    # It waits.
    NEW = "new"
    CHANGED = "changed"
    UNREADABLE = "unreadable"
    SERVER_LOST = "server_lost"
    STORAGE_FULL = "storage_full"
    STORAGE_AWAY = "storage_away"
    ORG_FULL = "org_full"
    UNEXPECTED = "unexpected"
    # It was skipped.
    HIDDEN = "hidden"
    TEMPORARY = "temporary"
    EMPTY = "empty"
    LINK = "link"
    NO_FILE = "no_file"
    TOO_DEEP = "too_deep"
    TAKEN_FOLDER = "taken_folder"
    TOO_LARGE = "too_large"
    MISMATCH = "mismatch"
    GONE = "gone"
    # It was taken, but the library had these bytes.
    KNOWN = "known"
    RESTORED = "restored"
    # It was taken, but is still where it was.
    CANT_MOVE = "cant_move"
    CANT_DELETE = "cant_delete"


class SourceFailed(Exception):
    """A source can't be polled now."""

    def __init__(self, trouble: SourceTrouble) -> None:
        super().__init__(trouble.value)
        self.trouble = trouble


class ItemFailed(Exception):
    """An item can't be taken now: it waits, or is skipped where trying again changes nothing."""

    def __init__(self, reason: ItemReason, *, is_final: bool = False) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.is_final = is_final
