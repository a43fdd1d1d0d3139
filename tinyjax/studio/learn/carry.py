"""Insert a learner's function and its dependencies into a fresh file of tinyjax.

The dependencies are the learner's own functions, classes, constants and imports that it uses.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.changes import other_statements
from tinyjax.studio.learn.exercises import PACKAGES, in_clone, place_of
from tinyjax.studio.learn.functions import (
    Function,
    function_text,
    functions_of,
    names_missing,
    names_of_module,
    with_function,
)
from tinyjax.studio.learn.renamed import with_names_of_today


@dataclass(frozen=True)
class Carried:
    """A fresh file with a learner's function in it."""

    source: str
    helpers: list[str]  # the learner's own functions, classes and constants that were copied too
    signature: str  # the fresh file's, if the learner's differs
    missing: list[str]  # names that the function uses and the file lacks


def carry(fresh: str, name: str, theirs: str, old_name: str) -> Carried:
    """Insert the function `old_name` of the learner's file `theirs` into a fresh file as `name`, with the
    learner's helpers."""
    old, new = old_name.rpartition(".")[2], name.rpartition(".")[2]
    text = re.sub(rf"\b{old}\b", new, function_text(theirs, old_name))
    text = with_names_of_today(text, fresh)
    wanted = heading(function_text(fresh, name))
    signature = wanted if wanted != heading(text) else ""
    helpers = definitions_beside(theirs, fresh, old_name, text)
    own_class = old_name.rpartition(".")[0]
    for helper, body in helpers.items():
        if helper.rpartition(".")[0] == own_class:
            text = f"{body}\n\n{text}"
        else:
            fresh += f"\n\n{body}"
    fresh = with_function(fresh, name, text)
    everything = "\n".join([text, *helpers.values()])
    fresh = with_imports(fresh, theirs, missing_in(fresh, everything))
    return Carried(fresh, list(helpers), signature, names_missing(fresh, everything))


def definitions_beside(theirs: str, fresh: str, name: str, text: str) -> dict[str, str]:
    """The functions, classes, constants and sibling methods of the learner's file that the function uses and
    the fresh file lacks."""
    texts = {f: function_text(theirs, f) for f in functions_of(theirs)} | classes_and_constants(
        theirs
    )
    own_class = name.rpartition(".")[0]
    methods = [f for f in functions_of(theirs) if own_class and f.startswith(f"{own_class}.")]
    found: dict[str, str] = {}
    todo = [text]
    while todo:
        used = todo.pop()
        attributes = {n.attr for n in ast.walk(ast.parse(used)) if isinstance(n, ast.Attribute)}
        wanted = [d for d in missing_in(fresh, used) if d in texts]
        wanted += [f for f in methods if f.rpartition(".")[2] in attributes]
        for helper in wanted:
            if helper not in found and helper not in functions_of(fresh) and helper != name:
                found[helper] = with_names_of_today(texts[helper], fresh)
                todo.append(found[helper])
    return found


def classes_and_constants(source: str) -> dict[str, str]:
    """The other definitions at the top of a module, by name."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = ast.unparse(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found |= {name: ast.unparse(node) for name in names_of_module(ast.unparse(node))}
    return found


def missing_in(fresh: str, text: str) -> list[str]:
    """The names that statements use, at module level too, and that the module `fresh` lacks."""
    at_the_top = {
        node.id
        for statement in ast.parse(text).body
        if not isinstance(statement, Function)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    return sorted({*names_missing(fresh, text), *(at_the_top - names_of_module(fresh))})


def with_imports(fresh: str, theirs: str, words: list[str]) -> str:
    """`fresh` with the learner's imports of these names, except tinyjax imports that no longer exist: files
    may have moved."""
    wanted = [
        ast.unparse(part)
        for part in other_statements(theirs)
        if isinstance(part, ast.Import | ast.ImportFrom)
        and (part.names[0].asname or part.names[0].name.partition(".")[0]) in words
        and is_there(part)
    ]
    ends = [
        n.end_lineno or 0
        for n in ast.parse(fresh).body
        if isinstance(n, ast.Import | ast.ImportFrom)
    ]
    lines = fresh.splitlines(keepends=True)
    lines[max(ends, default=0) : max(ends, default=0)] = [f"{line}\n" for line in wanted]
    return "".join(lines)


def is_there(part: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import of one name from tinyjax works; other imports are assumed to."""
    module = part.module or "" if isinstance(part, ast.ImportFrom) else part.names[0].name
    if isinstance(part, ast.ImportFrom) and part.level:
        return False
    if module.partition(".")[0] not in PACKAGES:
        return True
    file, _ = place_of(module)
    if not in_clone(file).is_file():
        return False
    name = part.names[0].name
    return (
        isinstance(part, ast.Import)
        or name in names_of_module(read(in_clone(file)))
        or in_clone(place_of(f"{module}.{name}")[0]).is_file()
    )


def heading(text: str) -> str:
    """The signature of a function, in one line."""
    (node,) = functions_of(text).values()
    return f"def {node.name}({ast.unparse(node.args)})"
