"""Powers, accesses of memory and sums in kernels, drawn at random."""

from dataclasses import replace

import numpy as np
import pytest
from drawn import draws, equal, is_exactly
from judged import SMALL_FLOAT
from lowering import aval

from tinyjax import lax
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.check_kernel import KernelError, _check_access
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.interpret import _load, _store, apply_op, interpret_kernel
from tinyjax.compile.kernel.kernel_ir import Buffer, PrivateArray
from tinyjax.compile.kernel.loop_nest import loop_nest
from tinyjax.compile.kernel.rules import lowering_rules
from tinyjax.compile.target import CPU
from tinyjax.core.pretty_printer import variable_names
from tinyjax.core.tracing import make_jaxpr

F32 = np.dtype("float32")


class Products:
    """A context that computes with NumPy's numbers, and notes what it does."""

    def __init__(self):
        self.ops = []

    def op(self, name, *args, dtype=None):
        self.ops.append(name)
        with np.errstate(all="ignore"):
            return apply_op(name, dtype or args[0].dtype, args)

    def constant(self, value, dtype):
        return dtype.type(value)


def test_any_power_is_exact_and_takes_few_products():
    rule = lowering_rules[lax.integer_pow_p]
    for draw in draws(60):
        most = draw.choice([9, 200, 2**20, 2**40])
        exponent, x = draw.randint(0, most), np.uint64(draw.randint(0, 2**64 - 1) | 1)
        ctx = Products()
        found = rule.emit(ctx, x, y=exponent)
        expected = pow(int(x), exponent, 2**64)
        assert int(found) == expected, f"{x} to the {exponent}: expected {expected}, found {found}"
        least = max(0, exponent.bit_length() + exponent.bit_count() - 2)
        is_short = set(ctx.ops) <= {"mul"} and len(ctx.ops) <= least
        assert is_short, f"to the {exponent} by at most {least} products: {ctx.ops}"
        number, ctx = draw.choice([np.float32(2), np.float64(-2), np.complex64(2j)]), Products()
        exponent = draw.randint(1, 100)
        found = rule.emit(ctx, number, y=-exponent)
        equal(found, 1 / number.astype(np.complex128) ** exponent, 1e-6, power=-exponent)
        assert ctx.ops[-1] == "div" and ctx.ops.count("div") == 1, f"to the -{exponent}: {ctx.ops}"


# ---- accesses ----


def drawn_access(draw):
    """A memory, an index into it, a width and an end, and all that they may be where the loops run."""
    lo, stride, first = (
        draw.randint(0, 2),
        draw.choice([1, 1, 2, 4]),
        draw.choice([draw.randint(-1, 3), 50]),
    )
    hi = lo + draw.randint(0, 3)
    at, width = index_var("i", lo, hi) * stride + first, draw.choice([1, 1, 2, 4])
    positions = [i * stride + first for i in range(lo, hi + 1)]
    end, ends = None, [None]
    if draw.random() < 0.4:
        least = max(0, positions[-1] + width - draw.randint(0, 5))
        ends = list(range(least, least + draw.randint(1, 3)))
        ends = [e for e in ends if e <= positions[-1] + width] or [0]
        end = index_var("end", ends[0], ends[-1]) if len(ends) > 1 else index(ends[0])
    return at, width, end, positions, ends


