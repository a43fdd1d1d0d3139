"""The rules of cond and scan on branches and bodies that are drawn, against Python's `if` and `for`."""

from dataclasses import replace

import numpy as np
from drawn import (
    draw_body,
    drawn,
    floats,
    looped,
    reached_in_loop,
    same,
    shape_of_rank,
    shown,
)

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.avals import get_aval
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.lax.control_flow.bodies import fixed_point
from tinyjax.transform.jvp import Zero, jvp_rules


def draw_some(rng, count, most=99):
    """Some of the numbers below `count`, at least one."""
    size = rng.integers(1, min(count, most) + 1)
    return sorted(rng.choice(count, size, replace=False).tolist())


# ---- which parts of a carry ----


@drawn(40, most=9)
def test_of_drawn_bodies_the_carry_keeps_what_any_number_of_steps_brings(rng, most):
    """Against the power of a matrix: part i is made of part j."""
    made_of = rng.random((most, most)) < 1.2 / most
    flags = tuple(map(bool, rng.integers(2, size=most)))
    with shown(made_of=made_of.tolist(), carry=flags):
        got = fixed_point(lambda now: [any(row & now) for row in made_of], flags)
        paths = np.linalg.matrix_power(made_of.astype(int) + np.eye(most, dtype=int), most)
        want = tuple((paths @ np.array(flags) > 0).tolist())
        assert tuple(got) == want, f"the flags should be {want}, and are {got}"


# ---- branches ----


@drawn(10, most=7)
def test_of_drawn_branches_each_has_its_tangents_and_only_what_moves_has_one(rng, most):
    """And so have branches of the same sizes whose results are in the opposite order."""
    takes, gives, count = most + 1, most + 2, int(rng.choice([1, 2, most]))
    branches = [draw_body(rng, takes, gives, lines=4) for _ in range(count)]
    index, moved = int(rng.integers(len(branches))), draw_some(rng, takes, most=3)
    primals, tangents = floats(rng, 2, takes)
    flags = [i in moved for i in range(takes)]

    def pushed(fun):
        def of_moved(*given):
            full = list(map(jnp.float32, primals))
            for i, x in zip(moved, given):
                full[i] = x
            return fun(*full)

        return jax.jvp(of_moved, [primals[i] for i in moved], [tangents[i] for i in moved])

    for order in (1, -1):
        own = [replace(branch, results=branch.results[::order]) for branch in branches]
        moving = [any(told) for told in zip(*(branch.moving_results(flags) for branch in own))]
        with shown(branches=own, index=index, moved=moved):
            found = pushed(lambda *xs: lax.switch(index, own, *xs))  # noqa: B023
            for got, want in zip(found, pushed(own[index])):
                same(np.float32(got), np.float32(want), "results, or their tangents")
            zeros = [x if flag else Zero(get_aval(x)) for x, flag in zip(tangents, flags)]
            traced = tuple(trace_to_jaxpr(branch, [get_aval(x) for x in primals]) for branch in own)
            operands = (np.int32(index), *primals), [Zero(get_aval(np.int32(0))), *zeros]
            outs, out_tangents = jvp_rules[lax.cond_p](*operands, branches=traced)
            have = [type(t) is not Zero for t in out_tangents]
            assert len(outs) == gives and have == moving, (
                f"the results that have a tangent in any branch are {moving}, and not {have}"
            )


SHARP = [jnp.log, jnp.sqrt, lambda x: jnp.divide(1, x), jnp.abs, jnp.sin, jnp.square]


@drawn(8, most=5)
def test_of_drawn_branches_each_example_takes_its_own_and_so_does_its_gradient(rng, most):
    count, size = most + 1, int(rng.integers(1, most + 2))
    shape = shape_of_rank(rng, int(rng.integers(0, 4)), most=2)
    x, shared = (jnp.maximum(floats(rng, *s, *shape), 0) for s in ([size], []))
    which = rng.integers(-1, count + 1, size).astype(np.int32)
    numbers = [int(n) for n in rng.integers(len(SHARP), size=count)]
    branches = [
        lambda a, b, n, k=k, f=SHARP[number]: (f(a) * (k + 1), n + k, f(b) + a, n > k)
        for k, number in enumerate(numbers)
    ]
    dim = int(rng.integers(x.ndim))
    given = jnp.moveaxis(x, 0, dim), shared, rng.integers(-5, 5, (size, 2)).astype(np.int8)

    def chosen(a, b, n):
        choose = jax.vmap(lambda i, *xs: lax.switch(i, branches, *xs), (0, dim, None, 0))
        return choose(which, a, b, n)

    def one_by_one(a, b, n):
        own = [branches[min(max(i, 0), count - 1)] for i in which]
        outs = [f(jnp.moveaxis(a, dim, 0)[k], b, n[k]) for k, f in enumerate(own)]
        return [jnp.stack(parts) for parts in zip(*outs)]

    def slopes(fun):
        return jax.grad(lambda *args: sum(out.sum() for out in fun(*args)[::2]), (0, 1))(*given)

    with shown(branches=numbers, which=which.tolist(), a=given[0].tolist(), axis_of_a=dim):
        for got, want in zip(chosen(*given), one_by_one(*given), strict=True):
            same(got, want, "the results of the examples' own branches")
        for got, want in zip(slopes(chosen), slopes(one_by_one)):
            same(got, want, "the gradient of the examples' own branches")


