"""Where the newest text of a message ends and older ones begin, which it quotes: they stay, under a heading."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from webapp.readers.markup.writer import paragraph

HEADING_LINES = 6
_DASHED = re.compile(r"-{3,}[ \t]{0,5}[^\W\d_][^\n-]{3,60}-{3,}")
_WROTE = re.compile(
    r"\b(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|napisał\w{0,3}|пише\w{1,3}"
    r"|написа\w{1,3})\b[^\n]{0,80}:$",
    re.IGNORECASE,
)
_FROM = re.compile(r"(?:From|Von|De|Da|Van|Od|От|Від|Från|Fra|Lähettäjä)[ \xa0]?:", re.IGNORECASE)
_BESIDE_FROM = re.compile(
    r"(?:Sent|Date|To|Cc|Subject|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado|Fecha|Para|Asunto|Inviato|Data|A"
    r"|Oggetto|Assunto|Verzonden|Aan|Onderwerp|Wysłano|Do|Temat|Отправлено|Дата|Кому|Тема)[ \xa0]?:",
    re.IGNORECASE,
)
_MARKS = re.compile(r"^(?:[ \t]{0,3}>)+[ \t]?")


class Split(NamedTuple):
    """The lines of a message, apart."""

    newest: Sequence[str]
    older: Sequence[str]


def split(lines: Sequence[str]) -> Split:
    """Part the newest text from what it answers; all of it is new where that can't be told."""
    bare = [line.strip().replace("**", "").strip() for line in lines]
    last_own = max((number for number, line in enumerate(bare) if line and not line.startswith(">")), default=-1)
    for number in range(len(lines)):
        if _DASHED.fullmatch(bare[number]) or _is_head(bare, number) or _is_quoted_to_the_end(bare, number, last_own):
            if any(bare[:number]):
                return Split(lines[:number], lines[number:])
            break
    return _answer_below(lines, bare) or Split(lines, ())


def _is_head(bare: Sequence[str], number: int) -> bool:
    """The lines "From: … Sent: … To: …" that programs put above what they quote."""
    if not _FROM.match(bare[number]):
        return False
    following = [line for line in bare[number + 1 : number + HEADING_LINES] if line]
    return sum(bool(_BESIDE_FROM.match(line)) for line in following) >= 2


def _is_quoted_to_the_end(bare: Sequence[str], number: int, last_own: int) -> bool:
    """A line that says who wrote, or the first of a quotation, after which nothing of the sender's own comes."""
    line = bare[number]
    if line.startswith(">"):
        return number > last_own
    # Such a line may be broken into two.
    following = bare[number + 1] if number + 1 < len(bare) else ""
    is_one, is_two = bool(_WROTE.search(line)), bool(line and _WROTE.search(f"{line} {following}"))
    end = number + (1 if is_one else 2)
    return (is_one or is_two) and end > last_own and any(each.startswith(">") for each in bare[end : end + 3])


def _answer_below(lines: Sequence[str], bare: Sequence[str]) -> Split | None:
    """An answer below the only quotation is still the newest."""
    end = next((n for n in range(len(bare), 0, -1) if bare[n - 1].startswith(">")), 0)
    start = next((n for n, line in enumerate(bare) if line.startswith(">")), end)
    above = [line for line in bare[:start] if line]
    is_one = all(not line or line.startswith(">") for line in bare[start:end])
    if (
        not end
        or not is_one
        or not any(bare[end:])
        or any(not line.endswith(":") for line in above[-1:])
        or len(above) > 2
    ):
        return None
    return Split(lines[end:], lines[:end])


def markdown_of(lines: Sequence[str]) -> str:
    """Plain lines as paragraphs, and what is marked with ">" as block quotes."""
    blocks: list[str] = []
    run: list[str] = []
    depth = 0

    def close() -> None:
        text = paragraph("\n".join(run))
        if text:
            marks = "> " * depth
            blocks.append("\n".join(marks + line for line in text.split("\n")))
        run.clear()

    for line in lines:
        found = _MARKS.match(line)
        marks, words = (found[0].count(">"), line[found.end() :]) if found else (0, line)
        if marks != depth or not words.strip():
            close()
            depth = min(marks, 6)
        if words.strip():
            run.append(words)
    close()
    return "\n\n".join(blocks)


def newest_first(lines: Sequence[str], heading: str, write: Callable[[Sequence[str]], str]) -> list[str]:
    """The blocks of a message: the newest text, and under a heading what it answers."""
    parts = split(lines)
    newest, older = write(parts.newest), write(parts.older)
    return [block for block in (newest, heading if older else "", older) if block]
