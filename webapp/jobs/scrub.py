"""Removes secrets and control characters from texts that will be stored, logged or shown.

Error messages quote what failed: addresses with passwords, headers with keys, signed URLs, bits
of hostile files. It removes too much rather than too little.
"""

import re

MASK = "***"
# No more of a message is looked at; what is kept is far shorter anyway.
_READ_CHARACTERS_MAX = 20_000

# Quantifiers are possessive (`++`) or short, names begin where no name goes on: hostile words must not
# make a pattern try again from every character.
_TELLING = "key secret token password passwd passphrase pwd pass signature credential credentials authorization cookie"
_ENDS_LIKE_A_SECRET = "|".join(f"(?<={ending})" for ending in [*_TELLING.split(), "sid", "sig"])
_VALUE = r"""(?!\*\*\*)(?:\\?"(?:[^"\\]|\\.)*+"?|\\?'[^']*+'?|[^\s&;,'"<>]++)"""
# `password=…`, `"api_key": "…"`, `AccountKey=…;`, `Ocp-Apim-Subscription-Key: …`, also in query strings.
_NAMED = re.compile(
    rf"(?P<name>(?<![\w.-])[\w.-]{{1,200}}+(?:{_ENDS_LIKE_A_SECRET})\\?['\"]?\s{{0,3}}(?:=|:)\s{{0,3}}){_VALUE}",
    re.IGNORECASE,
)
# Without quotes, the rest of the line is the header's value.
_HEADER = re.compile(r"(?P<name>\b(?:authorization|cookie)\s{0,3}[:=]\s{0,3})(?!\*\*\*)[^\s'\"][^\n]*+", re.IGNORECASE)
_SCHEME = re.compile(
    r"\b(?P<scheme>bearer|basic|api-key|sharedaccesssignature)\s{1,3}[a-z0-9._~+/=&%-]{6,}+", re.IGNORECASE
)
# `postgresql://user:password@host`, `https://token@host`; a careless password may hold a slash.
_URL_USER = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.-]{1,30}://)(?:[^\s/?#'\"<>]{1,500}|[^\s/:@]{0,100}:[^\s'\"<>]{1,500})@",
    re.IGNORECASE,
)
_QUERY = re.compile(r"\?[^\s'\"<>]++")
_SIGNED = re.compile(r"(?:sig|signature|token|credential)=", re.IGNORECASE)
# Keys whose form gives them away: OpenAI, JWT, Yandex, GitHub, AWS, Azure (32 hexadecimal digits, or
# 84 to 88 of base64).
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_*-]{8,}+"
    r"|\beyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{4,}+(?:\.[A-Za-z0-9_-]*+)?"
    r"|\bAQVN[A-Za-z0-9_-]{16,}+"
    r"|\bgh[pousr]_[A-Za-z0-9]{16,}+"
    r"|\bA(?:KIA|SIA)[A-Z0-9]{16}\b"
    r"|(?<![0-9A-Fa-f-])[0-9A-Fa-f]{32}(?![0-9A-Fa-f-])"
    r"|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{84,88}={0,2}(?![A-Za-z0-9+/=])"
)
# Also what would rearrange a line (bidirectional marks) and what no database stores (lone surrogates).
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def scrubbed(words: str, characters_max: int = 2_000) -> str:
    """The same text without secrets and control characters, cut to this length."""
    words = _CONTROL.sub("\ufffd", words[:_READ_CHARACTERS_MAX])
    words = _URL_USER.sub(rf"\g<scheme>{MASK}@", words)
    words = _QUERY.sub(_without_signature, words)
    words = _HEADER.sub(rf"\g<name>{MASK}", words)
    words = _SCHEME.sub(rf"\g<scheme> {MASK}", words)
    words = _NAMED.sub(rf"\g<name>{MASK}", words)
    words = _SHAPES.sub(MASK, words)
    return words if len(words) <= characters_max else words[: characters_max - 1] + "…"


def _without_signature(query: re.Match[str]) -> str:
    """Remove the whole query of a signed URL: it grants access."""
    return f"?{MASK}" if _SIGNED.search(query[0]) else query[0]
