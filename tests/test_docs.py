"""README, CONTRIBUTING and docs/: their code runs, prints what they say, and their links lead somewhere."""

import contextlib
import importlib
import io
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.compile.passes import pipeline, rewrite_rules
from tinyjax.runtime.devices import devices
from tinyjax.studio import viz
from tinyjax.studio.learn.exercises import load

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
USAGE = (ROOT / "docs" / "usage.md").read_text()
QUESTIONS = (ROOT / "tutorials" / "questions.md").read_text()
PALLAS = (ROOT / "docs" / "pallas.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
COMPILER = (ROOT / "docs" / "compiler.md").read_text()
WRITTEN = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/compiler.md",
    "docs/dependencies.md",
    "docs/golden.md",
    "docs/platforms.md",
    "docs/pallas.md",
    "docs/teachers.md",
    "docs/usage.md",
    "tutorials/questions.md",
]


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def without_fractions(text):
    """The text without its numbers that a device may round otherwise, and these numbers."""
    return re.sub(r"-?\d+\.\d+ *", "#", text), [float(n) for n in re.findall(r"-?\d+\.\d+", text)]


@pytest.mark.parametrize(
    ("code", "output"),
    [
        (code, output)
        for page in (README, USAGE)
        for code, output in zip(blocks(page, "python"), blocks(page, "text"), strict=True)
    ],
    ids=["readme", "usage"],
)
def test_an_example_prints_what_the_page_says(code, output):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    text, numbers = without_fractions(printed.getvalue())
    expected_text, expected_numbers = without_fractions(output)
    assert text == expected_text
    np.testing.assert_allclose(numbers, expected_numbers, rtol=1e-5)


@pytest.mark.parametrize("page", [QUESTIONS, PALLAS], ids=["questions", "pallas"])
def test_each_example_of_a_page_prints_what_it_says(page):
    names, printed = {}, ""
    for language, text in re.findall(
        r"^```(python|text)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE
    ):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(text, names)
            printed = output.getvalue()
        else:
            assert without_fractions(printed)[0] == without_fractions(text)[0]
            numbers = without_fractions(printed)[1], without_fractions(text)[1]
            np.testing.assert_allclose(*numbers, rtol=1e-5)


def test_the_picture_of_the_readme_is_that_of_its_example():
    with contextlib.redirect_stdout(io.StringIO()):
        exec(blocks(README, "python")[0], names := {})
    source = viz.dot(jax.make_jaxpr(jax.jit(jax.grad(names["f"])))(3.0)).source
    words = r">([\w:\[\]]*f32\[\](?: = )?|\w+)</"  # names and types, and primitives
    picture = (ROOT / "docs" / "wave.svg").read_text()
    assert sorted(re.findall(words + "(?:font|b)>", source)) == sorted(
        re.findall(r' font-size="10.00" fill="#111111"' + words + "text>", picture)
        + re.findall('font-weight="bold".*?' + words + "text>", picture)
    )


def test_the_primitive_of_contributing_has_every_rule():
    names = {}
    (code,) = [code for code in blocks(CONTRIBUTING, "python") if "cube_p" in code]
    exec(code, names)
    cube, x = names["cube"], np.array([1.0, 2.0], np.float32)
    np.testing.assert_array_equal(jax.jit(jax.vmap(cube))(x), [1.0, 8.0])
    np.testing.assert_array_equal(jax.vmap(jax.grad(cube))(x), [3.0, 12.0])
    assert "host" not in jax.jit(cube).lower(x).as_text()


def test_the_pass_of_the_compilers_page_makes_one_product_of_two(monkeypatch):
    names = {}
    (code,) = [code for code in blocks(COMPILER, "python") if "sort_operands" in code]
    exec(code, names)
    new = pipeline.Pass("sort_operands", names["sort_operands"], "", run_to_fixpoint=True)
    first, *others = pipeline.PASSES
    x = np.float32(3)

    def f(x, y):
        return x * y, y * x

    assert jax.jit(f).lower(x, x).as_text("simplified").count("mul") == 2
    monkeypatch.setattr(pipeline, "PASSES", (first, new, *others))
    lowered = jax.jit(lambda x, y: f(x, y)).lower(x, x)
    assert lowered.as_text("simplified").count("mul") == 1
    (event,) = next(r for r in lowered.passes if r.title == "sort_operands").events
    assert str(event) == "d = mul b a: reads a, b  # either order gives the same number"


