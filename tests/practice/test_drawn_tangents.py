"""Lessons 2 and 3 with inputs drawn at random, small ones first, against NumPy or exact fractions."""

# ruff: noqa: B023 (a function that is made in a loop runs in its round)

import operator
from fractions import Fraction

import numpy as np
import pytest
from drawn import cases, drawn_array, drawn_shape, is_about, one_of
from judged import SMALL_FLOAT
from practice import kepler, taylor
from practice.dual import Dual
from practice.error_bars import error_of

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core import bind, dtypes, primitives
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.bind import Primitive, Trace, Tracer, context
from tinyjax.lax import reductions
from tinyjax.transform import jvp as jvp_module
from tinyjax.transform.jvp import JVPTrace, JVPTracer, Zero, jvp_rules, zero_tangent

FLOATS = tuple(map(np.dtype, ("float32", "float16", SMALL_FLOAT, "float64", "complex64")))


def roughly(dtype):
    return 0.03 if dtype.itemsize == 2 else 1e-4


def array(x):
    """As an Array, as rules get it."""
    return ArrayImpl(x, ShapedArray(x.shape, x.dtype))


# ---- dual numbers ----


def test_of_a_program_that_is_drawn_the_slope_is_that_of_exact_fractions():
    def run(steps, x):
        values = [x]
        for op, i, j in steps:
            values.append(op(*[values[k] if type(k) is int else k[0] for k in (i, j)]))
        return values[-1]

    step = Fraction(1, 10**15)
    for rng, size in cases(60):
        at = Fraction(int(rng.integers(9)), int(rng.integers(1, 5)))
        ops = (operator.mul, operator.truediv, operator.mul, operator.truediv, operator.add)
        constants = (Fraction(2), Fraction(-3, 7), 5, -1, 0)
        steps = [(operator.mul, 0, (1,))]
        for k in range(1, 2 * size + 2):
            i, j = int(rng.integers(k + 1)), int(rng.integers(k + 1))
            number = (one_of(rng, constants),)  # a number in place of an operand
            steps.append(
                (one_of(rng, ops), *one_of(rng, ((i, j), (i, i), (i, number), (number, i))))
            )
        try:
            value = run(steps, at)
            want = (run(steps, at + step) - run(steps, at - step)) / (2 * step)
        except ZeroDivisionError:
            continue
        before, about = (
            Dual(at, Fraction(1)),
            f"of {[(op.__name__, *ij) for op, *ij in steps]} at {at}",
        )
        try:
            got = run(steps, before)
        except ZeroDivisionError:
            pytest.fail(f"the slope {about} is {float(want)}, and no division by zero")
        assert got.primal == value, f"the result {about}: {got.primal}, not {value}"
        assert abs(got.tangent - want) <= Fraction(1, 10**9) * (1 + abs(want)), (
            f"the slope {about}: {got.tangent}, not {float(want)}"
        )
        assert (before.primal, before.tangent) == (at, 1), f"{about}: the Dual is changed"
        for of in (complex, float):
            number = run(steps, Dual(of(at), of(1)))
            scale = 1 + abs(number.tangent)
            assert abs(number.tangent - of(want)) <= 1e-5 * scale, f"the slope {about}, in {of}"


def test_a_number_may_be_of_any_kind_also_an_array():
    for x in (3, 2.5, 1 + 2j, np.float32(3), np.array([1.0, 2.0]), Fraction(1, 3)):
        for y in (2, 0.5, 2j, np.float64(2), np.array([4.0, 8.0]), Fraction(2, 7)):
            if isinstance(x, Fraction) and isinstance(y, np.ndarray):
                continue
            moved = complex_of((Dual(x, 1) * y).tangent)
            assert np.allclose(moved, complex_of(y)), (
                f"x * {y!r}, where x is {x!r}, moves by {moved}"
            )
            moved = complex_of((Dual(x, 1) / y).tangent)
            assert np.allclose(moved, 1 / complex_of(y)), (
                f"x / {y!r}, where x is {x!r}, moves by {moved}"
            )
    half = Dual(4, 2) / Dual(2, 0)
    assert type(half.primal) is float, f"4 / 2 is 2.0 in Python, and {half.primal!r} here"
    for bad in (0.0, np.nan, np.inf):
        d = Dual(np.float64(bad), 1.0)
        with np.errstate(all="ignore"):
            got = d / d
        assert np.isnan(got.primal), f"{bad} / {bad} is nan, and not {got.primal}"


def complex_of(x):
    return np.asarray(x, complex) if not isinstance(x, Fraction) else complex(x)


# ---- rules by operand ----


