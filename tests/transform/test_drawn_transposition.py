"""Transposition, of operands, linear jaxprs and programs drawn at random."""

import numpy as np
import pytest
from drawn import draws, equal, listed
from judged import SMALL_FLOAT

import tinyjax as jax
from tinyjax.core import bind, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.dtypes import float0
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var
from tinyjax.transform.jvp import Zero
from tinyjax.transform.transposition import (
    UndefinedPrimal,
    ValAccum,
    backward_pass,
    mul_transpose_x,
    mul_transpose_y,
    product_transpose,
    transpose_rules,
    unbroadcast,
)

scalar = ShapedArray((), np.dtype("float32"))
DTYPES = [np.float32, np.float16, np.complex64, SMALL_FLOAT.type]


def linear(draw, shape, dtype=np.float32):
    """An operand without a value, as a rule gets it."""
    return draw.choice([UndefinedPrimal, ValAccum])(ShapedArray(tuple(shape), np.dtype(dtype)))


def summed(ct, shape, places):
    """The sum over the copies, one element after another: axis i of the operand is at places[i] of ct."""
    total = np.zeros(shape, ct.dtype)
    for index in np.ndindex(ct.shape):
        total[tuple(0 if n == 1 else index[d] for d, n in zip(places, shape))] += ct[index]
    return total


def stretched(draw):
    """The shape of an operand, and one that it may be stretched to."""
    to = draw.shape(4, (2, 1, 3, 0))
    if draw.random() < 0.15:
        return (), to
    return tuple(draw.choice([1, n]) for n in to), to


def test_of_any_axes_sums_and_copies_are_transposed():
    for draw in draws(120):
        dtype, shape = draw.choice(DTYPES), draw.shape(4, (2, 1, 3, 0))
        axes = tuple(axis for axis in range(len(shape)) if draw.random() < 0.5)
        kept = [n for axis, n in enumerate(shape) if axis not in axes]
        ct = draw.whole(kept, dtype)
        found = transpose_rules[primitives.reduce_sum_p](ct, linear(draw, shape, dtype), axes=axes)
        expected = np.broadcast_to(np.expand_dims(ct, axes), shape)
        equal(found, [expected], dtype=dtype, sum_of=shape, axes=axes, ct=ct)

        places = tuple(axis for axis in range(len(shape)) if axis not in axes)
        operand = tuple(draw.choice([1, shape[axis]]) for axis in places)
        ct, x = draw.whole(shape, dtype), linear(draw, operand, dtype)
        params = {"shape": shape, "broadcast_dimensions": places}
        found = transpose_rules[primitives.broadcast_in_dim_p](ct, x, **params)
        equal(found, [summed(ct, operand, places)], dtype=dtype, copied=operand, ct=ct, **params)


def test_of_any_shapes_what_was_stretched_is_summed():
    for draw in draws(240):
        dtype, (shape, to) = draw.choice(DTYPES), stretched(draw)
        ct = draw.whole(to, dtype)
        expected = summed(ct, shape, range(len(shape)))
        found = unbroadcast(ShapedArray(shape, np.dtype(dtype)), ct)
        equal(found, expected, dtype=dtype, operand=shape, ct=ct)
        other = draw.choice([(), to, tuple(draw.choice([1, n]) for n in to)])
        shapes, known = (shape, other), draw.flags(2, 0.2)
        if draw.random() < 0.5:
            shapes = shapes[::-1]
        operands = [
            draw.whole(s, dtype) if k else linear(draw, s, dtype) for s, k in zip(shapes, known)
        ]
        if draw.random() < 0.1:  # one operand twice
            shapes, known, operands = (shapes[0],) * 2, [known[0]] * 2, [operands[0]] * 2
        about = {"shapes": shapes, "known": known, "ct": ct}
        found = transpose_rules[primitives.add_p](ct, *operands)
        assert [x is None for x in found] == known, f"{listed(about)}: found {found}"
        for x, s, k in zip(found, shapes, known):
            if not k:
                equal(x, summed(ct, s, range(len(s))), dtype=dtype, **about)


def test_of_any_shapes_the_factor_that_is_linear_is_found_and_summed():
    for draw in draws(120):
        dtype, (shape, to) = draw.choice(DTYPES), stretched(draw)
        other = draw.choice([(), to, tuple(draw.choice([1, n]) for n in to)])
        ct, factor = draw.whole(to, dtype), draw.whole(other, dtype)
        x, params = (
            linear(draw, shape, dtype),
            dict.fromkeys("nabcd", draw.choice([None, 0, (1, 2)])),
        )
        product = np.broadcast_to(ct * factor, to)
        expected = summed(product, shape, range(len(shape)))
        about = {"shape": shape, "other factor": factor, "ct": ct}
        equal(mul_transpose_x(ct, x, factor), expected, dtype=dtype, **about)
        equal(mul_transpose_y(ct, factor, x), expected, dtype=dtype, **about)
        rules = [lambda *args, side=side, **params: (side, args, params) for side in "xy"]
        for place, operands in enumerate([(x, factor), (factor, x)]):
            found = product_transpose(primitives.mul_p, *rules, ct, *operands, **params)
            want = [None, None]
            want[place] = ("xy"[place], (ct, *operands), params)
            assert found == tuple(want), f"{listed(about)}: expected {want}, found {found}"
        with pytest.raises(NotImplementedError, match="not linear"):
            both = draw.choice([x, linear(draw, to, dtype)])
            product_transpose(primitives.mul_p, *rules, ct, x, both)