def test_the_rewrite_rule_of_the_compilers_page_is_one(monkeypatch):
    (line,) = [text for text in blocks(COMPILER, "text") if "abs (neg x)" in text]
    monkeypatch.setitem(rewrite_rules.RULES, "abs", [rewrite_rules.parse(line)])
    text = jax.jit(lambda x: abs(-x)).lower(np.float32(3)).as_text("simplified")
    assert "abs a" in text and "neg" not in text


def test_the_lowerings_of_the_compilers_page_share_a_kernel():
    (code,) = [code for code in blocks(COMPILER, "python") if "rotate_p" in code]
    exec(code, names := {})
    x = np.arange(12, dtype=np.float32).reshape(3, 4)

    def f(x):
        return names["squares_p"].bind(names["rotate_p"].bind(x) - x)

    lowered = jax.jit(f).lower(x)
    (nest,) = lowered.compiler_ir("loop nests")
    assert "a_in[i1 * 4 + (i2 + 3) % 4]" in str(nest)
    np.testing.assert_array_equal(lowered.compile()(x), [12, 12, 12])
    np.testing.assert_array_equal(f(x), [12, 12, 12])


def test_the_schedules_of_the_compilers_page_compute_the_same():
    names = {}
    for code in blocks(COMPILER, "python"):
        if "compile.schedules" in code:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, names)
    np.testing.assert_array_equal(names["y"], np.ones((20, 100)))
    lowered = names["lowered"]
    own = lowered.with_schedule("k0", [names["Reverse"]("i1")])
    assert "a_in[(19 - i1) * 100 + i2]" in own.as_text("kernel")
    x = np.arange(2000, dtype=np.float32).reshape(20, 100)
    np.testing.assert_array_equal(own.compile()(x), x * x[0])
    own = lowered.with_schedule("k0", [names["Peel"]("i1"), names["Peel"]("i2")])
    assert "for i1 in 1 .. 20:" in own.as_text("kernel")
    np.testing.assert_array_equal(own.compile()(x), x * x[0])


def test_the_printer_of_the_compilers_page_writes_a_nest_in_c():
    (code,) = [code for code in blocks(COMPILER, "python") if "plain_c" in code]
    x = np.ones((2, 3), np.float32)
    names = {"lowered": jax.jit(lambda x: (x * 2).sum(1)).lower(x)}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    assert "float b = a * 2.0f;" in printed.getvalue() and "acc1 = acc1 + b;" in printed.getvalue()


@pytest.mark.skipif(devices("cpu")[0].cl_device is None, reason="there is no OpenCL device")
def test_the_stages_of_the_compilers_page_are_those_of_today():
    tool = runpy.run_path(str(ROOT / "tools" / "render_stages.py"))
    _, rest = COMPILER.split(tool["BEGIN"])
    assert rest.split(tool["END"])[0].strip() == tool["rendered"]().strip(), (
        "run tools/render_stages.py, and read what has changed"
    )


@pytest.mark.parametrize("page", WRITTEN)
def test_links_and_named_files_exist(page):
    text = (ROOT / page).read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    named = re.findall(r"`((?:tests|tools|tinyjax|benchmarks)/[\w./]*)`", text)
    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert missing + [file for file in named if not (ROOT / file).exists()] == []


def test_contributing_is_read_in_a_quarter_of_an_hour():
    assert len(CONTRIBUTING.split()) <= 2500


def test_the_readme_is_short():
    fold, rest = README.split("## Install")
    (example,) = blocks(fold, "python")
    assert len([line for line in example.splitlines() if line]) <= 8
    assert len(rest.split()) <= 900


def test_the_hooks_of_contributing_are_where_it_says():
    hooks = re.findall(
        r"^\| `(\w+)` \| `([\w.]+)` \|", CONTRIBUTING.split("## Hooks")[1], re.MULTILINE
    )
    found = [hasattr(importlib.import_module(f"tinyjax.{module}"), hook) for hook, module in hooks]
    assert found and all(found)


def test_the_table_of_jax_names_is_what_is_there():
    written = (ROOT / "docs" / "names.md").read_text()
    assert runpy.run_path(str(ROOT / "tools" / "list_names.py"))["table"]() == written, (
        "run python tools/list_names.py"
    )


@pytest.mark.slow
def test_the_picture_of_imports_is_that_of_today():
    written = (ROOT / "docs" / "imports.md").read_text()
    assert runpy.run_path(str(ROOT / "tools" / "draw_imports.py"))["page"]() == written, (
        "run python tools/draw_imports.py"
    )


def test_the_teachers_page_counts_the_exercises():
    page = (ROOT / "docs" / "teachers.md").read_text(encoding="utf-8")
    assert f"have {len(load())} exercises" in page
