"""How providers, readers and the sandbox fail: a closed set of errors that carry the decision, never only words.

It lies below all three, since a reader in the sandbox raises the same errors as a vendor's client.
A caller that retries reads `permanent`, `retry_after_seconds` and `code`. The message is for the
error log: what a person reads is a sentence chosen by the code, in the templates.
"""

from enum import StrEnum


class FailureCode(StrEnum):
    """Why a provider could not do its work; one sentence for people belongs to each."""

    # The file itself is the reason, and trying again changes nothing.
    ENCRYPTED = "encrypted"
    CORRUPT = "corrupt"
    EMPTY = "empty"
    UNSUPPORTED = "unsupported"
    # The file needs a password; then it was the wrong one, or is gone before it was used; or no password helps here.
    WRONG_PASSWORD = "wrong_password"  # noqa: S105 - the name of a failure
    PASSWORD_GONE = "password_gone"  # noqa: S105 - the name of a failure
    LOCK_UNKNOWN = "lock_unknown"
    TOO_LARGE = "too_large"
    NO_TEXT = "no_text"
    UNKNOWN_SCRIPT = "unknown_script"
    NO_SOUND = "no_sound"
    SILENT = "silent"
    NO_SPEECH = "no_speech"
    TOO_LONG = "too_long"
    TOO_MANY_PAGES = "too_many_pages"
    # What lies in a container is more than its org may store.
    ORG_FULL = "org_full"
    LANGUAGE = "language"
    # The provider is the reason, and later may be better.
    UNAVAILABLE = "unavailable"
    STORAGE_UNAVAILABLE = "storage_unavailable"
    STORAGE_FULL = "storage_full"
    MODEL_MISSING = "model_missing"
    CREDENTIALS_REFUSED = "credentials_refused"
    REQUEST_REFUSED = "request_refused"
    QUOTA_EXHAUSTED = "quota_exhausted"
    RATE_LIMITED = "rate_limited"
    TIMED_OUT = "timed_out"
    # The parser died; the message names the signal or the limit.
    PARSER_CRASHED = "parser_crashed"
    PARSER_MEMORY = "parser_memory"
    # SANDBOX=require, on a machine that can't lock parsers in as it should.
    SANDBOX_INCOMPLETE = "sandbox_incomplete"
    BLOB_MISSING = "blob_missing"
    BLOB_EXISTS = "blob_exists"


class ProviderError(Exception):
    """The root of every failure that a provider reports on purpose."""

    default_code = FailureCode.UNAVAILABLE
    default_permanent = False

    def __init__(
        self,
        message: str,
        *,
        permanent: bool | None = None,
        retry_after_seconds: float | None = None,
        code: FailureCode | None = None,
        is_outcome_unknown: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.permanent = self.default_permanent if permanent is None else permanent
        self.retry_after_seconds = retry_after_seconds
        self.code = self.default_code if code is None else code
        # No answer came, or none of use: the call may have been carried out all the same, and be on the bill.
        self.is_outcome_unknown = is_outcome_unknown


class BadInput(ProviderError):
    """The file can't be processed, now or later; `code` says what is wrong with it."""

    default_code = FailureCode.CORRUPT
    default_permanent = True


class ProviderUnavailable(ProviderError):
    """The provider does not answer, is full or is not set up."""


class Busy(ProviderUnavailable):
    """So many ask at once that this one has to come again, soon: no fault of anybody."""


class RateLimited(ProviderError):
    """The provider asks us to wait, mostly with `retry_after_seconds`."""

    default_code = FailureCode.RATE_LIMITED


class TimedOut(ProviderError):
    """The work took longer than its caller allows and was ended."""

    default_code = FailureCode.TIMED_OUT


class ParserCrashed(ProviderError):
    """A parser's process died or broke a limit. Not permanent: the queue counts attempts."""

    default_code = FailureCode.PARSER_CRASHED


class OperationLost(ProviderError):
    """Work that went on elsewhere failed or is forgotten there: it has to be started anew."""

    default_permanent = True


class BlobMissing(ProviderError):
    """There is no blob at this path, and waiting brings none."""

    default_code = FailureCode.BLOB_MISSING
    default_permanent = True


class BlobExists(ProviderError):
    """Something lies at this path already; it was left as it is."""

    default_code = FailureCode.BLOB_EXISTS
    default_permanent = True
