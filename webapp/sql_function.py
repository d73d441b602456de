"""Functions of our own in SQL, which the two databases write differently."""

from typing import Any, ClassVar, TypeVar

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

_Value = TypeVar("_Value")


class SqlFunction(FunctionElement[_Value]):
    """An expression of SQL: a subclass has its text for each database, in which {0} is its first argument."""

    postgresql: ClassVar[str]
    sqlite: ClassVar[str]

    def __init_subclass__(cls) -> None:
        # The text is the class's, so statements with it are compiled once.
        cls.inherit_cache = True
        super().__init_subclass__()


@compiles(SqlFunction)
def _text(element: SqlFunction[Any], compiler: SQLCompiler, **kw: Any) -> str:
    template = element.sqlite if compiler.dialect.name == "sqlite" else element.postgresql
    return template.format(*(compiler.process(part, **kw) for part in element.clauses))
