"""Lesson 1 with inputs drawn at random, small ones first, against NumPy, a table or a naive loop."""

# ruff: noqa: B023 (a function that is made in a loop runs in its round)

import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from drawn import cases, drawn_array, drawn_shape, is_about, is_exactly, one_of
from judged import SMALL_FLOAT
from practice import moving_mean
from practice.instead import instead

import tinyjax as jax
from tinyjax.core import bind, dtypes, primitives
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, Trace, context, set_current_trace

NAMES = ("axis", "size", "trace", "name", "primitive", "params", "x", "shape", "dtype", "value")
KINDS = tuple(map(np.dtype, ("float32", "float64", "float16", "int8", "int64", "uint64", "uint8",
                             "bool", "complex64", "complex128", SMALL_FLOAT)))  # fmt: skip
NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


def canonical(dtype, x64=False):
    return dtype if x64 else np.dtype(NARROW.get(str(dtype), dtype))


def drawn_kind(rng, shape):
    """An array of any dtype, of any order in memory."""
    x = drawn_array(rng, shape) * 3
    with np.errstate(all="ignore"):
        x = x.astype(one_of(rng, KINDS))
    return one_of(rng, (x, np.asfortranarray(x), np.repeat(x, 2, -1)[..., ::2])) if x.ndim else x


# ---- bind ----


class Terms(Trace):
    """Computes nothing: the result is the operation itself."""

    def process_primitive(self, primitive, args, params):
        return primitive, tuple(args), params


class Noting(Trace):
    """Computes nothing, notes the operations, and gives one answer to all."""

    def __init__(self, answer):
        self.answer, self.seen = answer, []

    def process_primitive(self, primitive, args, params):
        self.seen.append((primitive, tuple(args), params))
        return self.answer


def test_whatever_is_drawn_bind_hands_it_on_as_it_is():
    p = Primitive("p")
    for rng, size in cases(40):
        pool = (0, 0.0, True, None, (), [1], {}, np.zeros(2), np.float64(3), "x", -2.5, object())
        args = [one_of(rng, pool) for _ in range(rng.integers(3 * size + 1))]
        names = [str(name) for name in rng.permutation(NAMES)[: rng.integers(2 * size + 1)]]
        params = {name: one_of(rng, pool) for name in names}
        trace = Noting(one_of(rng, pool))
        with set_current_trace(trace):
            out = p.bind(*args, **params)
        assert out is trace.answer, f"the trace answers {trace.answer!r}, and bind {out!r}"
        assert len(trace.seen) == 1, f"the trace is asked {len(trace.seen)} times"
        ((primitive, handed, named),) = trace.seen
        assert primitive is p
        assert len(handed) == len(args) and all(x is y for x, y in zip(handed, args)), (
            f"the operands {args} are handed on as {handed}"
        )
        assert [*named] == names and all(named[n] is params[n] for n in names), (
            f"the parameters {params} are handed on as {named}"
        )


def test_blocks_that_are_drawn_end_as_they_began_whatever_is_raised():
    errors = (KeyError, StopIteration, GeneratorExit, KeyboardInterrupt, SystemExit, RuntimeError)

    def enter(depth):
        trace, before = one_of(rng, traces), context.trace
        try:
            with set_current_trace(trace):
                assert context.trace is trace
                for _ in range(rng.integers(3) if depth else 0):
                    enter(depth - 1)
                context.trace = one_of(rng, traces)
                if rng.integers(2):
                    raise error
        except type(error) as found:
            assert found is error, f"{error!r} must go on, but {found!r} came"
            raised.append(found)
        finally:
            after, context.trace = context.trace, before
            assert after is before, f"after a block, of which the error is {error!r}"

    for rng, size in cases(30):
        traces, raised = [Terms() for _ in range(3)] + [context.trace], []
        error = one_of(rng, errors)("of a block")
        enter(size)


def test_a_block_that_is_used_again_begins_where_it_is_used():
    before, again = context.trace, set_current_trace(Terms())
    for outer in (before, Terms(), Terms()):
        with set_current_trace(outer):
            with again:
                assert context.trace is again.trace
            after, context.trace = context.trace, outer
            assert after is outer, "after a block, the trace from before this block is current"
    assert context.trace is before


