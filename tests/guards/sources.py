"""The project's files, as the guards read them."""

import ast
import functools
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Source:
    """A Python file and what it means."""

    path: str
    text: str
    tree: ast.Module

    def at(self, node: ast.stmt | ast.expr) -> str:
        """Where a finding is, in a form that editors follow."""
        return f"{self.path}:{node.lineno}"


@functools.cache
def project_files() -> tuple[str, ...]:
    """Every file that is in the repository or about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return tuple(path for path in listed if (ROOT / path).is_file())


def python_sources() -> Iterator[Source]:
    """Every Python file; Alembic's migrations aside, which are written once and never lived in."""
    return map(_source, _python_files())


def product_sources() -> Iterator[Source]:
    """What runs in production."""
    return (_source(path) for path in _python_files() if path.startswith("webapp/") or "/" not in path)


def _python_files() -> list[str]:
    return [path for path in project_files() if path.endswith(".py") and not path.startswith("migrations/")]


def functions(source: Source) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All of them, methods and inner ones, too."""
    return [node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How long it is, with its docstring."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


# Kept, since to read them takes longer than to look at them.
@functools.cache
def _source(path: str) -> Source:
    text = (ROOT / path).read_text(encoding="utf-8")
    return Source(path, text, ast.parse(text, path))
