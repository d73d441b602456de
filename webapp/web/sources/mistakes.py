"""What is wrong with a value that was sent for a source: programs read the name of the member, people do not."""

from collections.abc import Mapping

from webapp.web.errors import Problem


class MistakenField(Problem):
    """A value that can't be used: of which field, and a sentence each for programs and for people."""

    def __init__(self, field: str, detail: str, words: str | None = None, reason: str | None = None) -> None:
        super().__init__(422, reason, detail=detail)
        self.errors: Mapping[str, str] = {field: words or detail}
