"""Azure's errors -> ours, as far as its services agree; each service's module knows its own."""

from collections.abc import Callable

from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    ODataV4Format,
    ServiceRequestError,
    ServiceRequestTimeoutError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)

from webapp.provider_errors import FailureCode, ProviderError, ProviderUnavailable, RateLimited, TimedOut
from webapp.providers.vendor_http import retry_after_seconds

TRANSIENT = frozenset({408, 500, 502, 503, 504})


def general_error(error: AzureError, what: str, code: FailureCode = FailureCode.UNAVAILABLE) -> ProviderError:
    """Translate what every service may answer; `code` says that this one does not serve."""
    if isinstance(error, ServiceRequestTimeoutError | ServiceResponseTimeoutError):
        sent = isinstance(error, ServiceResponseTimeoutError)
        return TimedOut(f"{what}: no answer in time", is_outcome_unknown=sent)
    if isinstance(error, ServiceRequestError):
        return ProviderUnavailable(f"{what}: no connection", code=code)
    if isinstance(error, ServiceResponseError) or not isinstance(error, HttpResponseError):
        message = f"{what}: the connection broke off ({type(error).__name__})"
        return ProviderUnavailable(message, code=code, is_outcome_unknown=True)
    return _by_status(error, what, code)


def inner_codes(error: ODataV4Format | None) -> list[str]:
    """List the codes of an error from the outermost to the innermost, which says the most."""
    if error is None:
        return []
    found = [str(error.code or "")]
    inner: object = error.innererror
    while isinstance(inner, dict):
        found.append(str(inner.get("code", "")))
        inner = inner.get("innererror")
    return [code for code in found if code]


def described(error: HttpResponseError, what: str, redact: Callable[[str], str]) -> str:
    """Put an error into words for the error log."""
    words = getattr(error.error, "message", None) or ""
    return redact(f"{what}: {error.status_code} {'/'.join(inner_codes(error.error))} {words}")


def _by_status(error: HttpResponseError, what: str, code: FailureCode) -> ProviderError:
    status = error.status_code
    headers = getattr(error.response, "headers", {})
    if status in {401, 403}:
        message = f"{what}: {status}, the credentials were refused"
        return ProviderError(message, permanent=True, code=FailureCode.CREDENTIALS_REFUSED)
    if status == 429:
        return RateLimited(f"{what}: 429, too many requests", retry_after_seconds=retry_after_seconds(headers))
    if status in TRANSIENT:
        wait = retry_after_seconds(headers)
        return ProviderUnavailable(f"{what}: {status}", retry_after_seconds=wait, code=code)
    if status is None or status < 300:
        # A good answer that was cut, or that is none.
        message = f"{what}: the answer could not be read ({type(error).__name__})"
        return ProviderUnavailable(message, code=code, is_outcome_unknown=True)
    codes = "/".join(inner_codes(error.error))
    return ProviderError(f"{what}: {status} {codes}".rstrip(), permanent=True, code=FailureCode.REQUEST_REFUSED)
