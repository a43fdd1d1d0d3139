"""What is asked of a kernel: that it gives what NumPy does, and what its programs are given and make."""

import math

import numpy as np
from drawn import shown

import tinyjax as jax
from tinyjax.core.jaxpr import subjaxprs

NAN = ". (NaN is in an output until it is written, and in a block beyond the end of its array.)"
RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def agree(fun, spec, *args, rtol=1e-5):
    """Expects what `spec` gives for these arguments, in float64, and that they are as they were."""
    wide = [np.asarray(x, np.float64) if np.asarray(x).dtype.kind == "f" else x for x in args]
    before = [np.copy(x) for x in args]
    with jax.disable_jit():  # programs run one after the other: nothing is compiled for one call
        found = fun(*args)
    expected = np.asarray(spec(*wide))
    assert not callable(found), (
        "a function is returned: call what pl.pallas_call gives, with the arrays"
    )
    assert found is not None, "nothing is returned"
    found, dtype = np.asarray(found), np.asarray(args[0]).dtype
    assert found.shape == expected.shape, (
        f"the result's shape is {found.shape}, and should be {expected.shape}"
    )
    assert found.dtype == dtype, f"the result's dtype is {found.dtype}, and should be {dtype}"
    rtol = rtol if dtype.kind == "f" else 0  # whole numbers are exact
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    atol = rtol * min(1, largest)  # where all numbers are small, none is near enough to 0
    wrong = np.argwhere(~np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True))
    if len(wrong):
        at = tuple(map(int, wrong[0]))
        is_value, should_be = (f"{x[at]:.7g}" if rtol else str(x[at]) for x in (found, expected))
        raise AssertionError(
            f"{len(wrong)} of {found.size} elements are wrong: the one at {at} is {is_value}, and "
            f"should be {should_be}" + (NAN if np.isnan(found[at]) else "")
        )
    for x, y in zip(args, before):
        np.testing.assert_array_equal(x, y)


def agree_for_drawn_sizes(
    fun, spec, most, shapes_of, rtol=1e-4, dtypes=("float32", "int32"), count=5
):
    """The same of arrays that are drawn, small ones first. `shapes_of` makes the arguments' shapes of whole
    numbers, from 1 to those in `most`. Dtypes come in turn: one for all arguments, or one for each. At the
    end small arrays of float64, in place of float32, and the same with all numbers near 0."""
    for n in range(count):
        rng = np.random.default_rng([n, *most])
        shares = (
            rng.uniform(0.4, 1, len(most)) * n / (count - 1) if n < count - 1 else [1] * len(most)
        )
        numbers = [1 + int(share * (top - 1)) for share, top in zip(shares, most)]
        dtype, shapes = dtypes[n % len(dtypes)].split(), shapes_of(*numbers)
        given = [20 * rng.uniform(-1, 1, shape) for shape in shapes]
        given = [x.astype(dtype[i % len(dtype)]) for i, x in enumerate(given)]
        with shown(arguments=", ".join(f"{x.dtype}{list(x.shape)}" for x in given)):
            agree(fun, spec, *given, rtol=rtol)
        if n != 1 or dtypes[0] == "int32":
            continue
        wide = dtypes[0].replace("float32", "float64").split()
        for scale in (1.0, 2.0**-20):
            given = [20 * scale * rng.uniform(-1, 1, shape) for shape in shapes]
            given = [x.astype(wide[i % len(wide)]) for i, x in enumerate(given)]
            with shown(dtypes=wide, shapes=shapes, scale=scale), jax.enable_x64():
                agree(fun, spec, *given, rtol=1e-12)


def agree_for_other_numbers(fun, spec, *shapes, least=2**24 + 1, halves=True):
    """The same of large whole numbers, none below `least`; of halves; and where a number of any argument is
    infinite or none."""
    if least:
        whole = [least + np.arange(math.prod(shape)).reshape(shape) % 5 for shape in shapes]
        agree(fun, spec, *[x.astype(np.int32) for x in whole])
    if halves:
        agree(fun, spec, *[floats(*shape).astype(np.float16) for shape in shapes], rtol=2e-2)
    for i in range(len(shapes)):
        for value in (np.nan, np.inf):
            args = [floats(*shape) for shape in shapes]
            args[i].flat[args[i].size // 2] = value
            with np.errstate(invalid="ignore"):
                agree(fun, spec, *args, rtol=1e-4)


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


def the_call(fun, *args):
    """The equation of the one pallas_call that a function makes."""
    calls = calls_of(fun, *args)
    assert len(calls) == 1, f"pl.pallas_call should be called once: it is called {len(calls)} times"
    return calls[0]


def has_grid(fun, args, *grid):
    """Expects this grid of the one pallas_call."""
    found = tuple(the_call(fun, *args).params["grid_mapping"].grid)
    assert found == grid, f"the grid is {found}, and should be {grid}"


def computes_at_most(most, fun, *args):
    """Expects no value of more elements in a program, the blocks in its Refs aside."""
    eqns = list(eqns_of_kernel(fun, *args))
    largest = max(v.aval.size for eqn in eqns for v in eqn.outvars if hasattr(v.aval, "size"))
    assert largest <= most, (
        f"a program computes a value of {largest} elements, and should have at most {most} at once"
    )


def loops_at_most(most, fun, *args):
    """Expects no loops of `lax` in the kernel."""
    loops = sum(eqn.primitive.name in ("scan", "while") for eqn in eqns_of_kernel(fun, *args))
    assert loops <= most, f"the kernel has {loops} loops, and should have at most {most}"


def eqns_of_kernel(fun, *args):
    """The equations of the kernel, and of what is nested in them."""

    def walk(jaxpr):
        for eqn in jaxpr.eqns:
            yield eqn
            for inner in subjaxprs(eqn.params):
                yield from walk(inner)

    return walk(the_call(fun, *args).params["jaxpr"].jaxpr)
