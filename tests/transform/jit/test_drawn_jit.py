"""The keys and rules of jit, of calls and programs drawn at random."""

import itertools

import numpy as np
import pytest
from drawn import draws, equal, listed
from judged import unchanged

import tinyjax as jax
from tinyjax.core.bind import extend_axis_env, impl_rules
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.transform.jit.primitive import jit_p
from tinyjax.transform.jit.static_arguments import split_static
from tinyjax.transform.jvp import Zero, jvp_rules

VALUES = [0, 1, True, False, None, "", "a", 1.0, -1, -2, (), (1,), [1], {"k": 2}]
NAMES = ["z", "a", "k", "times", "time", "edge", "ed", "e"]


def test_of_any_call_static_arguments_are_split_off_with_places_types_and_values():
    for draw in draws(160):
        args = tuple(draw.choice(VALUES) for _ in range(draw.count()))
        names = draw.sample(NAMES, draw.randint(0, 6))
        kwargs = {name: draw.choice(VALUES) for name in names}
        argnums = tuple(draw.randint(-6, 6) for _ in range(draw.randint(0, 3)))
        argnames = tuple(draw.sample(NAMES, draw.randint(0, 3)))
        n = len(args)
        numbers = [i for i in range(n) if i in argnums or i - n in argnums]
        static = [(i, type(args[i]), args[i]) for i in numbers]
        for name in sorted(kwargs):
            if name in argnames:
                static.append((name, type(kwargs[name]), kwargs[name]))
        rest = tuple(x for i, x in enumerate(args) if i not in numbers)
        others = {name: x for name, x in kwargs.items() if name not in argnames}
        about = {"args": args, "kwargs": kwargs, "argnums": argnums, "argnames": argnames}
        with unchanged(args=args, kwargs=kwargs):
            dynamic, found = split_static(args, kwargs, argnums, argnames)
        assert repr(tuple(found)) == repr(tuple(static)), (
            f"{listed(about)}: expected {static}, found {found}"
        )
        assert repr((dynamic[0], dynamic[1])) == repr((rest, others)), (
            f"{listed(about)}: expected {(rest, others)}, found {dynamic}"
        )


class Named:
    """Each is equal only to itself; all have one text and one hash."""

    def __repr__(self):
        return "Named"

    def __hash__(self):
        return 1


ALIKE = [(-1, -2), (1, True), (1, 1.0), (0, False), (0, -0.0), (None, 0), ("", ()), (2**61, 1)]
ALIKE.append((Named(), Named()))


def other_leaves(draw, leaves):
    """The leaves, of which one is of another kind."""
    i = draw.randrange(len(leaves))
    shape, dtype = np.shape(leaves[i]), np.asarray(leaves[i]).dtype
    others = [np.ones((*shape, 1), dtype), np.ones((3, *shape), dtype), np.ones(shape, np.int16)]
    if not shape:
        others += [np.float32(1) if isinstance(leaves[i], float) else 1.0, 1, True]
    return [*leaves[:i], draw.choice(others), *leaves[i + 1 :]]


def test_of_any_calls_those_that_may_be_traced_differently_have_other_keys():
    f = jax.jit(lambda *args, **kwargs: 0.0, static_argnums=0, static_argnames=("a", "z"))
    for draw in draws(80):
        leaves = [
            draw.choice([2.0, np.float32(2), np.ones(draw.shape(3), np.float32)])
            for _ in range(draw.count(2))
        ]
        (x, y), (z, w) = draw.choice(ALIKE), draw.choice(ALIKE)
        form = draw.choice([list, tuple, lambda xs: {"b": xs[0], "a": xs[1:]}])

        def call(*statics, xs=leaves, form=form):
            return f.cache_key((statics[0], form(xs)), dict(zip("az", statics[1:])))[1]

        keys = {
            "the call": call(x, y, z),
            "another static argument": call(y, y, z),
            "another static value by name": call(x, x, z),
            "another static value by another name": call(x, y, w),
            "without a static argument by name": call(x, y),
            "a leaf of another shape or dtype": call(x, y, z, xs=other_leaves(draw, leaves)),
            "other trees": call(x, y, z, xs=[[v] for v in leaves]),
            "fewer leaves": call(x, y, z, xs=leaves[:-1]),
        }
        for axes in ((("i", 2),), (("i", 3),), (("j", 2),), (("i", 2), ("j", 2))):
            with extend_axis_env(axes):
                keys[f"in axes {axes}"] = call(x, y, z)
        with jax.enable_x64(True):
            keys["with 64 bits"] = call(x, y, z)
        about = {"static": (x, y, z), "other static": (y, w), "leaves": leaves}
        for (one, key), (other, other_key) in itertools.combinations(keys.items(), 2):
            assert key != other_key, f"{listed(about)}: {one} and {other} have one key"
        again = call(x, y, z, xs=[v if type(v) is float else v + 1 for v in leaves])
        assert again == keys["the call"], f"{listed(about)}: other numbers need no new trace"
        assert hash(again) == hash(keys["the call"]), listed(about)