# ---- the backward pass ----

three_p = bind.Primitive("three")
three_p.def_impl(lambda: 3.0)
mix_p = bind.Primitive("mix", multiple_results=True)  # its results are made by a matrix
mix_p.def_abstract_eval(lambda *avals, matrix: [scalar for _ in matrix])
mix_p.def_impl(lambda *xs, matrix: [sum(c * x for c, x in zip(row, xs)) for row in matrix])


def transposed_mix(cts, *operands, matrix):
    found = []
    for i, _ in enumerate(operands):
        parts = [row[i] * ct for row, ct in zip(matrix, cts) if type(ct) is not Zero and row[i]]
        found.append(sum(parts[1:], parts[0]) if parts else None)
    return found


class LinearJaxpr:
    """Equations drawn at random. `numbers` has the known values, `made_of` by how much of each linear
    argument each linear value is made."""

    def __init__(self, draw):
        self.draw, self.eqns = draw, []
        self.invars = [Var(scalar) for _ in range(draw.count(1))]
        self.constvars = [Var(scalar) for _ in range(draw.randint(0, 1))]
        self.made_of = {v: {v: 1.0} for v in self.invars if draw.random() < 0.7}
        known = [v for v in [*self.constvars, *self.invars] if v not in self.made_of]
        self.numbers = {Literal(2.0, scalar): 2.0} | {v: 3.0 + i for i, v in enumerate(known)}
        for _ in range(draw.count()):
            kinds = ["neg", "add", "mul", "mix", "known"] if self.made_of else ["known"]
            getattr(self, draw.choice(kinds))()
        atoms = [*self.made_of, *self.numbers]
        self.outvars = [draw.choice(atoms) for _ in range(draw.count(1))]

    def jaxpr(self):
        return Jaxpr(self.constvars, self.invars, self.outvars, self.eqns)

    def known(self):
        if self.draw.random() < 0.3:  # of no operands
            (out,) = self.equation(three_p, [], 1)
            self.numbers[out] = 3.0
            return
        x, y = (self.draw.choice([*self.numbers]) for _ in range(2))
        (out,) = self.equation(primitives.add_p, [x, y], 1)
        self.numbers[out] = self.numbers[x] + self.numbers[y]

    def neg(self):
        self.linear(primitives.neg_p, 1, [[-1.0]])

    def add(self):
        self.linear(primitives.add_p, 2, [[1.0, 1.0]])

    def mix(self):
        n = self.draw.randint(1, 3)
        rows = [[self.draw.choice([0.0, 1.0, -2.0]) for _ in range(n)] for _ in range(3)]
        rows = rows[: self.draw.randint(1, 3)]
        self.linear(mix_p, n, rows, matrix=rows)

    def mul(self):
        x, y = self.draw.choice([*self.made_of]), self.draw.choice([*self.numbers])
        (out,) = self.equation(primitives.mul_p, self.draw.choice([[x, y], [y, x]]), 1)
        self.made_of[out] = {v: c * self.numbers[y] for v, c in self.made_of[x].items()}

    def linear(self, primitive, n, rows, **params):
        operands = [self.draw.choice([*self.made_of]) for _ in range(n)]
        for out, row in zip(self.equation(primitive, operands, len(rows), **params), rows):
            parts = [(c, self.made_of[x]) for c, x in zip(row, operands)]
            self.made_of[out] = {
                v: sum(c * part.get(v, 0.0) for c, part in parts) for v in self.invars
            }

    def equation(self, primitive, operands, results, **params):
        outs = [Var(scalar) for _ in range(results)]
        self.eqns.append(JaxprEqn(primitive, operands, outs, params))
        return outs


def test_of_any_linear_jaxpr_each_argument_counts_what_it_changes_in_the_results(monkeypatch):
    monkeypatch.setitem(transpose_rules, mix_p, transposed_mix)
    for draw in draws(100):
        drawn = LinearJaxpr(draw)
        cts = [
            Zero(scalar) if draw.random() < 0.3 else 10.0**i for i, _ in enumerate(drawn.outvars)
        ]
        args, before = [], {v: draw.choice([None, 5.0]) for v in drawn.invars}
        for v in drawn.invars:
            args.append(ValAccum(scalar) if v in drawn.made_of else drawn.numbers[v])
            if v in drawn.made_of:
                args[-1].accum(before[v])
        backward_pass(drawn.jaxpr(), [drawn.numbers[v] for v in drawn.constvars], args, cts)
        for v, x in zip(drawn.invars, args):
            if v not in drawn.made_of:
                continue
            expected = before[v] or 0.0
            for out, ct in zip(drawn.outvars, cts):
                if type(ct) is not Zero:
                    expected += ct * drawn.made_of.get(out, {}).get(v, 0.0)
            found = x.freeze()
            assert type(found) is not Zero or expected == 0, f"{drawn.jaxpr()}, {cts}: a Zero"
            assert type(found) is Zero or float(found) == expected, (
                f"{drawn.jaxpr()}\nwith cotangents {cts}: argument {drawn.invars.index(v)} had "
                f"{before[v]}, and should count {expected}, not {found}"
            )


