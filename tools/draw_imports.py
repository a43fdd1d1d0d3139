"""Draw who imports whom among the folders of tinyjax/: writes docs/imports.md.

Run from the root of the repository: `python tools/draw_imports.py`. An arrow that two others stand for (from
a to c, where there are arrows from a to b and from b to c) is left out. tests/test_docs.py compares.
"""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent


def imports() -> dict[str, set[str]]:
    """{folder: the folders that its files import}, but for type checkers' sake; fast/, which can be deleted,
    is left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "tinyjax").glob("*/**/*.py"):
        folder = path.relative_to(ROOT / "tinyjax").parts[0]
        for name in imported_names(ast.parse(path.read_text())):
            parts = name.split(".")
            if parts[0] == "tinyjax" and len(parts) > 1 and (ROOT / "tinyjax" / parts[1]).is_dir():
                found[folder].add(parts[1])
    return {folder: found[folder] - {folder} for folder in sorted(found) if folder != "fast"}


def imported_names(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif not (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"):
            found |= imported_names(node)
    return found


def arrows() -> set[tuple[str, str]]:
    """The arrows of the picture, from who imports to what is imported."""
    direct = imports()

    def reachable(folder: str, seen: frozenset[str]) -> set[str]:
        """What a folder needs by way of others."""
        nearer = direct.get(folder, set()) - seen
        return nearer.union(*(reachable(f, seen | nearer) for f in nearer))

    return {
        (a, c)
        for a, targets in direct.items()
        for c in targets
        if not any(c in reachable(b, frozenset({a, b})) for b in targets - {c})
    }


PAGE = """\
# Who imports whom

The folders of `tinyjax/`, each above those that its files import; arrows that others stand for are left
out. `fast/` is not here, as nothing imports it. Written by `tools/draw_imports.py`; the rule is in
`tests/test_imports.py`.

```mermaid
graph TD
{}
```
"""


def page() -> str:
    return PAGE.format("\n".join(f"    {a} --> {b}" for a, b in sorted(arrows())))


if __name__ == "__main__":
    (ROOT / "docs" / "imports.md").write_text(page())