def test_whatever_is_drawn_the_tangent_is_the_sum_of_the_rules():
    for rng, size in cases(60):
        count, shape, runs = int(rng.integers(1, 2 * size + 2)), drawn_shape(rng, size), []
        p, use_result = Primitive("p"), bool(rng.integers(2))
        dtype = one_of(rng, (np.dtype("float32"), np.dtype("int32")))
        result = drawn_array(rng, shape).astype(dtype)
        p.def_impl(lambda *args, **params: runs.append(params) or result)
        p.def_abstract_eval(lambda *avals, **params: ShapedArray(shape, dtype))
        one = array(drawn_array(rng, shape))
        primals = tuple(one_of(rng, (one, array(drawn_array(rng, shape)))) for _ in range(count))
        tangents = tuple(
            one_of(rng, (zero_tangent(one), one, array(drawn_array(rng, shape))))
            for _ in range(count)
        )
        parts = [
            one_of(rng, (one, array(drawn_array(rng, shape)), zero_tangent(one))) for _ in primals
        ]
        has_rule, called = [bool(rng.integers(4)) for _ in primals], []
        params = {"axis": one_of(rng, (0, None, ()))} if size else {}

        def rule(k):
            return lambda *args, **named: called.append((k, args, named)) or parts[k]

        rules = [rule(k) if has_rule[k] else None for k in range(count)]
        out, got = jvp_module._jvp_by_operand(p, rules, use_result, primals, tangents, **params)
        moving = [k for k in range(count) if has_rule[k] and type(tangents[k]) is not Zero]
        about = f"of {count} operands of shape {shape} operands {moving} have a rule and move"
        assert runs == [params], f"{about}: the primitive is bound {len(runs)} times, with {runs}"
        assert [k for k, *_ in called] == moving, f"{about}: the rules called are {called}"
        for k, args, named in called:
            want = (tangents[k], out, *primals) if use_result else (tangents[k], *primals)
            assert len(args) == len(want) and all(map(operator.is_, args, want)), f"{about}: {args}"
            assert named == params, f"{about}: the parameters are {named}, not {params}"
        added = [parts[k] for k in moving if type(parts[k]) is not Zero]
        if added:
            want = np.sum([np.asarray(x) for x in added], axis=0)
            assert is_about(np.asarray(got), want), f"{about}: {got}, not {want}"
        elif not moving:
            want = (shape, dtype if dtype.kind == "f" else dtypes.float0)
            assert type(got) is Zero, f"{about}: {got} is no Zero"
            assert (got.aval.shape, got.aval.dtype) == want, (
                f"{about}: a Zero of {got.aval}, not {want}"
            )


def test_of_whatever_shape_and_dtype_a_zero_becomes_an_array():
    for rng, size in cases(40):
        dtype, shape = one_of(rng, FLOATS[:3]), drawn_shape(rng, size)
        zero = Zero(ShapedArray(shape, dtype, bool(rng.integers(2))))
        got = jvp_module.instantiate_zeros(zero)
        assert isinstance(got, bind.Array) and got.aval == zero.aval, f"of {zero}: {got!r}"
        assert not np.asarray(got).astype(float).any(), f"of {zero}: {got!r}"
        other = array(drawn_array(rng, shape))
        assert jvp_module.instantiate_zeros(other) is other
        x = array(drawn_array(rng, shape).astype(dtype))
        bound = []

        class Notes(Trace):
            def process_primitive(self, primitive, args, params):
                bound.append(primitive)
                return primitive

        with bind.set_current_trace(Notes()):
            jvp_module.add_tangents(x, x)
        assert bound == [jvp_module.add_any_p], (
            f"two tangents, of {zero.aval}, are added by {bound}"
        )


# ---- rules of primitives ----


def test_of_whatever_dtype_and_shape_cosine_and_product_move_as_numpy_says():
    for rng, size in cases(60):
        dtype, shape = one_of(rng, FLOATS), drawn_shape(rng, size)
        x, y, t = (drawn_array(rng, shape) for _ in "xyt")
        x = x * one_of(rng, (1, 1, 100)) if dtype.itemsize > 2 and dtype.kind == "f" else x
        x, y, t = (z.astype(dtype) * (1 + 1j if dtype.kind == "c" else 1) for z in (x, y, t))
        x, y, t = (z.astype(dtype) for z in (x, y, t))
        wide = np.complex128 if dtype.kind == "c" else np.float64
        with jax.enable_x64(dtype == np.float64):
            found = {
                "cos_jvp": jvp_module.cos_jvp(array(t), array(x)),
                "mul_jvp_y": jvp_module.mul_jvp_y(array(t), array(x), array(y)),
            }
        wants = {
            "cos_jvp": -np.sin(x.astype(wide)) * t.astype(wide),
            "mul_jvp_y": x.astype(wide) * t.astype(wide),
        }
        for name, got in found.items():
            about = f"{name} of {dtype}{shape}: t = {t!r}, x = {x!r}"
            assert got.dtype == dtype, f"{about}: a result of {got.dtype}"
            assert is_about(np.asarray(got).astype(wide), wants[name], roughly(dtype)), (
                f"{about}: {got}, not {wants[name]}"
            )


