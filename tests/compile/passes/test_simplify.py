"""The jaxpr that the compiler starts from: flat, and nothing in it twice or in vain."""

import numpy as np
import pytest

import tinyjax.compile.passes.simplify as simplification
import tinyjax.core.primitives as primitives
import tinyjax.numpy as jnp
from tinyjax import debug, lax, random
from tinyjax.compile.passes.rewrite_rules import rewrite
from tinyjax.compile.passes.simplify import simplify
from tinyjax.core.errors import JaxRuntimeError
from tinyjax.core.jaxpr import eval_jaxpr, subjaxprs
from tinyjax.core.tracing import make_jaxpr
from tinyjax.transform.jit.api import jit
from tinyjax.transform.vjp import grad


def primitive_names(f, *args):
    return [eqn.primitive.name for eqn in simplify(make_jaxpr(f)(*args)).eqns]


def test_nested_calls_are_inlined():
    assert primitive_names(lambda x: jit(jit(primitives.sin))(primitives.neg(x)), 1.0) == [
        "neg",
        "sin",
    ]


def test_constants_of_nested_calls_are_kept():
    table = np.arange(3.0, dtype=np.float32)
    closed = simplify(make_jaxpr(lambda x: jit(lambda y: primitives.mul(y, table))(x))(table))
    assert len(closed.consts) == 1


def test_the_same_computation_is_done_once():
    assert primitive_names(lambda x: primitives.mul(primitives.sin(x), primitives.sin(x)), 1.0) == [
        "sin",
        "mul",
    ]


def test_literals_of_different_sign_or_type_are_told_apart():
    def f(x):
        return primitives.mul(primitives.mul(x, 0.0), primitives.mul(x, -0.0))

    assert primitive_names(f, 1.0) == ["mul", "mul", "mul"]


def test_what_no_output_needs_is_dropped():
    def f(x):
        primitives.sin(x)
        return primitives.neg(x)

    assert primitive_names(f, 1.0) == ["neg"]


def test_all_arguments_are_kept():
    closed = simplify(make_jaxpr(lambda x, y: primitives.neg(x))(1.0, 2.0))
    assert len(closed.jaxpr.invars) == 2


def test_bodies_are_simplified_too():
    def body(c):
        jit(primitives.cos)(c)
        return primitives.mul(jit(primitives.sin)(c), primitives.sin(c))

    closed = simplify(make_jaxpr(lambda c: lax.while_loop(lambda c: c < 2.0, body, c))(1.0))
    (loop,) = closed.eqns
    names = [eqn.primitive.name for eqn in loop.params["body_jaxpr"].eqns]
    assert names == ["sin", "mul"]


def test_constants_of_bodies_become_operands():
    table = np.arange(3.0, dtype=np.float32)
    scaled = jit(lambda x: primitives.mul(x, table))

    def f(i, x):
        x = lax.cond(i, scaled, lambda x: x, x)
        x = lax.while_loop(lambda x: scaled(x)[0] > 1.0, scaled, x)
        return lax.scan(lambda x, _: (scaled(x), None), x, None, length=2)

    closed = simplify(make_jaxpr(f)(True, table))
    assert [len(eqn.invars) for eqn in closed.eqns[-3:]] == [3, 3, 2]
    assert not any(sub.constvars for eqn in closed.eqns for sub in subjaxprs(eqn.params))
    found = eval_jaxpr(closed.jaxpr, closed.consts, True, table)
    np.testing.assert_array_equal(found[0], f(True, table)[0])


def test_what_is_made_of_constants_is_computed_before():
    table = np.arange(3.0, dtype=np.float32)

    def f(x):
        return primitives.mul(x, primitives.mul(primitives.sin(table), primitives.cos(2.0)))

    closed = simplify(make_jaxpr(f)(table))
    assert [eqn.primitive.name for eqn in closed.eqns] == ["mul"]
    (found,) = eval_jaxpr(closed.jaxpr, closed.consts, table)
    np.testing.assert_array_equal(found, f(table))


def test_large_constants_are_left_to_the_program():
    table = np.ones(10_000, np.float32)
    assert primitive_names(lambda x: primitives.mul(x, primitives.sin(table)), table) == [
        "sin",
        "mul",
    ]


def test_equations_with_effects_are_all_kept():
    def f(x):
        debug.print("{}", x)
        debug.print("{}", x)
        return x

    assert primitive_names(f, 1.0) == ["debug_print"] * 2


def test_effects_and_random_bits_of_constants_stay():
    def f(x):
        debug.print("{}", np.float32(2.0))
        return random.uniform(random.key(0), (3,)) + x

    names = primitive_names(f, np.ones(3, np.float32))
    assert "debug_print" in names and any(name.startswith("random") for name in names)


def test_a_sum_of_equal_numbers_that_rewriting_made_is_folded():
    def f(x):
        return -jnp.sum(-(jnp.log(x) + jnp.ones(3) * x) / 2)

    assert jit(grad(f))(2.0) == 2.25  # 3 * (1 / 2 + 1) / 2


def test_what_becomes_equal_is_computed_once():
    def f(x):
        return primitives.mul(primitives.sin(primitives.mul(x, 1.0)), primitives.sin(x))

    assert primitive_names(f, 1.0) == ["sin", "mul"]


def test_the_work_grows_as_the_program():
    def rules_tried(count):
        def f(x):
            for _ in range(count):
                x = primitives.sin(primitives.mul(x, 1.0))
            return x

        calls = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simplification, "rewrite", lambda *a: (calls.append(1), rewrite(*a))[1])
            simplify(make_jaxpr(f)(1.0))
        return len(calls)

    assert rules_tried(100) == 200 and rules_tried(1000) == 2000


def test_functions_that_double_each_other_are_refused_before_they_take_all_memory():
    f = jit(jnp.sin)
    for _ in range(20):
        f = jit(lambda x, f=f: f(f(x)))
    with pytest.raises(JaxRuntimeError, match=r"has 1,048,576 equations .* at most 100,000"):
        f.lower(1.0)


def test_so_are_branches_that_share_a_function():
    f = jit(jnp.sin)
    for _ in range(20):
        f = jit(lambda x, f=f: lax.cond(x > 0, f, f, x))
    with pytest.raises(JaxRuntimeError, match=r"RESOURCE_EXHAUSTED"):
        f.lower(1.0)
