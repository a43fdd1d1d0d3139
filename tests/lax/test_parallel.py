"""Named axes: a function of one example that combines all of them."""

import functools

import numpy as np
import pytest
from drawn import drawn, same, shown

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.jaxpr import eval_jaxpr, subjaxprs
from tinyjax.transform.batching import AxisData, axis_batch_rules, not_mapped

x = np.array([1.0, 2.0, 4.0], np.float32)
table = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def over(fun, axis_name="i"):
    return jax.vmap(fun, axis_name=axis_name)


# ---- a name for the mapped axis ----


def test_psum_is_the_sum_over_the_examples():
    np.testing.assert_array_equal(over(lambda x: x / lax.psum(x, "i"))(x), x / 7)


def test_each_example_knows_its_place_and_how_many_there_are():
    places = over(lambda x: (lax.axis_index("i"), lax.axis_size("i")))(x)
    np.testing.assert_array_equal(places, [[0, 1, 2], [3, 3, 3]])


def test_the_size_of_an_axis_is_a_python_number():
    sizes = []
    over(lambda x: sizes.append(lax.psum(1, "i")) or x)(x)
    assert sizes == [3] and type(sizes[0]) is int


def test_nested_vmaps_have_a_name_each():
    both = over(over(lambda x: lax.psum(x, "j") + 100 * lax.psum(x, "i"), "j"))
    np.testing.assert_array_equal(
        both(table),
        table.sum(1, keepdims=True) + 100 * table.sum(0, keepdims=True),
        "sums over j, each with 100 times the sum over i",
    )


def test_several_names_are_one_axis():
    total = over(over(lambda x: lax.pmean(x, ("i", "j")), "j"))(table)
    np.testing.assert_array_equal(total, np.full((2, 3), table.mean()))


def test_whole_numbers_among_the_names_are_positions():
    np.testing.assert_array_equal(over(lambda row: lax.psum(row, ("i", 0)))(table), [15, 15])
    np.testing.assert_array_equal(lax.psum(table, 1), table.sum(1))
    name = ("a name", "of two")
    found = over(lambda row: lax.psum(row, (name, 0)), name)(table)
    np.testing.assert_array_equal(found, [15, 15], "a name may be no text")
    cube = np.ones((2, 3, 4, 5), np.float32)
    np.testing.assert_array_equal(over(lambda m: lax.psum(m, (0, 1, 2, "i")))(cube), [120, 120])
    found = over(over(lambda row: lax.psum(row, (name, 0))), name)(table[:, None])
    np.testing.assert_array_equal(found, [[15], [15]], "of an outer vmap too")


def test_examples_along_any_axis_are_added_up():
    total = jax.vmap(lambda row: lax.psum(row, "i"), in_axes=1, axis_name="i")(table)
    np.testing.assert_array_equal(total, 3 * [table.sum(1)], "the batch dim is 1, not 0")


def test_the_innermost_of_two_equal_names_is_meant():
    inner = over(over(lambda x: lax.psum(x, "i")))(table)
    np.testing.assert_array_equal(inner, [[3, 3, 3], [12, 12, 12]])


def test_a_name_ends_with_its_vmap():
    over(lambda x: x)(x)
    with pytest.raises(NameError, match=r"unbound axis name: i.*bound here are: none"):
        lax.axis_size("i")


def test_the_error_for_an_unbound_name_lists_the_others():
    with pytest.raises(NameError, match=r"unbound axis name: k.*'i' \(size 3\)"):
        over(lambda x: lax.psum(x, "k"))(x)


def test_what_is_the_same_for_all_counts_for_each():
    fun = jax.make_jaxpr(lambda y: over(lambda _: (lax.psum(y, "i"), lax.pmax(y, "i")))(x))
    found = eval_jaxpr(fun(5.0).jaxpr, fun(5.0).consts, 5.0)
    several = "a psum of 5 by three examples is 15, a pmax is 5"
    np.testing.assert_array_equal(found, [[15, 15, 15], [5, 5, 5]], several)


def test_other_axes_of_what_is_the_same_for_all_are_left_to_be_reduced():
    def fun(y):
        return over(lambda _: (lax.psum(y, ("i", "j")), lax.psum(y, "j"), lax.pmax(y, ("i", "j"))))(
            x
        )

    jaxpr = jax.make_jaxpr(fun, axis_env=[("j", 2)])(5.0)
    sums = [eqn for eqn in jaxpr.eqns if eqn.primitive.name in ("psum", "pmax")]
    assert [eqn.params["axes"] for eqn in sums] == [("j",)] * 3
    assert equations(jaxpr).count("mul") == 1, (
        "three examples count three times, in a psum over both"
    )


