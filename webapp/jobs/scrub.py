"""Takes secrets and control characters out of words that will be stored, logged or shown.

Error messages quote what failed: addresses with passwords, headers with keys, signed URLs, bits
of hostile files. Too much is taken out rather than too little.
"""

import re

MASK = "***"
# Bounds the work on a message of any length; what is kept is far shorter anyway.
_READ_CHARACTERS_MAX = 20_000
_LONGEST_VALUE = 4_000

_NAMES = (
    r"(?:(?:api|account|access|shared|subscription|secret|private|encryption|client)[-_ ]?)*"
    r"(?:access[-_ ]?)?(?:key|secret|token|password|passwd|passphrase|pwd|signature|credential|authorization)"
)
# `password=…`, `"api_key": "…"`, `AccountKey=…;`, `Ocp-Apim-Subscription-Key: …`, also in query strings.
_NAMED = re.compile(
    rf"(?P<name>(?<![a-z0-9])[a-z0-9_.-]{{0,40}}?{_NAMES}|(?<![a-z0-9])(?:sig|pass|sid|cookie|set-cookie))"
    rf"(?P<between>['\"]?\s{{0,3}}(?:=|:|%3d)\s{{0,3}})"
    rf"(?P<value>\"[^\"]{{0,{_LONGEST_VALUE}}}\"?|'[^']{{0,{_LONGEST_VALUE}}}'?|[^\s&;,'\"<>]{{1,{_LONGEST_VALUE}}})",
    re.IGNORECASE,
)
# The value of a whole header is secret: `Authorization: Digest username=…, …`.
_HEADER = re.compile(
    rf"(?P<name>\b(?:proxy-)?authorization['\"]?\s{{0,3}}[:=]\s{{0,3}}|\b(?:set-)?cookie['\"]?\s{{0,3}}:\s{{0,3}})"
    rf"(?P<value>\"[^\"\n]{{0,{_LONGEST_VALUE}}}\"?|'[^'\n]{{0,{_LONGEST_VALUE}}}'?|[^\n\"']{{1,{_LONGEST_VALUE}}})",
    re.IGNORECASE,
)
_SCHEME = re.compile(
    r"\b(?P<scheme>bearer|basic|api-key|sharedaccesssignature)\s{1,3}[a-z0-9._~+/=&%-]{6,}", re.IGNORECASE
)
# `postgresql://user:password@host`, `https://token@host`.
_URL_USER = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]{1,30}://)[^\s/?#'\"<>]{1,500}@", re.IGNORECASE)
# The query of a signed URL grants what it signs.
_SIGNED_QUERY = re.compile(
    r"\?(?=[^\s'\"<>]{0,2000}?(?:sig|signature|x-amz-signature|token|x-goog-signature)=)[^\s'\"<>]{1,4000}",
    re.IGNORECASE,
)
# Keys whose form gives them away: OpenAI, JWT, Yandex, GitHub, AWS, Azure (32 hexadecimal digits, or 84 to 88
# of base64), and our own API tokens.
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_*-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"
    r"|\bAQVN[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{16,}"
    r"|\bA(?:KIA|SIA)[A-Z0-9]{16}\b"
    r"|(?<![0-9A-Fa-f-])[0-9A-Fa-f]{32}(?![0-9A-Fa-f-])"
    r"|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{84,88}={0,2}(?![A-Za-z0-9+/=])"
)
# Also what would rearrange a line (bidirectional marks) and what no database stores (lone surrogates).
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def scrubbed(words: str, characters_max: int = 2_000) -> str:
    """The same words, fit to be kept: no secrets, no control characters, no longer than asked for."""
    words = _CONTROL.sub("\ufffd", words[:_READ_CHARACTERS_MAX])
    words = _URL_USER.sub(rf"\g<scheme>{MASK}@", words)
    words = _SIGNED_QUERY.sub(f"?{MASK}", words)
    words = _HEADER.sub(rf"\g<name>{MASK}", words)
    words = _SCHEME.sub(rf"\g<scheme> {MASK}", words)
    words = _NAMED.sub(rf"\g<name>\g<between>{MASK}", words)
    words = _SHAPES.sub(MASK, words)
    return words if len(words) <= characters_max else words[: characters_max - 1] + "…"
