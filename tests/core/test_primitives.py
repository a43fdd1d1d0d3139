"""One walk over the table primitive x rule: a rule stands in each cell, and it is right.

Eager NumPy is the reference: compiled code, batches and derivatives are compared with it.
"""

import itertools

import numpy as np
import pytest
from primitive_examples import EXAMPLES, Example

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.kernel.rules import lowering_rules
from tinyjax.core import bind as core
from tinyjax.core import dtypes
from tinyjax.core.jaxpr import Jaxpr, subjaxprs
from tinyjax.transform.batching import axis_batch_rules, batch_rules
from tinyjax.transform.jvp import jvp_rules
from tinyjax.transform.linearize import linearize_flat
from tinyjax.transform.transposition import transpose_rules

TABLES = {
    "impl": core.impl_rules,
    "abstract_eval": core.abstract_eval_rules,
    "jvp": jvp_rules,
    "batch": batch_rules | axis_batch_rules,
    "lowering": lowering_rules,
}
PRIMITIVES = [
    p
    for p in core.impl_rules
    if (p, "impl") not in core.no_rule_reasons
    and p.name not in ("multiply_add", "p")  # tests' own
    and not p.name.startswith("group_")  # they need other processes: test_across_processes.py
]
CALLS = [
    pytest.param(example, id=f"{name}-{i}")
    for name, examples in EXAMPLES.items()
    for i, example in enumerate(examples)
]
SMOOTH = [call for call in CALLS if call.values[0].smooth]


def primitives_in(jaxpr: Jaxpr) -> set[str]:
    inner = [primitives_in(sub) for eqn in jaxpr.eqns for sub in subjaxprs(eqn.params)]
    return {eqn.primitive.name for eqn in jaxpr.eqns}.union(*inner)


def linear_primitives_in(jaxpr: Jaxpr) -> set[str]:
    """Those of a linear jaxpr; without what may be nonlinear: what a remat2 computes again, and the
    jaxprs of a custom_linear_solve, of which the other one is the transpose."""
    others = ("remat2", "custom_linear_solve")
    return primitives_in(
        jaxpr.replace(eqns=[e for e in jaxpr.eqns if e.primitive.name not in others])
    )


def flat(fun):
    """The function with a list of arrays as its result."""
    return lambda *args: jax.tree.leaves(fun(*args))


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda p: p.name)
@pytest.mark.parametrize("table", TABLES)
def test_each_cell_is_a_rule_or_has_a_reason(primitive, table):
    has_rule = primitive in TABLES[table]
    advice = (
        f"{table}: add a rule of {primitive} beside it, or the reason to core.bind.no_rule_reasons"
    )
    assert has_rule or (primitive, table) in core.no_rule_reasons, advice


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda p: p.name)
def test_each_primitive_has_an_example_that_binds_it(primitive, monkeypatch):
    """In its jaxpr, or while that is traced: vmap replaces collectives by other primitives."""
    bind, seen = core.Primitive.bind, set()

    def noted(self, *args, **params):
        seen.add(self.name)
        return bind(self, *args, **params)

    name = primitive.name
    assert name in EXAMPLES, f'example: add "{name}": unary({name}) to tests/primitive_examples.py'
    monkeypatch.setattr(core.Primitive, "bind", noted)
    for example in EXAMPLES[primitive.name]:
        seen |= primitives_in(jax.make_jaxpr(example.fun)(*example.args).jaxpr)
    assert primitive.name in seen


@pytest.mark.parametrize("example", CALLS)
def test_compiled_equals_eager(example):
    eager = flat(example.fun)(*example.args)
    compiled = jax.jit(flat(example.fun))(*example.args)
    for want, got in zip(eager, compiled, strict=True):
        assert (want.shape, want.dtype, want.weak_type) == (got.shape, got.dtype, got.weak_type)
        if dtypes.is_inexact(want.dtype):
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)
        else:
            np.testing.assert_array_equal(got, want)