def test_positions_count_the_axes_of_one_example_and_names_stay_among_them():
    cube = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(
        over(lambda m: lax.psum(m, ("i", 1)))(cube), [cube.sum((0, 2))] * 2
    )
    np.testing.assert_array_equal(over(lambda m: lax.psum(m, 1))(cube), cube.sum(2))
    jaxpr = jax.make_jaxpr(over(lambda m: lax.psum(m, (0, "j"))), axis_env=[("j", 2)])(cube)
    assert [eqn.params["axes"] for eqn in jaxpr.eqns if eqn.primitive.name == "psum"] == [(1, "j")]


def test_devices_may_meet_in_groups():
    devices = AxisData("i", 4, of_devices=True)
    rule = axis_batch_rules[lax.psum_p]
    groups = {"axes": ("i",), "axis_index_groups": [[0, 3], [1, 2]]}
    got, dim = rule(devices, (np.array([1, 2, 3, 4], np.float32),), (0,), **groups)
    np.testing.assert_array_equal(got, [5, 5, 5, 5])
    got, _ = rule(devices, (np.array([1, 2, 3, 8], np.float32),), (0,), **groups)
    np.testing.assert_array_equal(got, [9, 5, 5, 9], "each is given the sum of its group")
    assert dim == 0
    got, dim = rule(devices, (np.float32(3),), (not_mapped,), **groups)
    np.testing.assert_array_equal(got, [6, 6, 6, 6], "of what is the same for all, too")


def test_another_name_stays_and_so_does_the_batch_dim():
    jaxpr = jax.make_jaxpr(jax.vmap(lambda x: lax.psum(x, "j"), 1, 0), axis_env=[("j", 2)])(table)
    assert jaxpr.eqns[0].params["axes"] == ("j",)
    assert jaxpr.out_avals[0].shape == (3, 2)


# ---- what vmap makes of a collective ----


def equations(jaxpr):
    inner = [name for eqn in jaxpr.eqns for sub in subjaxprs(eqn.params) for name in equations(sub)]
    return [eqn.primitive.name for eqn in jaxpr.eqns] + inner


def test_tracing_alone_keeps_the_name():
    jaxpr = jax.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 3)])(1.0)
    assert jaxpr.eqns[0].params["axes"] == ("i",)


def test_vmap_takes_the_name_away():
    jaxpr = jax.make_jaxpr(over(lambda x: lax.psum(x, "i")))(x)
    assert jaxpr.eqns[0].params["axes"] == (0,)