@pytest.fixture
def no_compiler(monkeypatch):
    """What a jit computes, its jaxpr says: the compiler has no part in these rules."""
    run = lambda *args, jaxpr, **params: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)  # noqa: E731
    monkeypatch.setitem(impl_rules, jit_p, run)


def drawn_options(draw):
    return {"keep_unused": draw.random() < 0.5, "inline": draw.random() < 0.3}


def test_of_any_program_a_batch_is_one_jit_of_the_batched_jaxpr(no_compiler):
    for draw in draws(20):
        drawn = draw.program()
        options, n, in_axes = drawn_options(draw), draw.randint(1, 3), []
        for shape in drawn.shapes:
            in_axes.append(draw.choice([None, *range(len(shape) + 1)]))
        in_axes[0] = 0 if in_axes[0] is None else in_axes[0]
        args = [
            draw.whole(shape if d is None else (*shape[:d], n, *shape[d:]))
            for shape, d in zip(drawn.shapes, in_axes)
        ]

        def named(*xs, drawn=drawn):
            return drawn(*xs)

        named.__name__ = named.__qualname__ = f"program{draw.number}"
        mapped = jax.vmap(jax.jit(named, **options), tuple(in_axes))
        closed = jax.make_jaxpr(mapped)(*args)
        about = {"program": drawn, "in_axes": in_axes, "args": args, **options}
        rows = []
        for i in range(n):
            row = [x if d is None else np.take(x, i, d) for x, d in zip(args, in_axes)]
            rows.append(drawn.in_numpy(*row))
        found = eval_jaxpr(closed.jaxpr, closed.consts, *args)
        equal(found, [np.stack(column) for column in zip(*rows)], **about)
        jits = [eqn for eqn in closed.eqns if eqn.primitive is jit_p]
        if not options["inline"]:
            (eqn,) = jits
            assert eqn.params["name"] == named.__name__, f"{listed(about)}: {eqn}"
            assert eqn.params["keep_unused"] == options["keep_unused"], f"{listed(about)}: {eqn}"
            assert len(eqn.params["donated_invars"]) == len(eqn.invars), f"{listed(about)}: {eqn}"


def test_of_any_program_a_jvp_is_one_jit_of_what_moves(no_compiler):
    for draw in draws(40):
        drawn = draw.program()
        options = drawn_options(draw)
        args, moves = draw.args(drawn), draw.flags(len(drawn.shapes), 0.6)
        tangents = [draw.whole(x.shape) if m else 0 * x for x, m in zip(args, moves)]
        about = {"program": drawn, "moves": moves, "args": args, **options}
        (call,) = jax.make_jaxpr(jax.jit(drawn, keep_unused=True))(*args).eqns

        flags = []

        def pair(*xs, moves=moves, call=call, options=options, flags=flags):
            primals, given = xs[: len(moves)], xs[len(moves) :]
            ts = [t if m else Zero(v.aval) for t, m, v in zip(given, moves, call.invars)]
            params = {**call.params, **options, "name": "moved"}
            outs, moved = jvp_rules[jit_p](primals, ts, **params)
            flags.append([type(t) is not Zero for t in moved])
            return [*outs, *[t for t in moved if type(t) is not Zero]]

        closed = jax.make_jaxpr(pair)(*args, *tangents)
        outs, expected = drawn.with_tangents(args, tangents)
        reached = drawn.moving_results(moves)
        assert flags[0] == reached, f"{listed(about)}: the results that move are {flags[0]}"
        found = eval_jaxpr(closed.jaxpr, closed.consts, *args, *tangents)
        equal(found, [*outs, *[t for t, m in zip(expected, reached) if m]], **about)
        (eqn,) = [eqn for eqn in closed.eqns if eqn.primitive is jit_p]
        assert len(eqn.invars) == len(args) + sum(moves), f"{listed(about)}: {eqn}"
        got = {name: eqn.params[name] for name in ("name", *options)}
        assert got == {"name": "moved", **options}, f"{listed(about)}: {eqn}"
        assert eqn.params["donated_invars"] == (False,) * len(eqn.invars), f"{listed(about)}: {eqn}"
