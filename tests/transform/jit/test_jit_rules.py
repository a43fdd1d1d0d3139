"""The rules of jit and its keys, of other arguments, dtypes and numbers of results."""

import numpy as np
import pytest
from explain_errors import explain_errors
from judged import SMALL_FLOAT, each_error, error_passes, identity_primitive, raises, unchanged

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.bind import extend_axis_env, impl_rules
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.dtypes import float0
from tinyjax.transform.batching import batch_rules
from tinyjax.transform.jit.primitive import jit_p
from tinyjax.transform.jit.static_arguments import split_static
from tinyjax.transform.jvp import jvp_rules


@pytest.fixture
def no_compiler(monkeypatch):
    """What a jit computes, its jaxpr says: the compiler has no part in these rules."""
    run = lambda *args, jaxpr, **params: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)  # noqa: E731
    monkeypatch.setitem(impl_rules, jit_p, run)


def computed(fun, *args):
    """The leaves of what `fun` gives, computed by its jaxpr."""
    closed = jax.make_jaxpr(fun)(*args)
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


# ---- static arguments ----


def test_splitting_leaves_what_it_is_given():
    args, kwargs, argnums, argnames = [1.0, "a"], {"k": "v", "x": 4.0, "m": 1}, [1], ["k", "m"]
    with unchanged(args=args, kwargs=kwargs, argnums=argnums, argnames=argnames):
        dynamic, static = split_static(tuple(args), kwargs, tuple(argnums), tuple(argnames))
    assert dynamic == ((1.0,), {"x": 4.0}) and dynamic[1] is not kwargs
    assert static == ((1, str, "a"), ("k", str, "v"), ("m", int, 1))


def test_all_may_be_static_and_values_of_other_types_are_told_apart():
    dynamic, static = split_static((1, 2), {"k": 3}, (0, 1), ("k",))
    assert dynamic == ((), {}) and len(static) == 3
    given = dict(zip("gfedcba", range(7)))
    dynamic, static = split_static((1, 2, 3, 4), given, (3, 0, 1), ("a", "g", "c"))
    assert dynamic == ((3,), {"f": 1, "e": 2, "d": 3, "b": 5})
    assert [place for place, _, _ in static] == [0, 1, 3, "a", "c", "g"]
    kinds = [split_static((x,), {}, (0,), ())[1] for x in (1, 1.0, True, None, (1,))]
    assert [kind[0][1] for kind in kinds] == [int, float, bool, type(None), tuple]
    assert split_static((), {}, (0, -1), ("k",)) == (((), {}), ())
    dynamic, static = split_static(tuple(range(12)), {}, (10, 2, 9), ())
    assert [place for place, _, _ in static] == [2, 9, 10], "in the order of numbers"
    text = "same"
    dynamic, static = split_static((text, text, text), {"k": text}, (1,), ())
    assert dynamic == ((text, text), {"k": text}), "places are static, not values"
    given = dict.fromkeys(["b", "B", "a", "_a", "A"], 1)
    _, static = split_static((), given, (), tuple(given))
    assert [place for place, _, _ in static] == sorted(given), "names are sorted as texts are"

    class Number(int):
        pass

    ((_, kind, _),) = split_static((Number(1),), {}, (0,), ())[1]
    assert kind is Number, "the type is the value's own"
    for value in (1e-8, 1 + 1e-12, 1e300, 10**30, "a" * 100, (1.0, "x"), None):
        ((_, _, found),) = split_static((value,), {}, (0,), ())[1]
        assert found is value, "and so is the value"
        ((_, _, found),) = split_static((), {"k": value}, (), ("k",))[1]
        assert found is value


# ---- the key ----

DISTINCT = {
    "shapes": [np.ones(3), np.ones((3, 1)), np.ones((1, 3)), np.ones(0), np.ones(())],
    "dtypes": [np.ones(3, t) for t in ("f4", "i1", "u1", "i4", "u4", "?", "c8", SMALL_FLOAT)],
    "weak types": [1.0, np.float32(1), 1, np.int32(1), True, 1j, np.complex64(1j)],
    "trees": [(1.0, 2.0), [1.0, 2.0], {"a": 1.0, "b": 2.0}, {"a": 1.0, "c": 2.0}, (1.0, (2.0,))],
}


