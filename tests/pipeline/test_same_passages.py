"""Passages of ordinary texts stay as they are: their ids are kept with vectors that were paid for."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from tests import books, samples
from tests.pipeline.workplace import prose
from webapp.pipeline.chunk import make_chunks
from webapp.providers.local.extract import LocalExtractor
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import EPUB, PDF

GUIDE = """\
Before the first heading.

# Harbour *lights* ##

A [link](https://example.org/a_b) and `code_with_names` in a paragraph, 2 \\* 3 and \\_under\\_.

| Lamp | Colour | Period |
|:-----|:------:|-------:|
| North | green | 4 s |
| South | red | 6 s |

## Keeping the lamp #1

```sh
# not a heading
make light
```

- first
  - second
> quoted words
> and more

### C#
#### Deeper ### \t
##### Deepest
###### And deeper
####### Not one
#nor this

# Harbour lights\t\t#

---

~~~~ text
## nor this
~~~
~~~~

## __Strong__ and snake_case_name, _soft_ | bar

End.
"""


def told(extraction: Extraction) -> str:
    """What a reader of the passages sees of them: ids (and so the texts), headings and pages."""
    chunks = make_chunks(UUID(int=1), extraction)
    words = "\n".join(f"{chunk.id} {chunk.heading} {chunk.page_from} {chunk.page_to}" for chunk in chunks)
    return f"{len(chunks)} {hashlib.sha256(words.encode()).hexdigest()[:16]}"


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [(prose(200).decode(), "201 d0408d96809914bb"), (GUIDE * 12, "8 97579f221c2d9999")],
    ids=["prose", "guide"],
)
def test_texts_keep_their_passages(markdown: str, expected: str) -> None:
    assert told(Extraction("test", "1", markdown)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "content_type", "expected"),
    [
        (lambda: samples.report_pdf(12), PDF, "12 33d9319f2529d4d6"),
        (samples.table_pdf, PDF, "1 79722be9b795953b"),
        (samples.invoice_pdf, PDF, "1 f1651c12c6197ac7"),
        (samples.columns_pdf, PDF, "3 ba430843b31475e9"),
        (lambda: books.long_book(60), EPUB, "240 7c61a2b9242bbf64"),
    ],
    ids=["report", "table", "invoice", "columns", "book"],
)
def test_files_keep_their_passages(
    make: Callable[[], bytes], content_type: str, expected: str, local_extractor: LocalExtractor, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(make())
    assert told(local_extractor.extract(file, content_type, timeout_seconds=60, progress=lambda _: None)) == expected
