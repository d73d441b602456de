"""What only one place may write."""

import ast

from tests.guards.sources import product_sources

WRITERS = tuple(
    f"webapp/{package}/" for package in ("documents", "runs", "library", "jobs", "pipeline", "search", "worker")
)


def test_only_the_end_of_a_run_says_whose_result_is_published() -> None:
    """`transitions.succeed`, together with the document's status: a second writer could say something else."""
    assert _written("published_run_id") == {"webapp/runs/transitions.py"}


def _written(column: str) -> set[str]:
    """The modules that hand a value for this column to a statement, by its name."""
    return {
        source.path
        for source in product_sources()
        if source.path.startswith(WRITERS)
        for node in ast.walk(source.tree)
        if _hands_over(node, column)
    }


def _hands_over(node: ast.AST, column: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "values":
        return any(keyword.arg == column for keyword in node.keywords)
    if isinstance(node, ast.Dict):
        return any(isinstance(key, ast.Constant) and key.value == column for key in node.keys)
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Attribute) and target.attr == column for target in node.targets
    )