def test_of_whatever_operands_a_linear_primitive_is_applied_to_the_tangents():
    for rng, size in cases(40):
        p, seen, shape = Primitive("p"), [], drawn_shape(rng, size)
        p.multiple_results = bool(rng.integers(2))

        def impl(*args, **params):
            seen.append(params)
            total = np.sum([(k + 1) * x for k, x in enumerate(args)], axis=0, dtype=np.float32)
            return [total, -total] if p.multiple_results else total

        def aval_of(*avals, **params):
            return [avals[0]] * 2 if p.multiple_results else avals[0]

        p.def_impl(impl)
        p.def_abstract_eval(aval_of)
        count = int(rng.integers(1, size + 2))
        primals = [drawn_array(rng, shape) for _ in range(count)]
        moves = [bool(rng.integers(2)) for _ in primals]
        tangents = [drawn_array(rng, shape) if m else np.zeros(shape, np.float32) for m in moves]
        given = [array(t) if m else zero_tangent(t) for m, t in zip(moves, tangents)]
        params = {"axes": (0,), "n": None} if size > 1 else {}
        outs = jvp_module._linear_jvp(p, tuple(map(array, primals)), tuple(given), **params)
        assert seen == [params] * 2, f"{p} is bound with {seen}, not twice with {params}"
        for operands, out in zip((primals, tangents), outs, strict=True):
            total = np.sum([(k + 1) * x for k, x in enumerate(operands)], axis=0)
            pairs = zip(out, (total, -total), strict=True) if p.multiple_results else [(out, total)]
            for got, want in pairs:
                assert is_about(np.asarray(got), want), (
                    f"of {count} operands, which move {moves}: {got}, {want}"
                )


def test_whatever_is_drawn_an_extreme_moves_by_the_mean_of_those_that_hold_it():
    for rng, size in cases(60):
        dtype, shape = one_of(rng, FLOATS[:4]), drawn_shape(rng, size, most=4, least=1)
        x = rng.integers(-1, 2, size=shape).astype(dtype)
        if x.size and rng.integers(4) == 0:
            x.flat[int(rng.integers(x.size))] = np.nan if dtype.kind == "f" else 0
        t = drawn_array(rng, shape).astype(dtype)
        axes = tuple(int(a) for a in rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)])
        if 0 in [shape[a] for a in axes]:
            continue
        find = one_of(rng, (np.max, np.min))
        with np.errstate(all="ignore"):
            out = find(x.astype(float), axis=axes)
            holds = x.astype(float) == np.expand_dims(out, axes)
            want = (t.astype(float) * holds).sum(axes) / holds.sum(axes)
        with jax.enable_x64(dtype == np.float64):
            got = reductions._chosen_jvp(array(t), array(out.astype(dtype)), array(x), axes=axes)
        about = f"the {find.__name__} along {axes} of {x!r}, which moves by {t!r}"
        assert got.dtype == dtype, f"{about}: a result of {got.dtype}"
        assert is_about(np.asarray(got).astype(float), want, roughly(dtype)), (
            f"{about}: {got}, not {want}"
        )


