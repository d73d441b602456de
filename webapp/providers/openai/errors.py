"""OpenAI's errors -> ours. Its client raises them; which of them can pass, its codes say."""

from collections.abc import Callable, Mapping

import openai

from webapp.provider_errors import BadInput, FailureCode, ProviderError, ProviderUnavailable, RateLimited, TimedOut
from webapp.providers.vendor_http import retry_after_seconds

# Both come as 429, but waiting does not help.
SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
TOO_LONG = "context_length_exceeded"
# Errors of the HTTP client where no request was sent: such a call costs nothing.
NEVER_LEFT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})


def openai_error(error: openai.OpenAIError, what: str, redact: Callable[[str], str]) -> ProviderError:
    """Translate whatever the client raises; `redact` makes its words fit for the error log."""
    never_left = type(error.__cause__).__name__ in NEVER_LEFT
    if isinstance(error, openai.APITimeoutError):
        return TimedOut(f"{what}: no answer in time", is_outcome_unknown=not never_left)
    if isinstance(error, openai.APIStatusError):
        return _by_status(error, what, redact)
    if isinstance(error, openai.APIConnectionError):
        return ProviderUnavailable(f"{what}: no connection, or it broke off", is_outcome_unknown=not never_left)
    return ProviderUnavailable(f"{what}: {type(error).__name__}", is_outcome_unknown=True)


def _by_status(error: openai.APIStatusError, what: str, redact: Callable[[str], str]) -> ProviderError:
    status, code = error.status_code, _code(error)
    if status in {401, 403}:
        # Its words quote a part of the key, so they are left out.
        message = f"{what}: {status}, the credentials were refused"
        return ProviderError(message, permanent=True, code=FailureCode.CREDENTIALS_REFUSED)
    if code in SPENT:
        return ProviderError(f"{what}: {status} {code}", permanent=True, code=FailureCode.QUOTA_EXHAUSTED)
    wait = retry_after_seconds(error.response.headers)
    if status == 429:
        return RateLimited(f"{what}: 429, too many requests", retry_after_seconds=wait)
    if status in {408, 409} or status >= 500:
        return ProviderUnavailable(f"{what}: {status}", retry_after_seconds=wait)
    message = redact(f"{what}: {status} {code} {_words(error)}")
    if code == TOO_LONG or status == 413:
        return BadInput(message, code=FailureCode.TOO_LARGE)
    return ProviderError(message, permanent=True, code=FailureCode.REQUEST_REFUSED)


def _code(error: openai.APIStatusError) -> str:
    body = error.body if isinstance(error.body, Mapping) else {}
    return str(error.code or body.get("type") or "")


def _words(error: openai.APIStatusError) -> str:
    body = error.body if isinstance(error.body, Mapping) else {}
    return str(body.get("message") or "")
