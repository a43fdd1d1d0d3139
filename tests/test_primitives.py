"""One walk over the table primitive x rule: a rule stands in each cell, and it is right.

Eager NumPy is the reference: compiled code, batches and derivatives are compared with it.
"""

import numpy as np
import pytest
from primitive_examples import EXAMPLES, Example

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import core, dtypes
from tinyjax.interpreters.batching import batch_rules
from tinyjax.interpreters.jvp import jvp_rules
from tinyjax.interpreters.partial_eval import linearize_flat
from tinyjax.interpreters.vjp import transpose_rules
from tinyjax.jaxpr import Jaxpr, subjaxprs
from tinyjax.opencl.rules import lowering_rules

TABLES = {
    "impl": core.impl_rules,
    "abstract_eval": core.abstract_eval_rules,
    "jvp": jvp_rules,
    "batch": batch_rules,
    "lowering": lowering_rules,
}
PRIMITIVES = list(core.impl_rules)
CALLS = [
    pytest.param(example, id=f"{name}-{i}")
    for name, examples in EXAMPLES.items()
    for i, example in enumerate(examples)
]
SMOOTH = [call for call in CALLS if call.values[0].smooth]


def primitives_in(jaxpr: Jaxpr) -> set[str]:
    inner = [primitives_in(sub) for eqn in jaxpr.eqns for sub in subjaxprs(eqn.params)]
    return {eqn.primitive.name for eqn in jaxpr.eqns}.union(*inner)


def flat(fun):
    """The function with a list of arrays as its result."""
    return lambda *args: jax.tree.leaves(fun(*args))


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda p: p.name)
@pytest.mark.parametrize("table", TABLES)
def test_each_cell_is_a_rule_or_has_a_reason(primitive, table):
    assert primitive in TABLES[table] or (primitive, table) in core.no_rule_reasons


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda p: p.name)
def test_each_primitive_has_an_example_that_binds_it(primitive):
    examples = EXAMPLES[primitive.name]
    seen = set().union(*(primitives_in(jax.make_jaxpr(e.fun)(*e.args).jaxpr) for e in examples))
    assert primitive.name in seen


@pytest.mark.parametrize("example", SMOOTH)
def test_what_a_derivative_is_made_of_can_be_transposed(example):
    with jax.enable_x64(True):
        _, linearized = linearize_flat(flat(example.fun), doubled(example))
    by_name = {p.name: p for p in PRIMITIVES}
    assert all(by_name[n] in transpose_rules for n in primitives_in(linearized.jaxpr))


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


@pytest.mark.parametrize("example", CALLS)
@pytest.mark.parametrize("axis", [0, -1])
def test_vmap_equals_a_loop(example, axis):
    batch = [[arg, arg[..., ::-1] if np.ndim(arg) else arg + 1] for arg in example.args]
    stacked = [np.stack([np.asarray(a) for a in pair], axis) for pair in batch]
    looped = [flat(example.fun)(*[pair[i] for pair in batch]) for i in range(2)]
    mapped = jax.vmap(flat(example.fun), in_axes=axis)(*stacked)
    for outs, got in zip(zip(*looped), mapped, strict=True):
        np.testing.assert_allclose(
            got, np.stack([np.asarray(o) for o in outs]), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("example", [c for c in CALLS if len(c.values[0].args) > 1])
def test_vmap_over_one_operand_alone_equals_a_loop(example):
    first, *rest = example.args
    both = np.stack([first, first[..., ::-1] if np.ndim(first) else first + 1])
    looped = [flat(example.fun)(one, *rest) for one in both]
    mapped = jax.vmap(flat(example.fun), in_axes=(0, *[None] * len(rest)))(both, *rest)
    for outs, got in zip(zip(*looped), mapped, strict=True):
        np.testing.assert_allclose(
            got, np.stack([np.asarray(o) for o in outs]), rtol=1e-6, atol=1e-6
        )


# ---- derivatives, in float64, against finite differences ----


def doubled(example: Example) -> list:
    return [jnp.asarray(np.asarray(a).astype(np.float64)) for a in example.args]


def directions(args, seed: int) -> list:
    rng = np.random.default_rng(seed)
    return [jnp.asarray(rng.standard_normal(a.shape)) for a in args]


@pytest.mark.parametrize("example", SMOOTH)
def test_jvp_equals_finite_differences(example):
    with jax.enable_x64(True):
        fun, args = flat(example.fun), doubled(example)
        tangents = directions(args, 1)
        _, derivative = jax.jvp(fun, tuple(args), tuple(tangents))
        h = 1e-6
        above = fun(*[a + h * t for a, t in zip(args, tangents)])
        below = fun(*[a - h * t for a, t in zip(args, tangents)])
        for got, hi, lo in zip(derivative, above, below, strict=True):
            difference = (np.asarray(hi) - np.asarray(lo)) / (2 * h)
            np.testing.assert_allclose(got, difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("example", SMOOTH)
def test_vjp_is_the_transpose_of_jvp(example):
    with jax.enable_x64(True):
        fun, args = flat(example.fun), doubled(example)
        tangents = directions(args, 1)
        outs, out_tangents = jax.jvp(fun, tuple(args), tuple(tangents))
        cotangents = directions(outs, 2)
        pulled = jax.vjp(fun, *args)[1](cotangents)
        forward = sum(np.vdot(ct, t) for ct, t in zip(cotangents, out_tangents))
        backward = sum(np.vdot(ct, t) for ct, t in zip(pulled, tangents))
        np.testing.assert_allclose(forward, backward, rtol=1e-9)