def test_for_whatever_orbit_is_drawn_the_angle_moves_as_the_equation_says():
    for rng, size in cases(60):
        shape = drawn_shape(rng, size)
        dtype = one_of(rng, FLOATS[:2] + FLOATS[3:4])
        e = (
            rng.uniform(-0.9, 0.9, size=shape)
            if dtype != np.float64
            else rng.uniform(-1, 1, size=shape)
        )
        angle = rng.uniform(-4, 4, size=shape)
        for x, values in ((e, (0.0, -0.5) if dtype != np.float64 else (0.0, 0.99999, 1 - 1e-8)),
                          (angle, (0.0, 1e-3, np.pi, 50.0))):  # fmt: skip
            if rng.integers(2) and x.size:
                x[(0,) * x.ndim] = one_of(rng, values)
        e, angle, t = (x.astype(dtype) for x in (e, angle, rng.normal(size=shape)))
        wide_e, wide_angle, wide_t = (x.astype(float) for x in (e, angle, t))
        slope = wide_t / (1 - wide_e * np.cos(wide_angle))
        mean = (wide_angle - wide_e * np.sin(wide_angle)).astype(dtype)
        with jax.enable_x64(dtype == np.float64):
            args = [array(x) for x in (t, angle, mean, e)]
            found = (kepler.kepler_jvp_mean(*args), kepler.kepler_jvp_eccentricity(*args))
        rough = 0.05 if dtype.itemsize == 2 else 1e-4
        for name, got, want in zip(
            ("mean", "eccentricity"), found, (slope, slope * np.sin(wide_angle))
        ):
            about = f"{name} moves by {t!r}, at angle {angle!r}, eccentricity {e!r}"
            assert got.dtype == dtype, f"{about}: a result of {got.dtype}"
            assert is_about(np.asarray(got).astype(float), want, rough), (
                f"{about}: {got}, not {want}"
            )


def test_whatever_is_drawn_errors_of_the_values_add_as_squares():
    for rng, size in cases(15):
        count, shape = int(rng.integers(1, size + 3)), drawn_shape(rng, size, most=3)
        factors = rng.normal(size=(count, *shape)).astype(np.float32)
        values = [float(v) for v in rng.normal(size=count)]
        if rng.integers(3) == 0:
            values = [values[0]] * count
        scale = one_of(rng, (1.0, 1.0, 1e-9, 1e-14))
        errors = [float(one_of(rng, (scale, 0.0, -scale, 3 * scale))) for _ in values]

        def fun(*v):  # each value times the next one
            return sum(jnp.asarray(factors[i]) * (v[i] * v[i - 1]) for i in range(count))

        square = np.zeros(shape)
        for i in range(count):
            after = (i + 1) % count
            slope = factors[i].astype(float) * values[i - 1] + factors[after] * values[after]
            square = square + (slope * errors[i]) ** 2
        got, want = np.asarray(error_of(fun, values, errors)), np.sqrt(square)
        about = f"a sum of products of {values}, which have the errors {errors}"
        assert got.shape == shape and np.allclose(got, want, rtol=2e-2, atol=1e-3 * scale), (
            f"{about}: {got}, not {want}"
        )


# ---- tracers ----


class Boxed(Tracer):
    """A tracer of another kind, which knows its value."""

    def __init__(self, value):
        self._trace, self.value, self.aval = context.trace, value, bind.get_aval(0.0)

    def concrete(self):
        return self.value


def test_whatever_is_drawn_a_tracer_is_taken_apart_by_its_own_trace_alone():
    for rng, size in cases(40):
        root = one_of(rng, (context.trace, JVPTrace(context.trace)))
        traces = [JVPTrace(root)]
        for _ in range(size):
            traces.append(JVPTrace(one_of(rng, (root, traces[-1], traces[-1]))))
        value = one_of(rng, (0.0, 0, False, 1.5, array(np.zeros((), np.float32)), np.float32(0)))
        x = start = one_of(rng, (value, value, Boxed(value), Tracer.__new__(Tracer)))
        if type(start) is Tracer:
            start._trace, start.aval = context.trace, bind.get_aval(0.0)
            value = None
        made = []
        for trace in traces:
            tangent = one_of(rng, (array(np.float32(0)), 0.0, 1.0))
            x = JVPTracer(trace, x, tangent)
            made.append((x, trace, tangent))
        for x, own, tangent in made:
            for trace in traces:
                primal, moved = trace.primal_and_tangent(x)
                about = f"a tracer of {'this' if trace is own else 'another'} trace"
                if trace is own:
                    assert primal is x.primal and moved is tangent, f"{about}: {(primal, moved)}"
                else:
                    assert primal is x and type(moved) is Zero, f"{about}: {(primal, moved)}"
                assert trace.primal(x) is (x.primal if trace is own else x), about
            assert x.concrete() is value, f"behind {x} is {value!r}, and not {x.concrete()!r}"
        for other in (value, "x", None, [made], {}, object(), zero_tangent(1.0)):
            assert traces[0].primal(other) is other, f"primal({other!r})"


