"""A learner's function put into a fresh file of tinyjax, with what it needs.

The learner's own functions that it calls, and imports, come with it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from tinyjax.studio.learn.changes import other_statements
from tinyjax.studio.learn.functions import function_text, functions_of, names_missing, with_function
from tinyjax.studio.learn.renamed import with_names_of_today


@dataclass(frozen=True)
class Carried:
    """A fresh file with a learner's function in it."""

    source: str
    helpers: list[str]  # the learner's own functions that came along
    signature: str  # that of the fresh file, if the learner's is another
    missing: list[str]  # what the function uses and the file does not have


def carry(fresh: str, name: str, theirs: str, old_name: str) -> Carried:
    """Put the function `old_name` of the learner's file `theirs` into a fresh file, as `name`, with what
    the learner has put beside it."""
    old, new = old_name.rpartition(".")[2], name.rpartition(".")[2]
    text = re.sub(rf"\b{old}\b", new, function_text(theirs, old_name))
    text = with_names_of_today(text, fresh)
    wanted = heading(function_text(fresh, name))
    signature = wanted if wanted != heading(text) else ""
    helpers = functions_beside(theirs, fresh, old_name, text)
    own_class = old_name.rpartition(".")[0]
    for helper, body in helpers.items():
        if helper.rpartition(".")[0] == own_class:
            text = f"{body}\n\n{text}"
        else:
            fresh += f"\n\n{body}"
    fresh = with_function(fresh, name, text)
    everything = "\n".join([text, *helpers.values()])
    fresh = with_imports(fresh, theirs, names_missing(fresh, everything))
    return Carried(fresh, list(helpers), signature, names_missing(fresh, everything))


def functions_beside(theirs: str, fresh: str, name: str, text: str) -> dict[str, str]:
    """The functions of the learner's file that the function calls, its class's methods among them, and
    that the fresh file does not have."""
    found: dict[str, str] = {}
    own_class = name.rpartition(".")[0]
    methods = [f for f in functions_of(theirs) if own_class and f.startswith(f"{own_class}.")]
    todo = [text]
    while todo:
        used = todo.pop()
        attributes = {n.attr for n in ast.walk(ast.parse(used)) if isinstance(n, ast.Attribute)}
        called = [f for f in names_missing(fresh, used) if f in functions_of(theirs)]
        called += [f for f in methods if f.rpartition(".")[2] in attributes]
        for helper in called:
            if helper not in found and helper not in functions_of(fresh) and helper != name:
                found[helper] = with_names_of_today(function_text(theirs, helper), fresh)
                todo.append(found[helper])
    return found


def with_imports(fresh: str, theirs: str, words: list[str]) -> str:
    """`fresh` with the imports by which the learner's file has these names, but for those of tinyjax, whose
    files may have moved."""
    wanted = [
        ast.unparse(part)
        for part in other_statements(theirs)
        if isinstance(part, ast.Import | ast.ImportFrom)
        and (part.names[0].asname or part.names[0].name.partition(".")[0]) in words
        and not ast.unparse(part).split()[1].startswith(("tinyjax", "."))
    ]
    ends = [
        n.end_lineno or 0
        for n in ast.parse(fresh).body
        if isinstance(n, ast.Import | ast.ImportFrom)
    ]
    lines = fresh.splitlines(keepends=True)
    lines[max(ends, default=0) : max(ends, default=0)] = [f"{line}\n" for line in wanted]
    return "".join(lines)


def heading(text: str) -> str:
    """The signature of a function, in one line."""
    (node,) = functions_of(text).values()
    return f"def {node.name}({ast.unparse(node.args)})"
