"""What the layout promises: public names at the top, files and functions that one can see whole."""

import ast

from source_imports import PACKAGE

SOURCES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))
}
#: Folders that are no modules of JAX's; those that are hold names, and code that is written in them.
ROOMS = {
    "core",
    "compile",
    "runtime",
    "transform",
    "many_devices",
    "pallas",
    "refs",
    "sparse",
    "wasm",
    "fast",
    "compat",
    "studio",
}


def test_files_at_the_top_are_names_alone():
    long = {name for name, text in SOURCES.items() if "/" not in name and text.count("\n") > 20}
    assert long == {"root_names.py"}  # the names of `jax` itself


def test_files_at_the_top_define_nothing_but_what_makes_missing_names_say_so():
    made = (ast.FunctionDef, ast.ClassDef)
    top = {name: ast.parse(text) for name, text in SOURCES.items() if "/" not in name}
    assert {
        name for name, tree in top.items() if any(isinstance(n, made) for n in tree.body)
    } == set()


def test_no_file_is_longer_than_500_lines():
    assert {name: n for name, text in SOURCES.items() if (n := text.count("\n")) > 500} == {}


def test_no_function_is_longer_than_60_lines():
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    long = {
        f"{name}:{node.name}": lines
        for name, text in SOURCES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, functions) and (lines := node.end_lineno - node.lineno + 1) > 60
    }
    assert long == {}