@pytest.mark.skipif(sys.platform == "emscripten", reason="a browser has no threads")
def test_blocks_of_two_threads_are_apart():
    started, go_on, found = threading.Event(), threading.Event(), []

    def other():
        before = context.trace
        with set_current_trace(Terms()):
            started.set()
            go_on.wait(5)
        found.append(context.trace is before)

    thread, before, outer = threading.Thread(target=other), context.trace, Terms()
    with set_current_trace(outer):
        with set_current_trace(Terms()):
            thread.start()
            started.wait(5)
        after = context.trace
        go_on.set()
        thread.join()
    context.trace = before
    assert after is outer, "a block that began later, in another thread, ends later"
    assert found == [True], "and ends with what was current in its own thread"


# ---- instead ----


def test_of_answers_that_are_drawn_each_is_given_by_the_innermost_trace_that_has_one():
    ps = [Primitive(name) for name in "pqrst"]

    def answer(ways):  # binds other primitives, one after the other
        def fun(*args, **params):
            for k, way in enumerate(ways):
                args = (way.bind(*args, **(params | {"k": k})),)
            return args[0] if ways else args

        return fun

    def term(levels, p, args, params):  # what is to come, by recursion
        if not levels:
            return p, tuple(args), params
        *outer, ways = levels
        if p not in ways:
            return term(outer, p, args, params)
        for k, way in enumerate(ways[p]):
            args = (term(outer, way, args, params | {"k": k}),)
        return args[0] if ways[p] else args

    for rng, size in cases(40):
        levels = [
            {p: [one_of(rng, ps) for _ in range(rng.integers(3))] for p in ps if rng.integers(2)}
            for _ in range(rng.integers(size + 1))
        ]
        steps = [
            (one_of(rng, ps), rng.integers(4), {"axis": one_of(rng, (0, None))}) for _ in range(3)
        ]

        def program(x):
            return [p.bind(*[x] * int(n), **params) for p, n, params in steps]

        for ways in reversed(levels):
            program = instead({p: answer(w) for p, w in ways.items()}, program)
        with set_current_trace(Terms()):
            got = program("x")
        named = [{str(p): [*map(str, w)] for p, w in ways.items()} for ways in levels]
        for found, (p, n, params) in zip(got, steps):
            want = term(levels, p, ("x",) * int(n), params)
            assert found == want, (
                f"{p} of {n} operands, where answers bind {named}: {found}, not {want}"
            )


@pytest.mark.parametrize(
    "error", [NotImplementedError, RuntimeError, StopIteration, AttributeError]
)
def test_an_error_of_an_answer_is_the_functions(error):
    p = Primitive("p")

    def answer(x):
        raise error("of an answer")

    with set_current_trace(Terms()), pytest.raises(error, match="of an answer"):
        instead({p: answer}, p.bind)("x")
        pytest.fail("the answer's error is gone")


# ---- get_aval ----


def test_of_whatever_value_the_aval_is_its_shape_and_dtype():
    for rng, size in cases(120):
        x, x64 = drawn_kind(rng, drawn_shape(rng, size)), bool(rng.integers(2))
        if rng.integers(4) == 0:
            x = one_of(rng, (0, 1, -2.5, 0.0, 1j, True, False, np.inf))
        elif x.ndim == 0:
            x = one_of(rng, (x, x[()]))
        with jax.enable_x64(x64):
            is_weak = type(x) in (int, float, complex)
            wide = {int: "int64", float: "float64", complex: "complex128", bool: "bool"}
            dtype = canonical(np.dtype(wide[type(x)]) if type(x) in wide else x.dtype, x64)
            inside = x
            for _ in range(rng.integers(3) if size else 0):
                inside = SimpleNamespace(__jax_array__=lambda y=inside: y)
            aval = get_aval(inside)
        want = (np.shape(x), dtype, is_weak)
        got = (aval.shape, aval.dtype, aval.weak_type)
        assert got == want, f"of {x!r}, with x64 {x64}: shape, dtype, weak type {got}, not {want}"


@pytest.mark.parametrize("error", [AttributeError, NotImplementedError, LookupError, StopIteration])
def test_an_error_of_any_kind_in_jax_array_goes_on(error):
    def fails():
        raise error("within __jax_array__")

    with pytest.raises(error, match="within __jax_array__"):
        get_aval(SimpleNamespace(__jax_array__=fails))


# ---- shapes ----