def test_all_gather_is_no_work():
    jaxpr = jax.make_jaxpr(jax.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i", out_axes=None))
    assert equations(jaxpr(x).jaxpr) == []


def test_all_to_all_turns_rows_into_columns():
    square = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    np.testing.assert_array_equal(over(lambda x: lax.all_to_all(x, "i", 0, 0))(square), square.T)


def test_psum_scatter_then_all_gather_is_psum():
    square = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    halves = over(lambda x: lax.all_gather(lax.psum_scatter(x, "i"), "i"))(square)
    np.testing.assert_array_equal(halves, over(lambda x: lax.psum(x, "i"))(square))


def test_ppermute_sends_values_around():
    turn = [(0, 1), (1, 2), (2, 0)]
    np.testing.assert_array_equal(over(lambda x: lax.ppermute(x, "i", turn))(x), [4, 1, 2])


def test_pbroadcast_shares_one_value():
    np.testing.assert_array_equal(over(lambda x: lax.pbroadcast(x, "i", 1))(x), [2, 2, 2])


def test_what_all_examples_share_may_be_sent_around_too():
    shared = over(lambda _: lax.all_to_all(jnp.arange(3), "i", 0, 0))(x)
    np.testing.assert_array_equal(shared, [[0, 0, 0], [1, 1, 1], [2, 2, 2]])


def test_psum_scatter_complains_about_a_size_that_does_not_fit():
    with pytest.raises(ValueError, match="size 3 must match the size of the named axis, 2"):
        over(lambda x: lax.psum_scatter(x, "i"))(table)


# ---- under transformations ----


def test_jit_compiles_a_collective_as_a_reduction():
    text = jax.jit(over(lambda x: x - lax.pmax(x, "i"))).lower(x).as_text()
    assert "host" not in text
    np.testing.assert_array_equal(jax.jit(over(lambda x: x - lax.pmax(x, "i")))(x), x - 4)


def test_jit_within_vmap_is_traced_for_each_size_of_the_axis():
    fun = jax.jit(lambda x: x * lax.axis_size("i"))
    assert [over(fun)(np.ones(n)).tolist() for n in (2, 3)] == [[2] * 2, [3] * 3]
    with pytest.raises(NameError):
        fun(1.0)


def test_the_cotangent_of_a_psum_is_the_psum_of_cotangents():
    gradient = over(jax.grad(lambda x: lax.psum(jnp.sin(x), "i")))(x)
    np.testing.assert_allclose(gradient, 3 * np.cos(x), rtol=1e-6)


def test_a_data_parallel_step_is_the_step_of_the_whole_batch():
    loss = lambda w, x: (w * x - 1.0) ** 2  # noqa: E731
    steps = jax.vmap(
        lambda w, x: lax.pmean(jax.grad(loss)(w, x), "batch"), (None, 0), axis_name="batch"
    )(0.5, x)
    whole = jax.grad(lambda w: jnp.mean(loss(w, x)))(0.5)
    np.testing.assert_allclose(steps, np.full(3, whole), rtol=1e-6)


def test_a_loop_may_speak_of_all_examples_at_each_step():
    def normalised(x):
        return lax.fori_loop(0, 3, lambda _, c: c / lax.psum(c, "i"), x)

    np.testing.assert_allclose(over(normalised)(x), x / 7, rtol=1e-6)


def test_batch_normalisation_in_six_lines():
    def normalise(x):
        mean = lax.pmean(x, "batch")
        variance = lax.pmean((x - mean) ** 2, "batch")
        return (x - mean) / jnp.sqrt(variance)

    out = np.asarray(over(normalise, "batch")(table))
    np.testing.assert_allclose(out.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(out.std(0), 1, rtol=1e-6)


@pytest.mark.parametrize(
    "reduce, numpy", [(lax.psum, np.sum), (lax.pmax, np.max), (lax.pmin, np.min)]
)
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_each_reduction_of_any_axis_and_dtype(reduce, numpy, dim, dtype):
    x = np.arange(24).reshape(2, 3, 4).astype(dtype)
    mapped = jax.vmap(lambda x: reduce(x, "i"), dim, None, axis_name="i")
    got = np.asarray(mapped(x))
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(
        got, numpy(x, dim, dtype=dtype) if numpy is np.sum else numpy(x, dim)
    )
    shared = jax.vmap(lambda y: reduce(x, "i"), axis_name="i")(np.ones(5))
    assert shared.dtype == x.dtype, "also where it is the same for all"
    np.testing.assert_array_equal(shared[4], (x * 5).astype(dtype) if numpy is np.sum else x)


@pytest.mark.parametrize("dims", [(0, 0), (1, 1), (2, 0), (0, 2)])
def test_of_three_names_each_may_be_the_one_that_is_reduced(dims):
    x = np.arange(120.0, dtype=np.float32).reshape(2, 3, 4, 5)
    outer, inner = dims
    for names, axes in [(("i",), 1), (("j",), 0), (("i", "j"), (0, 1))]:
        summed = jax.vmap(
            jax.vmap(functools.partial(lax.psum, axis_name=names), inner, axis_name="i"),
            outer,
            axis_name="j",
        )
        front = np.moveaxis(np.moveaxis(x, outer, 0), inner + 1, 1)
        want = np.broadcast_to(front.sum(axes, keepdims=True), front.shape)
        np.testing.assert_array_equal(summed(x), want, f"{names}")


REDUCTIONS = {"psum": np.sum, "pmax": np.max, "pmin": np.min}


@drawn(24, most=4)
def test_drawn_reductions_over_names_and_positions_are_those_of_numpy(rng, most):
    """Nested vmaps, the outermost first; of a name without a dim all examples have one x."""
    names, sizes = ["rows", "0", "", "l"][:most], rng.integers(1, 4, most).tolist()
    own, mapped = rng.integers(1, 4, rng.integers(0, 3)).tolist(), rng.random(most) < 0.7
    whole = rng.integers(-9, 9, [*(n for n, m in zip(sizes, mapped) if m), *own])
    whole = whole.astype(str(rng.choice(["float32", "int32"])))
    dims, given, place = [None] * most, whole, int(mapped.sum())
    for n in reversed(range(most)):
        if mapped[n]:
            place -= 1
            dims[n] = int(rng.integers(given.ndim - place))
            given = np.moveaxis(given, place, place + dims[n])
    axes = [axis for axis in (*names, *range(len(own))) if rng.random() < 0.6] or names[-1:]
    axes = tuple(axes[i] for i in rng.permutation(len(axes)))
    axes = tuple("".join([*a]) if isinstance(a, str) else a for a in axes)  # other objects
    reduction = list(REDUCTIONS)[rng.integers(3)]
    with shown(reduction=reduction, axes=axes, names=names, sizes=sizes, dims=dims, own_axes=own):
        fun = lambda x, _: getattr(lax, reduction)(x, axes)  # noqa: E731
        for name, dim in reversed([*zip(names, dims)]):
            fun = jax.vmap(fun, (dim, 0), axis_name=name)
        shape = [n if m else 1 for n, m in zip(sizes, mapped)]
        want = np.broadcast_to(whole.reshape([*shape, *own]), [*sizes, *own])
        over = tuple(names.index(a) for a in axes if a in names)
        want = np.broadcast_to(REDUCTIONS[reduction](want, over, keepdims=True), want.shape)
        want = REDUCTIONS[reduction](want, tuple(most + a for a in axes if a not in names))
        same(fun(given, np.zeros(sizes)), want.astype(whole.dtype), "the result", rtol=0)