@pytest.mark.parametrize("which", DISTINCT)
def test_what_is_traced_otherwise_has_another_key(which):
    f = jax.jit(lambda x: x)
    keys = [f.cache_key((x,), {})[1] for x in DISTINCT[which]]
    assert len(set(keys)) == len(keys), f"arguments of different {which} are traced differently"


def test_what_is_traced_alike_has_one_key_and_the_arguments_stay():
    f = jax.jit(lambda x, *, k=0: x, static_argnames="k")
    args, kwargs = ({"a": np.ones(2), "b": 2.0},), {"k": 3}
    with unchanged(args=args, kwargs=kwargs):
        first = f.cache_key(args, kwargs)[1]
    same = f.cache_key(({"b": 5.0, "a": np.zeros(2)},), {"k": 3})[1]
    assert first == same and hash(first) == hash(same)
    others = [f.cache_key(args, {"k": k})[1] for k in (4, 3.0, "3")] + [f.cache_key(args, {})[1]]
    assert len({first, *others}) == 5
    for change in (jax.enable_x64(True), jax.disable_jit(), jax.numpy_rank_promotion("raise")):
        with change:
            assert f.cache_key(args, kwargs)[1] != first, "the whole configuration counts"
    keys = []
    for axes in ((("i", 2), ("i", 3)), (("i", 3), ("i", 2))):
        with extend_axis_env(axes):
            keys.append(f.cache_key(args, kwargs)[1])
    assert keys[0] != keys[1], "of two axes of one name the inner one is meant"
    many, changed = [1.0] * 8, []
    for place in range(8):
        changed.append(f.cache_key(([*many[:place], 1, *many[place + 1 :]],), {})[1])
    assert len({*changed, f.cache_key((many,), {})[1]}) == 9, "each of eight avals counts"
    key = f.cache_key(args, kwargs)[1]
    for name in ("jax_numpy_rank_promotion", "jax_check_tracer_leaks", "jax_debug_nans"):
        assert key[-1] == jax.config.key, f"the key has the configuration itself, {name} with it"


# ---- vmap and jvp ----


def three(x, n, y):
    return x * y, n, [y.sum() * 2.0, (x, 1.0)]


@pytest.mark.parametrize("in_axes", [(0, None, None), (None, 0, 0), (1, 0, None), (0, 0, 1)])
def test_a_batch_may_have_any_axes_and_many_results(in_axes, no_compiler):
    size = 2
    one = [np.ones((3,), np.float16), np.int32(4), np.arange(3, dtype=np.float32)]
    args = [
        x if d is None else np.stack([x, 2 * x], min(d, np.ndim(x))) for x, d in zip(one, in_axes)
    ]
    in_axes = tuple(d if d is None else min(d, np.ndim(x)) for x, d in zip(one, in_axes))
    with explain_errors("a batch dim may be any axis"):
        got = computed(jax.vmap(jax.jit(three), in_axes), *args)
        want = jax.tree.leaves(jax.vmap(three, in_axes)(*args))
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape[0] == size
        np.testing.assert_array_equal(a, b)


def test_names_and_other_parameters_are_kept_by_both_rules():
    x, n, y = np.ones((2, 3), np.float32), 4, np.ones(3, np.float32)
    jitted = jax.jit(three, keep_unused=True)
    (before,) = jax.make_jaxpr(jitted)(x[0], n, y).eqns
    mapped = jax.make_jaxpr(jax.vmap(jitted, (0, None, None)))(x, n, y)
    moved = jax.make_jaxpr(lambda x: jax.jvp(lambda x: jitted(x, n, y)[0], (x,), (x,)))(y)
    for closed in (mapped, moved):
        (eqn,) = [e for e in closed.eqns if e.primitive is jit_p]
        assert eqn.params["name"] == before.params["name"] == "three"
        for name in ("inline", "keep_unused"):
            assert eqn.params[name] == before.params[name], f"the parameter {name} must stay"