def fits(shapes):
    """The shape that these broadcast to, or None: size by size."""
    shapes = [shape for shape in shapes if shape]
    if len({len(shape) for shape in shapes}) > 1:
        return None
    out = []
    for sizes in zip(*shapes):
        n = 1
        for size in sizes:
            if n != 1 and size != 1 and n != size:
                return None
            n = size if n == 1 else n
        out.append(n)
    return tuple(out)


def test_whatever_shapes_are_drawn_they_fit_as_size_by_size():
    for rng, size in cases(300):
        full = tuple(int(one_of(rng, (0, 1, 2, 3, 7))) for _ in range(rng.integers(size + 2)))
        shapes = []
        for _ in range(rng.integers(size + 3)):
            shape = tuple(n if rng.integers(3) else 1 for n in full)
            if rng.integers(12) == 0 and shape:
                k = int(rng.integers(len(shape)))
                shape = (*shape[:k], int(one_of(rng, (0, 2, 5))), *shape[k + 1 :])
            shapes.append(one_of(rng, (shape, shape, shape, ())))
        if rng.integers(8) == 0:
            shapes.append(full[1:])
        avals = [ShapedArray(shape, np.dtype("float32")) for shape in shapes]
        want = fits(shapes)
        try:
            got = primitives.broadcast_shapes("some name", *avals)
        except TypeError as error:
            got = None
            assert "some name got incompatible shapes for broadcasting" in str(error)
            assert ", ".join(map(str, shapes)) in str(error), (
                f"all shapes, {shapes}, stand in {error}"
            )
        assert got == want, f"the shapes {shapes} become {got}, not {want}"


def test_whatever_is_drawn_each_dimension_is_put_where_it_belongs():
    for rng, size in cases(80):
        shape = drawn_shape(rng, size)
        if rng.integers(5) == 0:
            shape = one_of(rng, ((120, 1, 120), (101, 100), (2, 8000), (3,) * 9))
        kept = sorted(int(d) for d in rng.permutation(len(shape))[: rng.integers(len(shape) + 1)])
        of_x = [shape[d] if rng.integers(4) else 1 for d in kept]
        x = drawn_kind(rng, of_x)
        if rng.integers(8) == 0:  # a random key's elements have no arithmetic
            x = np.zeros(of_x, [("key", "u4", (2,))])
            x["key"] = rng.integers(99, size=(*of_x, 2))
        before = x.copy()
        want = np.zeros(shape, x.dtype)
        want[...] = np.transpose(x).reshape(()) if not kept else x[
            tuple(slice(None) if d in kept else None for d in range(len(shape)))
        ]  # fmt: skip
        got = primitives._broadcast_in_dim_impl(x, shape=shape, broadcast_dimensions=tuple(kept))
        about = f"{x.dtype} of shape {x.shape} to {shape}, its dimensions at {kept}"
        assert got.shape == shape and got.dtype == x.dtype, f"{about}: {got.dtype}{got.shape}"
        assert got.tobytes() == want.tobytes(), f"{about}: {got}, not {want}"
        assert x.tobytes() == before.tobytes(), f"{about}: the operand is changed"


# ---- eager evaluation ----