# ---- loops ----


class Loop:
    """A drawn loop: a body, the numbers of its consts, carries and xs, how many steps, and which way."""

    def __init__(self, rng, most):
        *self.sizes, ys = map(int, rng.integers(0, most + 1, size=4))
        self.sizes[rng.integers(3)] += most * int(rng.random() < 0.5)
        self.sizes[1] += not self.sizes[1] and not (ys and self.sizes[2])
        self.body = draw_body(rng, sum(self.sizes), self.sizes[1] + ys, lines=3 * most)
        self.length, self.reverse = int(rng.integers(1, 5)), bool(rng.integers(2))

    def __repr__(self):
        names = "consts", "carry", "xs"
        sizes = ", ".join(f"{size} {name}" for size, name in zip(self.sizes, names))
        return f"{self.body}, {sizes}, length={self.length}, reverse={self.reverse}"

    def parts(self, things):
        consts, carry, _ = self.sizes
        return things[:consts], things[consts : consts + carry], things[consts + carry :]

    def operands(self, rng, shape):
        consts, carry, xs = self.sizes
        once = [floats(rng, *shape) for _ in range(consts + carry)]
        return once + [floats(rng, self.length, *shape) for _ in range(xs)]

    def by_scan(self, *args):
        consts, start, over = self.parts(args)

        def step(carry, x):
            outs = self.body(*consts, *carry, *x)
            return outs[: len(carry)], outs[len(carry) :]

        last, ys = lax.scan(step, list(start), list(over), self.length, reverse=self.reverse)
        return [*last, *ys]

    def written_out(self, *args):
        return looped(self.body, *self.parts(args), self.length, self.reverse)


@drawn(30, most=6)
def test_a_drawn_loop_of_a_batch_is_the_loop_of_each_example(rng, most):
    loop, shape = Loop(rng, most), shape_of_rank(rng, int(rng.integers(0, 3)))
    size = int(rng.choice([loop.length, 1, 2, 3]))  # often a square of examples and steps
    operands = sum(loop.sizes)
    mapped = {*draw_some(rng, operands, most=3), *([operands - 1] * int(rng.integers(2)))}
    flags = [i in mapped for i in range(operands)]
    examples = [loop.operands(rng, shape) for _ in range(size)]
    dims = [int(rng.integers(x.ndim + 1)) if f else None for x, f in zip(examples[0], flags)]
    given = [xs[0] if dim is None else np.stack(xs, dim) for xs, dim in zip(zip(*examples), dims)]
    # out_axes of None: vmap refuses what differs from example to example, or might
    differ = [0 if f else None for f in reached_in_loop(loop.body, *loop.parts(flags))]
    with shown(loop=loop, dims=dims, dims_of_results=differ):
        found = jax.vmap(loop.by_scan, tuple(dims), differ)(*given)
        for i, example in enumerate(examples):
            own = [x if f else first for x, first, f in zip(example, examples[0], flags)]
            want = loop.written_out(*own)
            for n, (got, expected) in enumerate(zip(found, want, strict=True)):
                got = got if differ[n] is None else got[i]
                same(got, expected, f"result {n} of example {i}")


@drawn(14, most=8)
def test_the_gradient_of_a_drawn_loop_is_that_of_the_loop_written_out(rng, most):
    loop = Loop(rng, most)
    given = loop.operands(rng, shape_of_rank(rng, int(rng.integers(0, 2))))
    by, counting = draw_some(rng, len(given)), draw_some(rng, len(loop.body.results))

    def slopes(fun):
        def loss(*args):
            outs = fun(*args)
            return sum((outs[i] * (i + 1)).sum() for i in counting)

        return jax.grad(loss, tuple(by))(*given)

    with shown(loop=loop, by=by, of_results=counting):
        for i, got, want in zip(by, slopes(loop.by_scan), slopes(loop.written_out)):
            same(got, want, f"the gradient by operand {i}", rtol=1e-4)


def test_of_many_consts_each_is_known_or_linear_by_itself():
    known = jnp.arange(1.0, 7.0)

    def loss(w, *consts):
        def step(c, x):
            for const in consts:
                c = c * const
            return c + w * x, None

        return lax.scan(step, 0.5, jnp.arange(1.0, 3.0))[0]

    with shown(consts=known):
        same(jax.grad(loss)(2.0, *known), np.float32(720 + 2), "the gradient by w")
