"""E-mail: headers as fields, the newest text first, older text kept under it, attachments named."""

# ruff: noqa: RUF001 - letters of other alphabets are the point here

from collections.abc import Callable
from email.message import EmailMessage

import pytest

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import MAIL, MAILBOX
from webapp.readers.mail.quoted import markdown_of, split

Extract = Callable[[bytes, str], Extraction]


def message(subject: str = "The lamp", text: str = "The lamp is lit.\n", **headers: str) -> EmailMessage:
    made = EmailMessage()
    made["From"] = "Anna Müller <anna@keepers.example>"
    made["To"] = "ben@keepers.example, Cäcilie <c@keepers.example>"
    made["Date"] = "Thu, 19 Nov 2026 12:30:00 +0100"
    made["Subject"] = subject
    for name, value in headers.items():
        made[name] = value
    made.set_content(text)
    return made


def fields(found: Extraction) -> dict[str, str]:
    return {field.name: field.value for field in found.fields}


def test_headers_are_fields_and_the_text_follows(extract: Extract) -> None:
    found = extract(
        message("Öl für die Lampe", "Hello,\n\nthe lamp\nis lit.\n# no heading\n", Cc="d@x.example").as_bytes(), MAIL
    )

    assert fields(found) == {
        "From": "Anna Müller <anna@keepers.example>",
        "To": "ben@keepers.example, Cäcilie <c@keepers.example>",
        "Cc": "d@x.example",
        "Date": "2026-11-19 12:30+01:00",
        "Subject": "Öl für die Lampe",
    }
    assert found.title == "Öl für die Lampe"
    assert found.markdown == (
        "# Öl für die Lampe\n\nFrom: Anna Müller \\<anna@keepers.example>  \n"
        "To: ben@keepers.example, Cäcilie \\<c@keepers.example>  \nCc: d@x.example  \nDate: 2026-11-19 12:30+01:00\n\n"
        "Hello,\n\nthe lamp  \nis lit.  \n\\# no heading"
    )
    assert (found.partial, found.warnings) == (False, ())


@pytest.mark.parametrize("hint", [False, True])
def test_of_two_forms_one_is_read(extract: Extract, hint: bool) -> None:
    """The plain one, unless all that it says is where to look."""
    made = message(text="See it online.\n" if hint else "The lamp is lit, and the oil will last until May.\n")
    made.add_alternative("<h1>Lamp</h1><p>It is <b>lit</b>, and the oil will last until May.</p>", subtype="html")
    found = extract(made.as_bytes(), MAIL)
    assert ("**lit**" in found.markdown) is hint
    assert found.markdown.count("until May") == 1


def test_attachments_are_named_and_counted(extract: Extract) -> None:
    made = message()
    made.add_attachment(b"%PDF" + b"x" * 5_000, maintype="application", subtype="pdf", filename="Größe des Turms.pdf")
    made.add_attachment("a,b\n1,2\n", subtype="csv", filename="oil.csv")
    found = extract(made.as_bytes(), MAIL)
    assert found.markdown.endswith(
        "## Attachments\n\n- Größe des Turms.pdf (application/pdf, 5 kB)\n- oil.csv (text/csv, 8 bytes)"
    )
    assert (found.parts, found.warnings, found.partial) == (2, (), False)


def test_pictures_within_the_text_are_no_reason_to_warn(extract: Extract) -> None:
    made = message()
    made.add_alternative("<p>The lamp <img src='cid:a' alt='A lamp'> is lit.</p>", subtype="html")
    (_, html) = made.iter_parts()
    assert isinstance(html, EmailMessage)
    html.add_related(b"GIF89a", maintype="image", subtype="gif", cid="<a>")
    found = extract(made.as_bytes(), MAIL)
    assert "The lamp is lit." in found.markdown
    assert (found.parts, found.warnings) == (1, ())


def test_a_file_that_hangs_on_the_form_that_is_not_read_is_there(extract: Extract) -> None:
    made = message(text="The lamp is lit, and the oil will last until May.\n")
    rich = EmailMessage()
    rich.set_content("<p>The lamp is lit, and the oil will last until May.</p>", subtype="html")
    rich.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="plan.pdf")
    made.make_alternative()
    made.attach(rich)
    found = extract(made.as_bytes(), MAIL)
    assert (found.parts, found.markdown.count("until May")) == (1, 1)


def test_a_message_within_is_read_once(extract: Extract) -> None:
    made = message("Outer")
    made.add_attachment(message("Inner", "The horn is broken.\n"))
    found = extract(made.as_bytes(), MAIL)
    assert found.markdown.count("The horn is broken.") == 1
    assert "\n\n## Inner\n\nFrom: Anna" in found.markdown
    assert fields(found)["Subject"] == "Outer"


QUOTED = "Yes, it is.\n\nOn Thu, 19 Nov 2026, Ben wrote:\n> Is it lit?\n>> Earlier still.\n"


def test_older_text_is_kept_under_the_newest(extract: Extract) -> None:
    found = extract(message(text=QUOTED).as_bytes(), MAIL)
    assert found.markdown.endswith(
        "\n\nYes, it is.\n\n## Earlier messages\n\nOn Thu, 19 Nov 2026, Ben wrote:\n\n"
        "> Is it lit?\n\n> > Earlier still."
    )


