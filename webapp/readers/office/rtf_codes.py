"""The words of RTF that matter for its text: characters, code pages, and which groups are texts of their own."""

import codecs

CHARACTERS = {
    "tab": " ", "line": "\n", "emdash": "\u2014", "endash": "\u2013", "bullet": "\u2022", "lquote": "\u2018",
    "rquote": "\u2019", "ldblquote": "\u201c", "rdblquote": "\u201d", "emspace": " ", "enspace": " ", "qmspace":
    " ",
}  # fmt: skip

# Groups that hold a text beside the main one.
TEXTS = {
    "header": "header", "headerl": "header", "headerr": "header", "headerf": "header",
    "footer": "footer", "footerl": "footer", "footerr": "footer", "footerf": "footer",
    "footnote": "note", "annotation": "comment", "shptxt": "box", "title": "title", "author": "author",
}  # fmt: skip

# Groups whose words are not the document's. Of those with a mark before them, all that are not texts are left out.
DESTINATIONS = frozenset({
    "fonttbl", "colortbl", "stylesheet", "info", "pict", "filetbl", "listtable", "listoverridetable", "rsidtbl",
    "nonshppict", "shprslt", "shpinst", "nonesttables", "xe", "tc", "rxe", "txe", "fldinst", "objdata", "objclass",
    "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "themedata", "datastore", "latentstyles",
    "generator", "subject", "keywords", "comment", "operator", "doccomm", "company", "manager", "category",
    "hlinkbase", "creatim", "revtim", "printim", "buptim", "do", "background", "revtbl", "pgptbl", "mmathPr",
    "xmlnstbl", "userprops", "template", "atnid", "atnauthor",
})  # fmt: skip

# What a font's number of a character set says of its bytes.
CHARSETS: dict[int | None, str] = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "cp950", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238:
    "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
CODE_PAGES = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}


def code_page(number: int | None) -> str:
    """Python's name of a Windows code page; western Europe's where there is no such one."""
    if number == 65001:
        return "utf-8"
    try:
        return codecs.lookup(f"cp{number}").name
    except LookupError:
        return "cp1252"