def test_whatever_operands_move_the_rule_is_given_all():
    for rng, size in cases(60):
        p, count = Primitive("p"), int(rng.integers(2 * size + 2))
        p.multiple_results = bool(rng.integers(2))
        parent, bound = JVPTrace(context.trace), []
        answer = one_of(rng, ("the parent's", None, 0.0))
        parent.process_primitive = lambda *args: bound.append(args) or answer  # noqa: B023
        trace, primals = JVPTrace(parent), [float(k) for k in range(count)]
        moves = [rng.integers(3) == 0 for _ in primals]
        tangents = [array(np.float32(k)) if m else None for k, m in enumerate(moves)]
        args = [JVPTracer(trace, x, t) if t is not None else x for x, t in zip(primals, tangents)]
        params = {"axis": one_of(rng, (0, None, ()))} if size else {}
        outs = [array(np.float32(9 + k)) for k in range(rng.integers(size + 1))]
        outs_move = [
            array(np.float32(k)) if rng.integers(2) else zero_tangent(1.0) for k in range(len(outs))
        ]
        if not p.multiple_results:
            outs, outs_move = (
                array(np.float32(9)),
                one_of(rng, (array(np.float32(1)), zero_tangent(1.0))),
            )
        if p.multiple_results:  # a tangent may be the primal itself
            outs_move = [one_of(rng, (x, t)) for x, t in zip(outs, outs_move)]
        else:
            outs_move = one_of(rng, (outs, outs_move, outs_move))
        seen = []

        def rule(given, moved, **named):
            seen.append((tuple(given), tuple(moved), named, context.trace))
            return outs, outs_move

        jvp_rules[p] = rule
        try:
            got = trace.process_primitive(p, one_of(rng, (args, tuple(args))), params)
        finally:
            del jvp_rules[p]
        about = f"of {count} operands move {[k for k in range(count) if moves[k]]}"
        if not any(moves):
            ((primitive, given, named),) = bound
            assert primitive is p and list(given) == primals and named == params, (
                f"{about}: {bound}"
            )
            assert got is answer and not seen, f"{about}, and the parent's result is the result"
            continue
        ((given, moved, named, current),) = seen
        assert list(given) == primals and named == params and current is parent, f"{about}: {seen}"
        for t, m in zip(tangents, moved, strict=True):
            assert m is t if t is not None else type(m) is Zero, (
                f"{about}: the tangents are {moved}"
            )
        pairs = (
            zip(got, outs, outs_move, strict=True)
            if p.multiple_results
            else [(got, outs, outs_move)]
        )
        assert type(got) is list or not p.multiple_results, f"{about}: several results are a list"
        for x, out, t in pairs:
            if type(t) is Zero:
                assert x is out, f"{about}: a result that does not move is itself, not {x}"
            else:
                assert (
                    type(x) is JVPTracer
                    and x.primal is out
                    and x.tangent is t
                    and x._trace is trace
                )


# ---- derivatives of derivatives ----


def test_of_a_series_that_is_drawn_the_coefficients_are_found_however_many():
    """The k-th derivative of a primitive is the same one with the parameter k."""
    level_p = Primitive("level")
    level_p.def_impl(lambda x, k: np.float32(table[k]))
    level_p.def_abstract_eval(lambda x, k: ShapedArray((), np.dtype("float32")))
    jvp_rules[level_p] = lambda primals, tangents, k: (
        bind.as_array(np.float32(table[k])),
        primitives.mul(tangents[0], level_p.bind(*primals, k=k + 1)),
    )
    for rng, size in cases(5):
        order = int((0, 1, 5, 13, 20)[size])
        wants, divisor, table = [], 1, []
        for k in range(order + 1):
            divisor *= max(k, 1)
            wants.append(float(one_of(rng, (1.0, -2.0, 0.5, 0.0))) * (3.0 if k else 1.0))
            table.append(wants[-1] * divisor)
        got = taylor.coefficients(lambda x: level_p.bind(x, k=0), one_of(rng, (0.5, -1.0)), order)
        assert len(got) == order + 1, f"{len(got)} coefficients for order {order}"
        assert is_about([float(c) for c in got], wants), f"of order {order}: {got}, not {wants}"


def test_of_a_polynomial_that_is_drawn_the_coefficients_at_a_point_are_numpys():
    for rng, size in cases(10):
        factors = [float(f) for f in rng.integers(-3, 4, size=rng.integers(1, min(size, 3) + 2))]
        at, order = float(rng.integers(-2, 3)), int(rng.integers(min(size, 3) + 1))

        def fun(x):
            out = factors[-1] + 0.0 * x
            for f in factors[-2::-1]:
                out = out * x + f
            return out

        shifted = np.polynomial.Polynomial(factors)(np.polynomial.Polynomial([at, 1.0])).coef
        want = [*shifted, *[0.0] * (order + 1)][: order + 1]
        got = taylor.coefficients(fun, at, order)
        assert is_about([float(c) for c in got], want), f"of {factors} at {at}: {got}, not {want}"