@pytest.mark.parametrize(
    ("text", "newest", "older"),
    [
        (QUOTED, "Yes, it is.", "On Thu"),
        ("Ja.\n\nAm 19.11.2026 um 12:00 schrieb Ben:\n\n> Brennt sie?\n", "Ja.", "Am 19"),
        ("Oui.\n\nLe jeu. 19 nov. 2026 à 12:00, Ben <b@x.fr>\na écrit :\n> Quoi ?\n", "Oui.", "Le jeu"),
        ("Да.\n\n19 ноября 2026 г. Бен написал(а):\n> Горит?\n", "Да.", "19 ноября"),
        ("Yes.\n\n-----Original Message-----\nFrom: Ben\nSent: today\n\nIs it?\n", "Yes.", "-----Orig"),
        ("Ja.\n\nVon: Ben\nGesendet: heute\nAn: Anna\nBetreff: Lampe\n\nBrennt sie?\n", "Ja.", "Von: Ben"),
        ("Yes.\n\n**From:** Ben\n**Sent:** today\n**To:** Anna\n\nIs it?\n", "Yes.", "**From"),
        ("> Is it lit?\n\nYes, it is.\n", "Yes, it is.", "> Is it"),
        ("Ben wrote:\n> Is it lit?\n\nYes, it is.\n", "Yes, it is.", "Ben wrote:"),
        ("> a?\nyes\n> b?\nno\n", "> a?", ""),
        ("From: is a word that begins a sentence.\nAnd another.", "From: is", ""),
        ("---------- Forwarded message ---------\nFrom: x\n", "---------- Forw", ""),
        ("He wrote:\nnothing at all.\n", "He wrote:", ""),
        ("", "", ""),
    ],
)
def test_where_older_text_begins(text: str, newest: str, older: str) -> None:
    found = split(text.split("\n"))
    assert "\n".join(found.newest).strip().startswith(newest)
    assert "\n".join(found.older).strip().startswith(older)
    assert bool(found.older) == bool(older)
    assert sorted([*found.newest, *found.older]) == sorted(text.split("\n"))


def test_plain_lines_become_no_markup() -> None:
    assert markdown_of(["- a", "1. b", "", "title", "-----", "> # c", "<b>"]) == (
        "\\- a  \n1\\. b\n\ntitle  \n\\-----\n\n> \\# c\n\n\\<b>"
    )


@pytest.mark.parametrize(
    ("charset", "text"),
    [("koi8-r", "Лампа горит, и масла хватит до мая."), ("iso-8859-1", "Größe"), ("x-none", "Größe und Länge")],
)
def test_any_charset_is_read(extract: Extract, charset: str, text: str) -> None:
    encoded = text.encode(charset if charset != "x-none" else "cp1252")
    head = f"From: a@b.example\nSubject: x\nContent-Type: text/plain; charset={charset}\n\n"
    assert text in extract(head.encode() + encoded, MAIL).markdown


def test_odd_headers_are_read(extract: Extract) -> None:
    head = b"From: =?koi8-r?B?4c7OwQ==?= <a@b.example>\nSubject: =?utf-8?q?Gr=C3=B6=C3=9Fe?=\n =?utf-8?q?_und?= mehr\n"
    found = extract(head + "To: Jürgen\nDate: yesterday\n\ntext".encode(), MAIL)
    assert fields(found) == {
        "From": "Анна <a@b.example>",
        "To": "Jürgen",
        "Date": "yesterday",
        "Subject": "Größe und mehr",
    }


def test_flowing_lines_are_joined(extract: Extract) -> None:
    data = b"Subject: x\nContent-Type: text/plain; format=flowed\n\nThe lamp \nis lit.\n-- \nAnna"
    assert extract(data, MAIL).markdown.endswith("The lamp is lit.  \n\\--  \nAnna")


MAILBOX_HEAD = b"From anna@keepers.example Thu Nov 19 12:00:00 2026\n"


def mailbox(*texts: str) -> bytes:
    return b"".join(
        MAILBOX_HEAD + message(f"Mail {n}", text).as_bytes().replace(b"\nFrom ", b"\n>From ") + b"\n"
        for n, text in enumerate(texts, 1)
    )


def test_each_message_of_a_mailbox_is_a_page(extract: Extract) -> None:
    found = extract(mailbox("The lamp is lit.\n", "From here on\n\nFrom now, all is dark.\n", "Third.\n"), MAILBOX)
    assert (found.page_count, found.title, found.partial) == (3, "", False)
    assert [page.text.split("\n")[0] for page in found.pages] == ["# Mail 1", "# Mail 2", "# Mail 3"]
    assert "From here on\n\nFrom now, all is dark." in found.pages[1].text
    assert [(field.value, field.page) for field in found.fields if field.name == "Subject"] == [
        ("Mail 1", 1),
        ("Mail 2", 2),
        ("Mail 3", 3),
    ]
    assert found.markdown.startswith("<!-- page 1 -->\n\n# Mail 1")


def test_lines_that_only_look_like_a_new_message_are_text(extract: Extract) -> None:
    text = "From the tower, 2026\n\nFrom the shore, in 2026\nwe saw it.\n\nFrom nowhere in particular\n"
    data = MAILBOX_HEAD + b"Subject: One\n\n" + text.encode()
    found = extract(data, MAILBOX)
    assert found.page_count == 1
    assert "we saw it." in found.markdown


def test_a_message_without_anything_says_so(extract: Extract) -> None:
    with pytest.raises(BadInput) as failure:
        extract(b"X-Nothing: here\n\n", MAIL)
    assert failure.value.code is FailureCode.NO_TEXT