def test_whatever_is_drawn_the_rules_are_given_it_and_their_results_are_arrays():
    for rng, size in cases(60):
        p, x64, seen = Primitive("p"), bool(rng.integers(2)), []
        p.multiple_results = bool(rng.integers(2))
        has_aval, weak = bool(rng.integers(3)), bool(rng.integers(2))
        shape = drawn_shape(rng, size)
        out = [drawn_array(rng, shape).astype(one_of(rng, ("f4", "i4", "?", "f2")))
               for _ in range(rng.integers(size + 2))]  # fmt: skip
        out = out if p.multiple_results else drawn_array(rng, drawn_shape(rng, size))

        def aval_of(*avals, **params):
            seen.append(("abstract_eval", avals, params))
            outs = out if p.multiple_results else [out]
            avals = [ShapedArray(y.shape, y.dtype, weak) for y in outs]
            return avals if p.multiple_results else avals[0]

        def impl(*values, **params):
            seen.append(("impl", values, params))
            return out

        p.def_impl(impl)
        if has_aval:
            p.def_abstract_eval(aval_of)
        params = {name: one_of(rng, (0, None, (), False)) for name in NAMES[: rng.integers(3)]}
        with jax.enable_x64(x64):
            args, wants = [], []
            for _ in range(rng.integers(size + 2)):
                x = drawn_kind(rng, drawn_shape(rng, size))
                number = one_of(rng, (2, -1.5, True))
                wide = np.asarray(x, canonical(x.dtype, x64))
                x = one_of(rng, (x, number, ArrayImpl(wide, ShapedArray(x.shape, wide.dtype))))
                args.append(x)
                of_number = (
                    np.asarray(x, canonical(np.asarray(x).dtype, x64)) if x is number else wide
                )
                wants.append(of_number)
            got = bind.EvalTrace().process_primitive(p, tuple(args), params)
        about = f"operands {args}, with x64 {x64}"
        assert [name for name, *_ in seen] == ["abstract_eval"] * has_aval + ["impl"], about
        for name, given, named in seen:
            assert named == params and len(given) == len(wants), about
            for x, want in zip(given, wants):
                assert (x.shape, x.dtype) == (want.shape, want.dtype), (
                    f"{about}: {name} is given {x}"
                )
        assert all(map(is_exactly, seen[-1][1], wants)), f"{about}: impl is given {seen[-1][1]}"
        if not has_aval:
            assert got is out, f"{about}: without an abstract_eval rule, the impl rule's own result"
            continue
        assert isinstance(got, list if p.multiple_results else ArrayImpl), f"{about}: {got!r}"
        pairs = zip(got, out, strict=True) if p.multiple_results else [(got, out)]
        for x, y in pairs:
            want = ShapedArray(y.shape, y.dtype, weak)
            assert isinstance(x, ArrayImpl) and x.aval == want, f"{about}: {x.aval}, not {want}"
            assert is_exactly(np.asarray(x), y), f"{about}: the result is {x}, not {y}"


# ---- a mean of neighbours ----


def test_whatever_is_drawn_each_mean_is_of_its_own_window():
    for rng, size in cases(60):
        shape = (*drawn_shape(rng, size, most=3), int(rng.integers(1, 4 + 2 * size)))
        window = int(rng.integers(1, shape[-1] + 1))
        x = drawn_array(rng, shape).astype(one_of(rng, KINDS[:3] + KINDS[8:]))
        special = x.size and rng.integers(2)
        if special:
            x.flat[int(rng.integers(x.size))] = one_of(rng, (np.nan, np.inf, -np.inf, 6e4, -6e4))
        want = np.zeros((*shape[:-1], shape[-1] - window + 1), complex)
        for k in range(want.shape[-1]):
            with np.errstate(all="ignore"):
                want[..., k] = sum(x[..., k + j].astype(complex) for j in range(window)) / window
        with np.errstate(all="ignore"):
            got = moving_mean.moving_mean_impl(x, window=window)
            aval = moving_mean.moving_mean_aval(ShapedArray(x.shape, x.dtype), window=window)
            wide = np.asarray(got).astype(complex)
        rough = 0.05 if x.dtype.itemsize == 2 else 1e-5
        about = f"the means of {window} of {x.dtype}{shape}, {x!r}"
        assert (aval.shape, aval.dtype) == (want.shape, x.dtype), (
            f"{about}: abstract_eval says {aval}"
        )
        assert (got.shape, got.dtype) == (want.shape, x.dtype), f"{about}: {got.dtype}{got.shape}"
        finite = np.isfinite(want)
        assert is_about(wide[finite], want[finite], rough), f"{about}: {got}, not {want}"
        assert not np.isfinite(wide[~finite]).any(), f"{about}: {got}, not {want}"


def test_whatever_window_or_dtype_is_drawn_what_does_not_fit_is_refused():
    for rng, size in cases(60):
        shape = (*drawn_shape(rng, size, most=3), int(rng.integers(1, 5)))
        window, dtype = int(rng.integers(-2, 8)), one_of(rng, KINDS)
        aval = ShapedArray(shape, dtype)
        wrong = ValueError if not 1 <= window <= shape[-1] else None
        wrong = wrong if dtypes.is_inexact(dtype) else TypeError
        if wrong is TypeError and not 1 <= window <= shape[-1]:
            continue  # two faults: either may be named
        try:
            moving_mean.moving_mean_aval(aval, window=window)
            found = None
        except (ValueError, TypeError) as error:
            found = type(error)
            named = str(window) if wrong is ValueError else str(dtype)
            assert named in str(error), f"{named} stands in the message: {error}"
        assert found is wrong, f"a window of {window} in {aval}: {found}, not {wrong}"