def test_of_any_access_it_is_refused_if_an_iteration_may_leave_the_memory():
    for draw in draws(300):
        at, width, end, positions, ends = drawn_access(draw)
        size = max(1, positions[-1] + width + draw.randint(-4, 2))
        of_vectors = draw.choice([1, 1, 1, 2, 4])
        memory = draw.choice(
            [Buffer("x", F32, size, "in"), PrivateArray("x", F32, size, width=of_vectors)]
        )
        read = [*at.variables, *([] if end is None else end.variables)]
        made = [index_var("i", 0, 9), index_var("end", 0, 99), *read]
        scope = {"x": replace(memory), **{v.args[0]: v for v in made}}
        about = f"{width} elements at {at} up to {end} of {memory!r}"
        refused = ""
        if isinstance(memory, PrivateArray) and memory.width > 1:
            end, reached = None, positions  # each position is that of a whole vector
            if width != memory.width:
                refused = "another width"
        else:
            reached = set(positions)
            for p in positions:
                for e in ends:
                    reached |= {q for q in range(p, p + width) if e is None or q < e}
            # one end for all iterations, and each reaches as far as any may
            reached |= {e - 1 for e in ends if e is not None and e > 0}
        if not refused and (min(reached) < 0 or max(reached) >= size):
            refused = "spans"
        for missing in draw.choice([[], [], [], ["i"], ["end"], ["x"], ["other x"]]):
            if missing == "other x":
                scope["x"] = Buffer("x", F32, size + 1, "in")
                refused = "x is not defined"
            else:
                scope.pop(missing)
                names = at.names | (frozenset() if end is None else end.names)
                if missing == "x" or missing in names:
                    refused = f"{missing} is not defined"
        if not refused:
            _check_access(memory, at, width, end, scope)
            continue
        with pytest.raises(KernelError, match=refused):
            _check_access(memory, at, width, end, scope)
            pytest.fail(f"{about} must be refused: {refused}")


def drawn_numbers(draw, shape):
    dtype = draw.choice([np.float32, np.float16, np.float64, np.int64, np.uint8, bool, SMALL_FLOAT])
    numbers = [draw.randint(0, 49) for _ in range(int(np.prod(shape)))]
    if np.dtype(dtype).kind not in "biu":
        numbers = [draw.choice([n, n, -0.0, np.nan, np.inf]) for n in numbers]
    if dtype is np.int64:
        numbers = [n + draw.choice([0, 2**62]) for n in numbers]
    return np.array([n % 2 for n in numbers] if dtype is bool else numbers, dtype).reshape(shape)


def test_of_any_access_elements_are_loaded_and_stored_one_by_one():
    i, end_of = index_var("i", 0, 99), index_var("end", 0, 99)
    for draw in draws(200):
        size, width = draw.randint(1, 9), draw.choice([1, 2, 4, 8])
        position = draw.randint(0, size)
        end = draw.randint(position, size + 1) if draw.random() < 0.5 else None
        array = drawn_numbers(draw, (size,))
        memory, scope = Buffer("x", array.dtype, size, "inout"), {"x": array, "i": position}
        scope["end"] = end
        places = [p for p in range(position, position + width) if end is None or p < end]
        outside = position >= size or width > 1 and any(p >= size for p in places)
        at_end = None if end is None else end_of
        about = f"{width} of {array!r} at {position} up to {end}"
        with np.errstate(all="ignore"):
            before, values = array.copy(), np.array(drawn_numbers(draw, (width,)), array.dtype)
        if outside:
            with pytest.raises(IndexError):
                _load(width, memory, i, at_end, scope)
                pytest.fail(f"{about}: there is no such element to load")
            with pytest.raises(IndexError):
                _store(values if width > 1 else values[0], memory, i, at_end, scope)
                pytest.fail(f"{about}: there is no such element to store")
            continue
        found = _load(width, memory, i, at_end, scope)
        equal(array, before, of=about)
        wanted = [before[p if p in places else position] for p in range(position, position + width)]
        wanted = np.array(wanted if width > 1 else wanted[0], array.dtype)
        assert is_exactly(found, wanted), f"{about}: expected {wanted!r}, found {found!r}"
        other = {**scope, "x": np.zeros_like(array), "i": 0, "end": size}
        _load(width, memory, i, end_of, other)  # what was loaded before stays
        kept = values.copy()
        _store(values if width > 1 else values[0], memory, i, at_end, scope)
        expected = before.copy()
        for lane, p in enumerate(range(position, position + width)):
            if p in places or width == 1:
                expected[p] = kept[lane]
        assert is_exactly(array, expected), f"{about}: {kept!r} stored makes {array!r}"
        array[:] = 0
        equal(found, wanted, of=about, then=0)
        equal(values, kept, of=about)


