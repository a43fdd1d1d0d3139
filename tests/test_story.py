"""Lesson 0, a miniature of tinyjax in one script: what it computes is what tinyjax computes."""

import ast
import contextlib
import importlib.util
import io
import types
from pathlib import Path

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp

SCRIPT = Path(__file__).parents[1] / "tutorials" / "00_story.py"


@pytest.fixture(scope="module")
def story():
    """The script as a module, with what it printed."""
    spec = importlib.util.spec_from_file_location("story", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        spec.loader.exec_module(module)
    module.printed = printed.getvalue()
    return module


@pytest.fixture(scope="module")
def tiny():
    """tinyjax under the script's names."""
    names = {name: getattr(jax, name) for name in ("jvp", "vmap", "grad", "jit", "make_jaxpr")}
    names |= {"sin": jnp.sin, "cos": jnp.cos, "neg": jnp.negative, "reduce_sum": jnp.sum}
    return types.SimpleNamespace(**names, f=lambda x: jnp.sin(x) * x)


XS = np.float32([0.5, 1.0, -2.0])
YS = np.float32([3.0, -1.0])


def second(m, x):
    """A function in which all operations meet, and a number is used in several ways."""
    return m.neg(m.cos(x) * 2.0) * m.sin(1.0 + x * m.sin(x)) + x


def loss(m):
    return lambda x: m.reduce_sum(m.f(x) * x, axis=0)


# Each for the names `m` of either side.
PROGRAMS = {
    "f": lambda m: m.f(3.0),
    "jvp": lambda m: m.jvp(m.f, (3.0,), (2.0,)),
    "grad": lambda m: m.grad(m.f)(3.0),
    "grad of grad": lambda m: m.grad(m.grad(m.f))(3.0),
    "grad of grad of grad": lambda m: m.grad(m.grad(m.grad(m.f)))(3.0),
    "grad of all operations": lambda m: m.grad(lambda x: second(m, x))(0.7),
    "second derivative of all": lambda m: m.grad(m.grad(lambda x: second(m, x)))(0.7),
    "grad of a constant": lambda m: m.grad(lambda x: m.sin(2.0))(3.0),
    "grad of x": lambda m: m.vmap(m.grad(lambda x: x))(XS),
    "jvp of grad": lambda m: m.jvp(m.grad(m.f), (3.0,), (1.0,)),
    "grad of jvp": lambda m: m.grad(lambda x: m.jvp(m.f, (x,), (1.0,))[1])(3.0),
    "vmap": lambda m: m.vmap(m.f)(XS),
    "vmap of grad": lambda m: m.vmap(m.grad(m.f))(XS),
    "vmap of grad of grad": lambda m: m.vmap(m.grad(m.grad(lambda x: second(m, x))))(XS),
    "vmap of vmap": lambda m: m.vmap(lambda x: m.vmap(lambda y: m.sin(y) * x + y)(YS))(XS),
    "vmap of two": lambda m: m.vmap(lambda x, y: x * m.sin(y))(XS, XS * 2),
    "jvp of vmap": lambda m: m.jvp(lambda w: m.vmap(lambda x: w + x * w)(XS), (3.0,), (1.0,)),
    "grad of a sum": lambda m: m.grad(loss(m))(XS),
    "grad of a sum of sums": lambda m: m.grad(
        lambda x: m.reduce_sum(m.vmap(lambda y: m.reduce_sum(x * y, axis=0))(YS), axis=0)
    )(XS),
    "grad through a number that is repeated": lambda m: m.grad(
        lambda w: m.reduce_sum(m.sin(w * XS) * w, axis=0)
    )(3.0),
    "Hessian times a vector": lambda m: m.jvp(m.grad(loss(m)), (XS,), (XS,)),
    "vmap of grad of a sum": lambda m: m.vmap(m.grad(loss(m)))(np.stack([XS, 2 * XS])),
    "minus": lambda m: m.grad(lambda x: -(x - 1.0) * (2.0 - x) - m.sin(x))(3.0),
    "minus of batches": lambda m: m.vmap(lambda x, y: -x - y)(XS, XS * 2),
    "no perturbation confusion": lambda m: m.grad(
        lambda x: x * m.grad(lambda y: m.sin(x) * y + x)(2.0)
    )(3.0),
    "jit": lambda m: m.jit(m.f)(XS),
    "jit of a number": lambda m: m.jit(m.f)(3.0),
    "jit of grad": lambda m: m.jit(m.grad(m.f))(3.0),
    "jit of vmap of grad": lambda m: m.jit(m.vmap(m.grad(m.f)))(XS),
    "jit of all operations": lambda m: m.jit(m.vmap(m.grad(lambda x: second(m, x))))(XS),
    "jit with an array from outside": lambda m: m.jit(lambda x: m.sin(x) * XS)(XS),
    "jit of what is no chain": lambda m: m.jit(loss(m))(XS),
    "jit of grad of a sum": lambda m: m.jit(m.grad(loss(m)))(XS),
    "jit of several results": lambda m: m.jit(lambda x: (m.f(x), -x, m.sin(x)))(XS),
    "jit of results of several shapes": lambda m: m.jit(
        lambda x: (m.f(x), m.reduce_sum(x, axis=0))
    )(XS),
    "jit of several results of numbers": lambda m: m.jit(lambda x, y: (x * y, x - y))(3.0, 2.0),
    "grad of jit": lambda m: m.grad(m.jit(m.f))(3.0),
    "vmap of jit of grad": lambda m: m.vmap(m.jit(m.grad(m.f)))(XS),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_miniature_computes_what_tinyjax_computes(name, story, tiny):
    program = PROGRAMS[name]
    mine, theirs = (
        out if isinstance(out, tuple) else (out,) for out in (program(story), program(tiny))
    )
    for a, b in zip(mine, theirs, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=3e-6, atol=3e-6)


JAXPRS = {
    "f": (lambda m: m.f, 3.0),
    "jvp": (lambda m: lambda x: m.jvp(m.f, (x,), (1.0,)), 3.0),
    "grad": (lambda m: m.grad(m.f), 3.0),
    "vmap of grad": (lambda m: m.vmap(m.grad(m.f)), XS),
    "grad of grad": (lambda m: m.grad(m.grad(m.f)), 3.0),
}


@pytest.mark.parametrize("name", JAXPRS)
def test_the_miniature_writes_the_equations_that_tinyjax_writes(name, story, tiny):
    function, x = JAXPRS[name]
    mine = story.make_jaxpr(function(story))(x)
    theirs = tiny.make_jaxpr(function(tiny))(x)
    names = [eqn.primitive.name.replace("add_any", "add") for eqn in theirs.eqns]
    assert [eqn.primitive.name for eqn in mine.eqns] == names


def test_an_array_of_another_shape_is_refused(story):
    with pytest.raises(AssertionError, match=r"\(3,\) does not fit \(2,\)"):
        story.mul(XS, YS)


def test_what_has_many_results_has_no_gradient(story):
    with pytest.raises(AssertionError, match="one number"):
        story.grad(story.f)(XS)


def test_it_is_short_and_needs_neither_tinyjax_nor_jax():
    text = SCRIPT.read_text()
    assert len(text.splitlines()) <= 480
    nodes = list(ast.walk(ast.parse(text)))
    imported = {
        alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    of_tinyjax = "tinyjax.runtime.pocl.processor"  # where it is installed
    assert imported - {of_tinyjax} == {
        "numpy",
        "pyopencl",
        "collections",
        "contextlib",
        "functools",
        "shutil",
    }


def test_the_files_that_it_says_to_be_sketches_of_are_there(story):
    named = [
        word.rstrip(":,;")
        for word in SCRIPT.read_text().split()
        if word.rstrip(":,;").endswith(".py")
    ]
    package = SCRIPT.parents[1] / "tinyjax"
    assert len(named) > 10
    assert [name for name in named if not (package / name).exists()] == []


def test_without_opencl_numpy_runs_the_jaxprs(story, monkeypatch):
    monkeypatch.setattr(story, "queue", None)
    np.testing.assert_allclose(story.jit(story.grad(story.f))(3.0), -2.8288574, rtol=1e-6)
