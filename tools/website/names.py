"""The public names as pages, a module a page: how each is called, and what its docstring says."""

from __future__ import annotations

import contextlib
import html
import importlib
import inspect
import json
import re
import types
import warnings
from collections.abc import Iterator
from typing import Any

from website.lessons import toctree
from website.pages import ROOT, Pages, prose, raw

RECORDED = ROOT / "tinyjax" / "core" / "jax_names.json"


def write_names(pages: Pages) -> None:
    """A page for each module of JAX that tinyjax has, those of distributions on one."""
    names = recorded()
    titles = {module: list(entries(module, known)) for module, known in names.items()}
    titles = {module: found for module, found in titles.items() if found}
    grouped: dict[str, list[str]] = {}
    for module in titles:
        grouped.setdefault(group_of(module), []).append(module)
    for page, modules in grouped.items():
        parts = [f"# {page}\n"]
        for module in modules:
            parts.append(f"\n## {module}\n{raw(''.join(titles[module]))}")
        pages.write(f"api/{page}", page, "\n".join(parts))
    listed = "\n".join(f"- [{page}]({page}.html)" for page in grouped)
    words = "The names of JAX that tinyjax has, with what their docstrings say."
    body = f"# Names\n\n{words} [A table](names.html) lists those that are missing.\n\n{listed}\n\n"
    pages.write("api/index", "Names", body + toctree([*grouped, "names"]))
    table = pages.with_links(
        (ROOT / "docs" / "names.md").read_text(encoding="utf-8"), "docs/names.md", "api/names"
    )
    pages.write("api/names", "Names of JAX", table)


def recorded() -> dict[str, list[str]]:
    """The public names of JAX, by module."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))["names"]


def group_of(module: str) -> str:
    """The page of a module: one for all distributions."""
    return "jax.scipy.stats" if module.startswith("jax.scipy.stats") else module


def entries(module: str, names: list[str]) -> Iterator[str]:
    """What there is of these names, as HTML."""
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that JAX itself warns of
        there = importlib.import_module(module.replace("jax", "tinyjax", 1))
        for name in names:
            with contextlib.suppress(AttributeError, ImportError):
                value = getattr(there, name)
                if not isinstance(value, types.ModuleType):
                    yield entry(f"{module}.{name}", value)


def entry(name: str, value: Any) -> str:
    """One name, with its docstring, or its type if it has none, as a number."""
    said = inspect.getdoc(value) if callable(value) else f"a {type(value).__name__}"
    called = html.escape(f"{name}{signature(value)}")
    doc = f'<div class="doc">{prose(said)}</div>' if said else ""
    return f'<section class="name" id="{html.escape(name)}"><h3><code>{called}</code></h3>{doc}</section>'


def signature(value: Any) -> str:
    if not callable(value):
        return ""
    try:
        found = str(inspect.signature(value))
        found = re.sub(r"(: |-> )'([^']*)'", r"\1\2", found)  # an annotation is a text
    except (TypeError, ValueError):
        return "(...)"
    return found if len(found) < 400 and " at 0x" not in found else "(...)"