# ---- vjp and grad ----


def moved_one_by_one(program, args, weights):
    """For each argument, how much the results, weighted, move with each of its elements."""
    found = [np.zeros(np.shape(x), np.result_type(x, np.float64)) for x in args]
    for i, x in enumerate(args):
        for index in np.ndindex(np.shape(x)):
            moves = [np.zeros(np.shape(v)) for v in args]
            moves[i][index] = 1
            tangents = program.with_tangents(args, moves)[1]
            found[i][index] = sum(np.sum(w * t) for w, t in zip(weights, tangents))
    return found


def test_of_any_program_what_comes_back_is_the_transpose_of_what_goes_forwards():
    for draw in draws(50):
        dtype = draw.choice([np.float32, np.float32, SMALL_FLOAT.type])
        program = draw.program(constants=dtype is np.float32)
        args = draw.args(program, dtype)
        kinds = [draw.choice([None, None, np.int32, np.bool_]) for _ in args]  # None: a float
        given = [x if kind is None else np.ones(x.shape, kind) for x, kind in zip(args, kinds)]
        numbers = [x if kind is None else np.ones(()) for x, kind in zip(args, kinds)]

        def fun(*xs, program=program, kinds=kinds, dtype=dtype):
            outs = program(*[x if kind is None else dtype(1) for x, kind in zip(xs, kinds)])
            return [*outs, 3, *[x for x, kind in zip(xs, kinds) if kind is not None]]

        outs, pull_back = jax.vjp(fun, *given)
        cts = [
            draw.whole(np.shape(x), bind.get_aval(x).dtype)
            if i < len(program.results)
            else np.zeros(np.shape(x), float0)
            for i, x in enumerate(outs)
        ]
        about = {"program": program, "args": given, "cts": cts}
        found = pull_back(cts)
        assert len(found) == len(args), f"{listed(about)}: {len(found)} cotangents"
        expected = moved_one_by_one(program, numbers, cts)
        for i, (x, kind) in enumerate(zip(given, kinds)):
            if kind is None:
                equal(found[i], expected[i], dtype=dtype, **about, argument=i)
            else:
                what = found[i].dtype, found[i].shape
                assert what == (float0, x.shape), f"{listed(about)}, argument {i}: {found[i]!r}"


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.float16, np.complex64, SMALL_FLOAT.type]
)
def test_of_any_program_and_dtype_the_gradient_is_how_the_value_moves(dtype):
    with jax.enable_x64(dtype is np.float64):
        for draw in draws(20, 4):
            program = draw.program(scalars=True, constants=False)
            args = draw.args(program, dtype)
            numbers = tuple(draw.sample(range(len(args)), draw.randint(1, len(args))))
            fun = lambda *xs, p=program: p(*xs)[-1]  # noqa: E731
            by = jax.value_and_grad(fun, numbers, holomorphic=dtype is np.complex64)
            value, found = by(*args)
            weights = [0] * (len(program.results) - 1) + [1]
            expected = moved_one_by_one(program, args, weights)
            about = {"program": program, "args": args, "argnums": numbers}
            equal(value, program.in_numpy(*args)[-1], dtype=dtype, **about)
            assert type(found) is tuple, f"{listed(about)}: found {found}"
            equal(list(found), [expected[i] for i in numbers], dtype=dtype, **about)


def test_in_any_nest_a_vjp_gives_the_derivatives_of_any_program():
    for draw in draws(20, 4):
        program = draw.program()
        args, ts, us = (draw.args(program) for _ in range(3))
        fun = lambda xs, p=program: p(*xs)  # noqa: E731
        cts = [draw.whole(np.shape(x)) for x in program.in_numpy(*args)]
        # how what is pulled back moves, by jvp of vjp, is the same forwards: jvp of jvp, weighted
        gradient = lambda xs, f=fun, cts=cts: jax.vjp(f, xs)[1](cts)[0]  # noqa: E731
        twice = jax.vjp(gradient, args)[1](ts)[0]
        found = sum(float(np.sum(x * u)) for x, u in zip(map(np.asarray, twice), us))
        moved = lambda xs, f=fun, ts=ts: jax.jvp(f, (xs,), (ts,))[1]  # noqa: E731
        second = jax.jvp(moved, (args,), (us,))[1]
        expected = sum(float(np.sum(c * np.asarray(x))) for c, x in zip(cts, second))
        about = {"program": program, "args": args, "cts": cts, "directions": (ts, us)}
        equal(found, expected, **about)