def variant(arg, n: int) -> np.ndarray:
    """Another argument of the same shape and range, for each n."""
    arg = np.asarray(arg)
    if arg.dtype == np.bool_:
        return arg ^ bool(n % 2)
    return np.roll(arg, n) if arg.ndim else arg + arg.dtype.type(n)


@pytest.mark.parametrize("example", CALLS)
def test_vmap_equals_a_loop_for_each_set_of_batched_operands(example):
    """Batched in front or behind, or not at all: all combinations, three examples."""
    fun = flat(example.fun)
    for in_axes in itertools.product((None, 0, -1), repeat=len(example.args)):
        if all(axis is None for axis in in_axes):
            continue
        calls = [
            [arg if axis is None else variant(arg, n) for arg, axis in zip(example.args, in_axes)]
            for n in range(3)
        ]
        batched = [
            column[0] if axis is None else np.stack(column, axis)
            for column, axis in zip(zip(*calls), in_axes)
        ]
        looped = zip(*[fun(*args) for args in calls])
        for got, outs in zip(jax.vmap(fun, in_axes)(*batched), looped, strict=True):
            want = np.stack([np.asarray(out) for out in outs])
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6, err_msg=str(in_axes))


# ---- derivatives, in double precision, against finite differences ----


def of_floats(example: Example):
    """The function of its floating point arguments alone, and these in double precision."""
    wide = {"f": np.float64, "c": np.complex128}
    args = [np.asarray(arg) for arg in example.args]
    places = [n for n, arg in enumerate(args) if arg.dtype.kind in wide]

    def fun(*floats):
        changed = dict(zip(places, floats, strict=True))
        return flat(example.fun)(*[changed.get(n, arg) for n, arg in enumerate(args)])

    return fun, [jnp.asarray(args[n].astype(wide[args[n].dtype.kind])) for n in places]


def directions(args, seed: int) -> list:
    rng = np.random.default_rng(seed)
    real = [rng.standard_normal(a.shape) for a in args]
    return [
        jnp.asarray(d * (1 - 0.7j) if dtypes.kind(a.dtype) == "c" else d)
        for a, d in zip(args, real)
    ]


def pairing(cotangents, tangents) -> float:
    """What a transpose keeps: the sum of the products, of complex numbers the real part of it."""
    pairs = zip(cotangents, tangents, strict=True)
    return sum(np.sum(np.asarray(ct) * np.asarray(t)).real for ct, t in pairs)


@pytest.mark.parametrize("example", SMOOTH)
def test_jvp_equals_finite_differences(example):
    with jax.enable_x64(True):
        fun, args = of_floats(example)
        tangents = directions(args, 1)
        outs, derivative = jax.jvp(fun, tuple(args), tuple(tangents))
        h = 1e-6
        above = fun(*[a + h * t for a, t in zip(args, tangents)])
        below = fun(*[a - h * t for a, t in zip(args, tangents)])
        for out, want in zip(outs, fun(*args), strict=True):
            np.testing.assert_allclose(out, want, rtol=1e-12)
        for got, hi, lo in zip(derivative, above, below, strict=True):
            difference = (np.asarray(hi) - np.asarray(lo)) / (2 * h)
            np.testing.assert_allclose(got, difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("example", SMOOTH)
def test_vjp_is_the_transpose_of_jvp(example):
    with jax.enable_x64(True):
        fun, args = of_floats(example)
        tangents = directions(args, 1)
        outs, out_tangents = jax.jvp(fun, tuple(args), tuple(tangents))
        cotangents = directions(outs, 2)
        pulled = jax.vjp(fun, *args)[1](cotangents)
        forward, backward = pairing(cotangents, out_tangents), pairing(pulled, tangents)
        np.testing.assert_allclose(forward, backward, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("example", SMOOTH)
def test_what_a_derivative_is_made_of_can_be_transposed(example):
    with jax.enable_x64(True):
        _, linearized = linearize_flat(*of_floats(example))
    by_name = {p.name: p for p in PRIMITIVES}
    assert all(by_name[n] in transpose_rules for n in linear_primitives_in(linearized.jaxpr))
