"""Reads files with another library, in the peers' environment: prints the text, or how long it took, as JSON.

Run as `python _peer_reader.py LIBRARY text|seconds|words FILE...`; nothing of Docmill is imported here.
"""

import json
import sys
import time
from importlib import import_module


def text_of(library: str, path: str) -> str:
    """All of a file's text, as Markdown where the library can."""
    if library == "pypdf":
        return "\n\n".join(page.extract_text() for page in import_module("pypdf").PdfReader(path).pages)
    if library == "pdfminer.six":
        return str(import_module("pdfminer.high_level").extract_text(path))
    if library == "pdf_oxide":
        document = import_module("pdf_oxide").PdfDocument(path)
        return "\n\n".join(document.to_markdown(number) for number in range(document.page_count()))
    if library == "markitdown":
        return str(import_module("markitdown").MarkItDown().convert(path).text_content)
    return str(import_module("kreuzberg").extract_file_sync(path).content)


def words_of(path: str) -> dict[str, float]:
    """How many words pdf_oxide finds, with their boxes, and the seconds that it takes."""
    opened = import_module("pdf_oxide").PdfDocument
    started = time.perf_counter()
    document = opened(path)
    found = [
        (word.text, word.bbox) for number in range(document.page_count()) for word in document.extract_words(number)
    ]
    return {"words": len(found), "seconds": time.perf_counter() - started}


def main() -> None:
    library, what, *paths = sys.argv[1:]
    answers: list[object] = []
    for path in paths:
        if what == "words":
            answers.append(words_of(path))
            continue
        try:
            answers.append(text_of(library, path))
            if what == "seconds":
                # The first time it was imported, too.
                started = time.perf_counter()
                text_of(library, path)
                answers[-1] = time.perf_counter() - started
        except Exception as error:  # noqa: BLE001 - a peer that fails on a file has read nothing of it
            print(f"{library}: {error}", file=sys.stderr)
            answers.append("")
    # On a line of its own: some libraries print.
    print("\n" + json.dumps(answers))


if __name__ == "__main__":
    main()
