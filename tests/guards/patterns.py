"""The product's regular expressions, how they are called, and texts that would make a careless one slow."""

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from tests.guards.sources import Source, product_sources

FUNCTIONS = frozenset({"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"})
METHODS = FUNCTIONS - {"compile"}
# The standard library reads patterns for itself there; nobody else may know how they are made up.
ops, parser = importlib.import_module("re._constants"), importlib.import_module("re._parser")
# These run in an environment of their own, with packages that are not installed here; they are read, not imported.
NOT_IMPORTED = {f"webapp/providers/models/{name}.py" for name in ("encoder_graph", "e5_convert", "minilm_convert")}
LETTERS_MAX, HEADS_MAX, SAMPLE_MAX = 7, 20, 60
# What stands for the classes of characters, and what hardly any pattern goes on with.
USUAL, STOPS = " \na1_", ("\0", "x")


@dataclass(frozen=True)
class Found:
    """A pattern, its place, and the methods that are called on it."""

    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def product_patterns() -> list[Found]:
    """Every pattern of the product: those that modules and classes keep, and those written in a call."""
    sources = list(product_sources())
    kept = [found for source in sources if source.path.startswith("webapp/") for found in _kept_by(source, sources)]
    inline = [found for source in sources for found in _inline(source)]
    seen = {(found.pattern.pattern, found.pattern.flags) for found in kept}
    return kept + [found for found in inline if (found.pattern.pattern, found.pattern.flags) not in seen]


def hidden_patterns() -> list[str]:
    """Where a pattern is put together inside a function, so that nobody can look at it beforehand."""
    return [
        f"{source.at(call)} {ast.unparse(call)[:80]}"
        for source in product_sources()
        for function in ast.walk(source.tree)
        if isinstance(function, ast.FunctionDef)
        for call in _calls(function)
        if not isinstance(call.args[0], ast.Constant)
    ]


def _kept_by(source: Source, sources: Iterable[Source]) -> Iterator[Found]:
    if source.path in NOT_IMPORTED:
        return
    module = importlib.import_module(source.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    for name, value in vars(module).items():
        for pattern in _patterns_in(value, module.__name__):
            users = [source] if name.startswith("_") else sources
            yield Found(f"{source.path} {name}", pattern, _methods_of(name, users))


def _patterns_in(value: object, module: str, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, dict | tuple | list | set | frozenset):
        members = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        for member in members:
            yield from _patterns_in(member, module, depth - 1)
    elif depth and isinstance(value, type) and value.__module__ == module:
        yield from _patterns_in(dict(vars(value)), module, depth)


def _methods_of(name: str, sources: Iterable[Source]) -> frozenset[str]:
    """How a pattern is called; `search` where that cannot be seen, since that looks everywhere."""
    used = {
        node.attr
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in METHODS
        and isinstance(node.value, ast.Name | ast.Attribute)
        and (node.value.id if isinstance(node.value, ast.Name) else node.value.attr) == name
    }
    return frozenset(used or {"search"})


def _inline(source: Source) -> Iterator[Found]:
    for call in _calls(source.tree):
        if isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
            named = {each.arg: each.value for each in call.keywords}
            flags = named.get("flags", call.args[-1])
            method = call.func.attr if isinstance(call.func, ast.Attribute) else "search"
            pattern: re.Pattern[Any] = re.compile(str(call.args[0].value), _flags(flags))
            yield Found(source.at(call), pattern, frozenset({"search" if method == "compile" else method}))


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in FUNCTIONS
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
        ):
            yield node


def _flags(node: ast.expr) -> int:
    names = [part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)]
    return sum(int(getattr(re, name)) for name in names if isinstance(getattr(re, name, None), re.RegexFlag))


@dataclass(frozen=True)
class Hostile:
    """A text that repeats a piece as often as it takes."""

    head: str
    piece: str
    stop: str = ""

    def of(self, size: int) -> str:
        """About as many characters."""
        return self.head + (self.piece * (size // len(self.piece) + 1))[:size] + self.stop


def hostile_texts(pattern: re.Pattern[Any]) -> list[Hostile]:
    """Long runs of one character, behind what a match begins with; and its beginnings, again and again."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(source)
    letters = "".join(dict.fromkeys(USUAL + _literals(tree)))[: len(USUAL) + LETTERS_MAX]
    heads = [head for head in dict.fromkeys(_heads(tree)) if head][:HEADS_MAX]
    pairs = ["".join(pair) for pair in product(letters, letters)]
    runs = [Hostile(*each) for each in product(dict.fromkeys(["", *letters, *heads]), letters, STOPS)]
    pieces = dict.fromkeys([*heads, *pairs, *("".join(each) for each in product(heads, letters))])
    return runs + [Hostile("", piece) for piece in (*letters, *pieces)]


def _heads(tree: Any) -> Iterator[str]:
    """The beginnings of texts that match, or nearly do."""
    for repeats, branch in ((1, 0), (0, 0), (2, 1), (1, 2)):
        sample = _sample(tree, repeats, branch)[:SAMPLE_MAX]
        yield sample
        yield from (sample[:length] for length in range(min(len(sample), HEADS_MAX), 0, -1))


def _sample(tree: Any, repeats: int, branch: int) -> str:
    return "".join(_sample_of(op, value, repeats, branch) for op, value in tree)


def _sample_of(op: Any, value: Any, repeats: int, branch: int) -> str:  # noqa: PLR0911 - one line for each kind
    if op is ops.LITERAL:
        return chr(value)
    if op is ops.IN:
        return _member(value)
    if op in {ops.ANY, ops.NOT_LITERAL}:
        return "a"
    if op in {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}:
        low, high, inner = value
        return _sample(inner, repeats, branch) * int(min(max(low, repeats), high, SAMPLE_MAX))
    if op is ops.SUBPATTERN:
        return _sample(value[-1], repeats, branch)
    if op is ops.ATOMIC_GROUP:
        return _sample(value, repeats, branch)
    if op is ops.BRANCH:
        return _sample(value[1][branch % len(value[1])], repeats, branch)
    return ""


def _member(value: Any) -> str:
    """A character of a class; of one that says what it is not, a letter."""
    usual = {ops.CATEGORY_SPACE: " ", ops.CATEGORY_DIGIT: "1", ops.CATEGORY_NOT_WORD: "!"}
    for op, inner in value:
        if op is ops.LITERAL:
            return chr(inner)
        if op is ops.RANGE:
            return chr(inner[0])
        if op is ops.CATEGORY:
            return usual.get(inner, "a")
        if op is ops.NEGATE:
            break
    return "a"


def _literals(tree: Any) -> str:
    """Every character that a pattern names."""
    found = []
    for op, value in tree:
        if op is ops.LITERAL:
            found.append(chr(value))
        elif op is ops.RANGE:
            found.append(chr(value[0]))
        elif isinstance(value, parser.SubPattern | list | tuple):
            found += [_literals(part) for part in _parts(value)]
    return "".join(found)


def _parts(value: Any) -> Iterator[Any]:
    """The lists of operations within an operation's value, whatever its form."""
    if isinstance(value, parser.SubPattern):
        yield value
    elif isinstance(value, list | tuple):
        if value and all(isinstance(each, tuple) and len(each) == 2 for each in value):
            yield value
        else:
            for each in value:
                yield from _parts(each)