def test_of_any_private_array_of_vectors_a_row_is_loaded_and_stored():
    i = index_var("i", 0, 99)
    for draw in draws(20):
        size, width = draw.randint(1, 5), draw.choice([2, 4, 8])
        rows, position = drawn_numbers(draw, (size, width)), draw.randrange(size)
        memory, scope = PrivateArray("x", rows.dtype, size, width=width), {"x": rows, "i": position}
        before, value = rows.copy(), np.array(np.arange(width) * 3 % 7, rows.dtype)
        found = _load(width, memory, i, None, scope)
        equal(found, before[position], dtype=rows.dtype, rows=before, position=position)
        _store(value, memory, i, None, scope)
        expected = before.copy()
        expected[position] = value
        equal(rows, expected, dtype=rows.dtype, rows=before, position=position, stored=value)
        equal(found, before[position], rows=before, position=position, then="stored to")


# ---- sums ----


def limits(dtype):
    """The least and the greatest number of a dtype."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def test_of_any_axes_and_dtype_a_reduction_is_a_loop_for_each_axis():
    for draw in draws(40):
        shape = draw.shape(4, (2, 3, 1, 0))
        dtype = np.dtype(draw.choice([np.float32, np.int32, np.float16]))
        kind, by = draw.choice(
            [(lax.reduce_sum_p, np.sum), (lax.reduce_prod_p, np.prod), (lax.reduce_max_p, np.max)]
        )
        axes = tuple(axis for axis in range(len(shape)) if draw.random() < 0.6)
        combined = [shape[axis] for axis in axes]
        if not axes or 0 in shape and 0 not in combined:
            continue
        x = draw.whole(shape, dtype)
        about = {"reduction": kind, "axes": axes, "x": x}
        least = {"initial": limits(dtype)[0]} if kind is lax.reduce_max_p else {}
        with np.errstate(all="ignore"):
            expected = np.asarray(by(x, axes, **least)).astype(dtype)
        reduced = lambda x, k=kind, a=axes: k.bind(x, axes=a)  # noqa: E731
        jaxpr = make_jaxpr(reduced)(aval(*shape, dtype=dtype)).jaxpr
        group = KernelGroup(list(jaxpr.outvars), list(jaxpr.invars), list(jaxpr.eqns))
        kernel = loop_nest(group, "k0", variable_names(jaxpr), CPU)
        out = np.zeros(expected.size, dtype)
        interpret_kernel(kernel, [x.reshape(-1), out])
        equal(out.reshape(expected.shape), expected, dtype=dtype, **about)
        text = str(kernel)
        loops = (
            sum(n > 1 for n in x.shape) if 0 not in combined else sum(n > 1 for n in expected.shape)
        )
        assert text.count("for ") == loops, f"{about}: expected {loops} loops\n{text}"


def test_of_any_halves_a_product_of_vectors_is_rounded_once():
    for draw in draws(10):
        n, unit = draw.count(1), 2.0**-10
        steps = [draw.randint(1, 7) for _ in range(n)]
        # (1 + k u)**2 - (1 + 2 k u) is (k u)**2: nothing is left of it if a product is rounded to a half
        x = np.float16([v for k in steps for v in (1 + k * unit, -1 - 2 * k * unit)])
        y = np.float16([v for k in steps for v in (1 + k * unit, 1)])
        jaxpr = make_jaxpr(lambda x, y: lax.dot(x, y))(*[aval(2 * n, dtype="float16")] * 2).jaxpr
        group = KernelGroup(list(jaxpr.outvars), list(jaxpr.invars), list(jaxpr.eqns))
        out = np.zeros(1, np.float16)
        interpret_kernel(loop_nest(group, "k0", variable_names(jaxpr), CPU), [x, y, out])
        expected = sum((k * unit) ** 2 for k in steps)
        equal(out[0], np.float16(expected), 1e-2 * expected, x=x, y=y)
