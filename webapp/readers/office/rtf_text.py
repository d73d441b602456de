"""One text of an RTF document while it is being read: its paragraphs, items and tables."""

from webapp.readers.markup.markdown import escaped
from webapp.readers.office.blocks import Blocks, Tables, heading, one_line, paragraph

LABEL_CHARACTERS_MAX = 10


class RtfText:
    """The main text, a header, a note: paragraphs that end, cells and rows."""

    def __init__(self, tables: Tables) -> None:
        self.level: int | None = None
        """The outline level of the paragraph that is being read; None for what is no heading."""
        self.item_level: int | None = None
        """The level of the item that is being read; None for what is in no list."""
        self.is_in_table = False
        self._tables = tables
        self._blocks = Blocks()
        self._run: list[str] = []
        self._cells: list[str] = []
        self._rows: list[list[str]] = []

    def write(self, text: str) -> None:
        self._run.append(text)

    def end_paragraph(self) -> None:
        if self.is_in_table:
            self._run.append("\n")
            return
        text = self._taken()
        if not text.strip():
            return
        self._end_table()
        text = escaped(text)
        if self.level is not None:
            self._blocks.add(heading(self.level + 1, text))
        elif self.item_level is not None:
            self._item(text.strip(), self.item_level)
        else:
            self._blocks.add(paragraph(text))

    def end_cell(self) -> None:
        self._cells.append(one_line(self._taken()))

    def end_row(self) -> None:
        if any(self._cells):
            self._rows.append(self._cells)
        self._cells = []
        self._run = []

    def blocks(self) -> list[str]:
        """Everything, when nothing more comes."""
        self.is_in_table = False
        if self._cells:
            if self._run:
                self.end_cell()
            self.end_row()
        self.end_paragraph()
        self._end_table()
        return self._blocks.done

    def _item(self, text: str, level: int) -> None:
        """Add an item, after its label."""
        label, _, rest = text.partition(" ")
        is_number = len(label) <= LABEL_CHARACTERS_MAX and any(map(str.isalnum, label)) and label[-1] in ".)"
        if is_number:
            self._blocks.item(level, label, paragraph(rest))
        else:
            self._blocks.item(level, "", paragraph(text if any(map(str.isalnum, label)) else rest))

    def _end_table(self) -> None:
        if self._rows:
            self._blocks.add(*self._tables.add(self._rows))
            self._rows = []

    def _taken(self) -> str:
        """What was written, with the halves of characters beyond the first plane put together."""
        text = "".join(self._run)
        self._run = []
        if text.isascii():
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
