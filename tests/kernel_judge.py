"""What is asked of a kernel: that it gives what NumPy does, and what its programs are given and make."""

import numpy as np

import tinyjax as jax
from tinyjax.core.jaxpr import subjaxprs

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def agree(fun, spec, *args, rtol=1e-5):
    """Expects what `spec` gives for these arguments, in float64, and that they are as they were."""
    wide = [np.asarray(x, np.float64) if np.asarray(x).dtype.kind == "f" else x for x in args]
    before = [np.copy(x) for x in args]
    found, expected = np.asarray(fun(*args)), np.asarray(spec(*wide))
    assert found.shape == expected.shape
    assert found.dtype == np.asarray(args[0]).dtype
    wrong = np.argwhere(~np.isclose(found, expected, rtol=rtol, atol=rtol, equal_nan=True))
    if len(wrong):
        at = tuple(map(int, wrong[0]))
        raise AssertionError(
            f"{len(wrong)} of {found.size} elements are wrong: the one at {at} is {found[at]}, and "
            f"should be {expected[at]:.6g}"
        )
    for x, y in zip(args, before):
        np.testing.assert_array_equal(x, y)


def calls_of(fun, *args):
    """The equations of pallas_call that a function makes."""

    def walk(jaxpr):
        for eqn in jaxpr.eqns:
            if eqn.primitive.name == "pallas_call":
                yield eqn
            else:
                for inner in subjaxprs(eqn.params):
                    yield from walk(inner)

    return list(walk(jax.make_jaxpr(fun)(*args).jaxpr))


def grid_of(fun, *args):
    """The grid of the one pallas_call that a function makes."""
    (eqn,) = calls_of(fun, *args)
    return tuple(eqn.params["grid_mapping"].grid)


def largest_value(fun, *args):
    """The most elements that any value has which a program computes, the blocks in its Refs aside."""

    def sizes(jaxpr):
        for eqn in jaxpr.eqns:
            yield from (v.aval.size for v in eqn.outvars if hasattr(v.aval, "size"))
            for inner in subjaxprs(eqn.params):
                yield from sizes(inner)

    (eqn,) = calls_of(fun, *args)
    return max(sizes(eqn.params["jaxpr"].jaxpr))