def test_an_array_without_elements_moves_as_others_do(no_compiler):
    x, y = jnp.zeros((0, 2)), jnp.ones(2)
    fun = lambda x, y: (x * y, y * 3.0, jnp.sum(x) + y)  # noqa: E731
    with explain_errors("a tangent without elements is no Zero, and is an operand too"):
        got = computed(lambda *args: jax.jvp(jax.jit(fun), args, args), x, y)
    want = jax.tree.leaves(jax.jvp(fun, (x, y), (x, y)))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_whole_numbers_and_constants_do_not_move_and_each_result_has_its_tangent(no_compiler):
    y = jnp.ones((2, 1), SMALL_FLOAT)
    with explain_errors("what does not move is no operand, and a result of integers has float0"):
        pushed = lambda y: jax.jvp(lambda y: jax.jit(three)(2 * y, 7, y), (y,), (y,))[1]  # noqa: E731
        found = computed(lambda y: [x for x in jax.tree.leaves(pushed(y)) if x.dtype != float0], y)
        kinds = [x.dtype for x in jax.tree.leaves(jax.eval_shape(pushed, y))]
    assert kinds.count(float0) == 1 and kinds[1] == float0, "the second result is an integer"
    assert [x.dtype for x in found[:3]] == [y.dtype] * 3
    assert [float(np.asarray(x, float).max()) for x in found] == [4, 4, 2, 0]
    total = jax.jit(lambda *xs: sum(x * 10.0**k for k, x in enumerate(xs)))
    _, tangent = jax.jvp(lambda x: total(x, x, x, x, x), (2.0,), (1.0,))
    assert float(tangent) == 11111.0, "one tangent may be that of several operands"
    ten = jax.jit(lambda *xs: sum(xs))
    assert jax.vmap(ten)(*[np.ones(2, np.float32) * k for k in range(10)]).tolist() == [45.0] * 2
    for moving in range(10):
        of_one = lambda x, k=moving: ten(*[2.0] * k, x, *[2.0] * (9 - k)) * x  # noqa: E731
        assert float(jax.jvp(of_one, (2.0,), (1.0,))[1]) == 22.0, f"of ten, number {moving} moves"


def test_functions_of_one_text_have_rules_of_their_own(no_compiler):
    tables = [np.arange(5000.0, dtype=np.float32) for _ in range(2)]
    tables[1][2500] = -1  # which is not printed
    found = []
    for table in tables:
        times = jax.jit(lambda x, t=table: x * t)
        out = jax.vmap(times)(np.ones((2, 5000), np.float32))
        slope = jax.jvp(times, (np.ones(5000, np.float32),), (np.ones(5000, np.float32),))[1]
        found.append((float(out[1, 2500]), float(slope[2500])))
    assert found == [(2500.0, 2500.0), (-1.0, -1.0)], f"2500 and -1 are the factors: {found}"


@each_error
def test_an_error_of_a_rule_within_goes_on(error):
    p = identity_primitive()
    with error_passes(error()) as raised:
        jvp_rules[p] = raises(raised)
        jax.jvp(jax.jit(p.bind), (1.0,), (1.0,))
    with error_passes(error()) as raised:
        batch_rules[p] = raises(raised)
        jax.vmap(jax.jit(p.bind))(np.ones(3))


def test_effects_within_stay_each_one_in_both_rules():
    def f(x):
        jax.debug.print("once")
        jax.debug.print("once")
        return x

    for closed in (
        jax.make_jaxpr(jax.vmap(jax.jit(f)))(np.ones(2)),
        jax.make_jaxpr(lambda x: jax.jvp(jax.jit(f), (x,), (x,)))(1.0),
    ):
        assert str(closed).count("debug_print") == 2, str(closed)


def test_the_backward_pass_has_the_types_of_its_cotangents(no_compiler):
    pulled = lambda ct: jax.vjp(jax.jit(lambda x: 2 * x), 1.0)[1](ct)[0]  # noqa: E731
    for ct in 1.0, jnp.float32(1.0):
        eqn = jax.make_jaxpr(pulled)(ct).eqns[-1]
        assert eqn.params["jaxpr"].in_avals == [v.aval for v in eqn.invars]
        assert pulled(ct).weak_type == isinstance(ct, float)
