"""Says what a document is called: by a title that somebody chose, or by a guess."""

import re

from webapp.readers.filetypes import promised_by
from webapp.readers.page_markdown import first_heading

TITLE_CHARACTERS_MAX = 300
# What programs write before the name of the file that they print.
_PROGRAM = re.compile(r"^Microsoft (?:Word|Excel|PowerPoint) ?- ", re.IGNORECASE)
# What programs write where nobody chose a title.
_NO_TITLES = frozenset(
    {
        "about:blank", "anonymous", "document", "dokument", "empty", "full page photo", "image", "new document",
        "no title", "none", "null", "ohne titel", "powerpoint presentation", "presentation", "print", "sans nom",
        "sans titre", "scan", "scanned document", "scanned image", "sem título", "senza titolo", "sin título", "title",
        "unbenannt", "unknown", "untitled", "untitled document", "untitled presentation", "untitled spreadsheet",
        "word document", "без имени", "без названия", "документ microsoft word", "презентация powerpoint",
    }
)  # fmt: skip
_NUMBERED = re.compile(r"(?:book|document|dokument|dsc|img|mappe|presentation|scan|sheet|slide|untitled)[ _-]?\d{1,10}")
# Names of files that have no row in the table of file types, as programs for printing write them.
_OTHER_FILE = re.compile(r"\S\.(?:cdr|dvi|fm|indd|pages|ps|pub|qxd|sxw|tex|tmp|wpd|wps)$", re.IGNORECASE)
_CONTENTS = re.compile(
    r"(?:table of )?contents|inhalt|inhaltsverzeichnis|índice|indice|sumário|sommaire|table des matières"
    r"|содержание|оглавление",
    re.IGNORECASE,
)
# What is above many documents of a kind tells none of them from the others.
_KINDS = frozenset(
    {
        "avoir", "bill", "credit note", "factura", "facture", "fatura", "gutschrift", "invoice", "letter", "quittung",
        "receipt", "rechnung", "recibo", "reçu", "statement", "tax invoice", "квитанция", "счет", "счёт",
    }
)  # fmt: skip
# A line of a table of contents: words, dots, a page.
_LEADERS = re.compile(r"(?:\.[ .]{3,200}+|\u2026{2,200}+) ?\d{0,5}$")
# A heading with more numbers is lines of a form that were set in large type.
_NUMBERS_MAX, GUESS_CHARACTERS_MAX = 3, 120
_NUMBER = re.compile(r"\d+")
_AROUND = " \t()[]<>\"'.:"


def title_of(said: str | None, markdown: str) -> tuple[str | None, bool]:
    """A document's title, and whether it is a guess: its first heading."""
    if title := chosen_title(said):
        return title, False
    guess = guessed_title(markdown)
    return guess, guess is not None


def chosen_title(said: str | None) -> str | None:
    """The title that a file gives itself; None where a program wrote it, or it is a file's name."""
    title = _PROGRAM.sub("", " ".join((said or "").split())[:TITLE_CHARACTERS_MAX]).strip()
    return None if _says_nothing(title) or promised_by(title) or _OTHER_FILE.search(title) else title


def guessed_title(markdown: str) -> str | None:
    """The first heading of a text, where that may be its title."""
    return title_in(first_heading(markdown))


def title_in(heading: str | None) -> str | None:
    """A text's first heading as its title; None where that is the head or the first line of its contents, a kind, or
    several lines of a form.
    """
    title = chosen_title(heading)
    if title is None or _LEADERS.search(title) or len(title) > GUESS_CHARACTERS_MAX:
        return None
    if len(_NUMBER.findall(title)) > _NUMBERS_MAX:
        return None
    bare = title.strip(_AROUND).casefold()
    return None if bare in _KINDS or _CONTENTS.fullmatch(bare) else title


def _says_nothing(title: str) -> bool:
    bare = title.strip(_AROUND).casefold()
    return not any(map(str.isalnum, bare)) or bare in _NO_TITLES or bool(_NUMBERED.fullmatch(bare))
