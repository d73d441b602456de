"""The figures by which the code's simplicity is judged: `python -m tests.shape` prints them.

Nothing fails here, whatever the figures are. Compare them before and after a change.
"""

import ast
import inspect
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from types import CodeType
from typing import Any

from flask_migrate import upgrade
from sqlalchemy import Engine, event

from tests.bare import dispose, make_bare_app, settings_for
from tests.guards.sources import ROOT, Source, functions, lines_of, product_sources, project_files
from tests.worker.bench import Bench, finish, wait_for
from webapp.worker.pool import Pool

QUEUE_TABLE = "document_processing_jobs"
# These have one importer because of what they are: the place where all of their kind are listed.
LISTED = ("_pages", "commands")
LISTED_PACKAGES = ("webapp.readers.", "webapp.providers.")
# The settings of vendors, each of whom has a file under providers/ too.
LISTED_SETTINGS = {"webapp.config.azure", "webapp.config.openai", "webapp.config.speechkit"}
LISTING = "webapp.pipeline.handlers"
# Only the claim decides this.
CLAIM_WORDS = "THEN 'GOES_ON'"


def figures() -> Iterator[tuple[str, str]]:
    """Each figure's name and its value."""
    sources = [source for source in product_sources() if source.path.startswith("webapp/")]
    lengths = sorted((lines_of(one), f"{source.at(one)} {one.name}") for source in sources for one in functions(source))
    files = sorted((source.text.count("\n"), source.path) for source in sources)
    calls = calls_to_the_claim()
    yield "lines of webapp/ (.py, .sql)", _lines("webapp/", ".py", ".sql")
    yield "lines of tests/ (.py)", _lines("tests/", ".py")
    yield "function: median, longest", f"{median(lines for lines, _ in lengths):.0f}, {_most(lengths[-1])}"
    yield "file: median, longest", f"{median(lines for lines, _ in files):.0f}, {_most(files[-1])}"
    yield "files with SQL on the queue's table", _listed(_on_the_queue(sources))
    yield "branches on the dialect", _branches_on_dialect(sources)
    yield "modules that one other imports", _listed(_of_one_importer())
    yield "public class names that occur twice", _listed(_double_classes(sources)) or "0"
    yield "calls from the pool's loop to the claim's SQL", _listed(calls)


def _lines(folder: str, *endings: str) -> str:
    files = [path for path in project_files() if path.startswith(folder) and path.endswith(endings)]
    lines = sum((ROOT / path).read_text(encoding="utf-8").count("\n") for path in files)
    return f"{lines:,} in {len(files)} files"


def _most(found: tuple[int, str]) -> str:
    return f"{found[0]} ({found[1]})"


def _listed(found: list[str]) -> str:
    return f"{len(found)}: {', '.join(found)}" if found else ""


def _on_the_queue(sources: list[Source]) -> list[str]:
    """Modules that name the table in a statement or import its model, and files of SQL; not the model itself."""
    files = [path for path in project_files() if path.startswith("webapp/") and path.endswith(".sql")]
    written = [path for path in files if QUEUE_TABLE in (ROOT / path).read_text(encoding="utf-8")]
    modules = [source.path for source in sources if any(_asks_the_queue(node) for node in ast.walk(source.tree))]
    return sorted(path for path in {*written, *modules} if not path.endswith("jobs/model.py"))


def _asks_the_queue(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        names = {f"{node.module}.{name.name}" for name in node.names}
        return bool(names & {"webapp.jobs.model", "webapp.jobs.model.Job"})
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and QUEUE_TABLE in node.value


def _is_branch_on_dialect(node: ast.AST) -> bool:
    """A comparison with the dialect's name, a look-up by it, `is_postgresql()`, `ddl_if`, or `@compiles` for one."""
    if isinstance(node, ast.Compare):
        return any(_is_dialect(side) for side in (node.left, *node.comparators))
    if isinstance(node, ast.Subscript):
        return _is_dialect(node.slice)
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func).rpartition(".")[2]
        is_of_url = name == "startswith" and ast.unparse(node.args[0]).startswith(("'sqlite", "'postgresql"))
        return is_of_url or name in {"ddl_if", "is_postgresql"} or (name == "compiles" and len(node.args) > 1)
    return False


def _is_dialect(node: ast.expr) -> bool:
    return ast.unparse(node).endswith(("dialect.name", "drivername"))


def _branches_on_dialect(sources: list[Source]) -> str:
    found = Counter(source.path for source in sources for node in ast.walk(source.tree) if _is_branch_on_dialect(node))
    return f"{found.total()}: " + ", ".join(f"{path} {number}" for path, number in sorted(found.items()))


def _of_one_importer() -> list[str]:
    importers: dict[str, set[str]] = {_module(source): set() for source in product_sources()}
    for source in product_sources():
        for name in _imported(source):
            importers.get(name, set()).add(_module(source))
    return sorted(
        module.removeprefix("webapp.")
        for module, found in importers.items()
        if len(found) == 1
        and LISTING not in found
        and not module.endswith(LISTED)
        and not module.startswith(LISTED_PACKAGES)
        and module not in LISTED_SETTINGS
    )


def _module(source: Source) -> str:
    return source.path.removesuffix(".py").replace("/", ".")


def _imported(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _double_classes(sources: list[Source]) -> list[str]:
    names = Counter(
        node.name
        for source in sources
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, number in names.items() if number > 1)


def calls_to_the_claim() -> list[str]:
    """The functions of ours from the pool's loop (the first) to the one that executes the claim's SQL (the last).

    Seen on SQLite, by a look at the stack of a real pool's thread when the statement is about to be executed.
    """
    seen: list[list[str]] = []

    def look(*given: Any) -> None:
        if CLAIM_WORDS in given[2] and not seen:
            seen.append(_stack_of_ours())

    with tempfile.TemporaryDirectory() as folder:
        settings = settings_for(Path(folder))
        app = make_bare_app(settings)
        event.listen(Engine, "before_cursor_execute", look)
        with app.app_context():
            upgrade()
            bench = Bench.make(app, settings)
            bench.new_run()
            pool = bench.pool(finish, threads=1)
            wait_for(lambda: bool(seen))
            pool.drain(20)
        event.remove(Engine, "before_cursor_execute", look)
        dispose(app)
    return seen[0]


def _stack_of_ours() -> list[str]:
    """From the thread's own function of the pool to the last one before SQLAlchemy."""
    frames = [info.frame.f_code for info in reversed(inspect.stack(0))]
    loop = Pool._work.__code__
    assert threading.current_thread() is not threading.main_thread()
    inner = frames[frames.index(loop) :] if loop in frames else frames
    return [f"{Path(code.co_filename).stem}.{code.co_qualname}" for code in inner if _is_ours(code)]


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(str(ROOT / "webapp"))


def main() -> None:
    """Print them."""
    for name, words in figures():
        print(f"{name:<46} {words}", flush=True)


if __name__ == "__main__":
    main()
