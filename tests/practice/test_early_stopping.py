"""A training that ends by itself. Here a step counts, and a table says the loss of each number."""

import numpy as np
import pytest
from drawn import drawn, same, shown
from explain_errors import explain_errors
from judged import Thrown, error_passes, raises, unchanged
from practice.early_stopping import train

import tinyjax as jax
import tinyjax.numpy as jnp


def count(i, params):
    return params + 1.0


def of_table(table):
    losses = jnp.array(table)
    return lambda params: losses[params.astype(int)]


def trained(table, patience, most=100):
    best, loss, steps = train(count, of_table(table), jnp.float32(0.0), patience, most)
    return float(best), round(float(loss), 4), int(steps)


def test_it_ends_when_patience_is_over_and_gives_the_best_not_the_last():
    assert trained([5.0, 3.0, 1.0, 2.0, 2.0, 2.0, 2.0, 0.0], patience=3) == (2.0, 1.0, 5)
    assert trained([5.0, 3.0, 1.0, 2.0, 0.5, 2.0, 2.0, 2.0], patience=1) == (2.0, 1.0, 3)


@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_a_loss_of_any_dtype_keeps_it(dtype):
    losses = jnp.array([5, 3, 1, 2, 2], dtype)
    _, loss, _ = train(count, lambda p: losses[p.astype(int)], jnp.float32(0.0), 1, 100)
    assert loss.dtype == losses.dtype and loss == 1


def test_patience_begins_anew_with_each_best():
    table = [9.0, 9.5, 8.0, 8.5, 7.0, 7.5, 7.5, 7.5, 7.5]
    assert trained(table, patience=2) == (4.0, 7.0, 6)


def test_what_is_better_than_the_step_before_but_not_than_the_best_is_no_best():
    assert trained([1.0, 5.0, 4.0, 3.0, 2.0, 0.5], patience=3) == (0.0, 1.0, 3)


def test_an_equal_loss_is_no_better():
    assert trained([1.0, 1.0, 1.0, 1.0, 1.0], patience=2) == (0.0, 1.0, 2)


def test_the_given_parameters_may_be_the_best():
    assert trained([1.0, 2.0, 3.0, 4.0], patience=2) == (0.0, 1.0, 2)


def test_no_more_than_so_many_steps_are_done():
    assert trained([5.0, 4.0, 3.0, 2.0, 1.0], patience=9, most=3) == (3.0, 2.0, 3)
    assert trained([5.0, 4.0, 3.0], patience=9, most=0) == (0.0, 5.0, 0)
    assert trained([5.0, 4.0, 3.0], patience=0) == (0.0, 5.0, 0), "without patience no step is done"


def test_a_step_is_told_its_number_and_parameters_may_be_a_tree():
    def step(i, params):
        return {"x": params["x"] + jnp.array([1.0, 10.0]) * i, "steps": [params["steps"][0] + 1.0]}

    def loss(params):
        return 100.0 - params["x"][1]

    start = {"x": jnp.zeros(2), "steps": [jnp.float32(0.0)]}
    best, value, steps = train(step, loss, start, 5, 4)
    np.testing.assert_allclose(best["x"], [6.0, 60.0])  # 0 + 1 + 2 + 3
    assert float(best["steps"][0]) == 4.0 and float(value) == 40.0 and int(steps) == 4
    kinds = []
    train(lambda i, x: kinds.append(jnp.asarray(i).dtype.kind) or x, jnp.sum, jnp.ones(1), 1, 2)
    assert set(kinds) == {"i"}, "the number of a step is a whole number"


def test_it_is_one_loop_that_can_be_traced():
    with explain_errors("a training must be one while_loop, which runs under make_jaxpr and jit"):
        jaxpr = jax.make_jaxpr(lambda x: train(count, lambda p: p * p, x, 3, 1000))(0.5)
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("while") == 1, f"this is\n{jaxpr}"
    assert len(jaxpr.eqns) < 20, f"a while_loop, and little else: this is\n{jaxpr}"


@pytest.mark.parametrize("patience", [1, 3])
def test_of_many_trainings_at_once_each_ends_by_itself(patience):
    def one(start):
        return train(lambda i, x: x - 1.0, lambda x: abs(x - 0.4), start, patience, 50)

    of_limits = lambda *limits: train(count, lambda p: abs(p - 3), 0.0, *limits)  # noqa: E731
    with explain_errors("patience and most may be traced"):
        best, _, steps = jax.vmap(of_limits)(jnp.array([-1, 0, 2, 3]), jnp.array([5, 5, 2, 50]))
    assert (best.tolist(), steps.tolist()) == ([0, 0, 2, 3], [0, 0, 2, 6]), f"{best}, {steps}"
    starts = jnp.array([3.0, 8.0, -2.0, 0.0])
    with explain_errors("it must be mapped like any other function"):
        best, losses, steps = jax.vmap(one)(starts)
    np.testing.assert_allclose(best, [0.0, 0.0, -2.0, 0.0])
    np.testing.assert_allclose(losses, [0.4, 0.4, 2.4, 0.4], rtol=1e-5)
    np.testing.assert_array_equal(steps, [3 + patience, 8 + patience, patience, patience])


def test_a_loss_that_is_no_number_is_no_better():
    nan = float("nan")
    assert trained([5.0, nan, 3.0, nan, 4.0, 4.0, 4.0], patience=2) == (2.0, 3.0, 4)
    assert trained([5.0, nan, nan, nan, 1.0], patience=3) == (0.0, 5.0, 3)
    _, loss, steps = train(count, of_table([nan] * 9), jnp.float32(0.0), 2, 9)
    assert np.isnan(loss) and steps == 2, "where no loss is a number, patience ends it"
    inf = float("inf")
    assert trained([inf, inf, 7.0, -inf, 1.0, 1.0, 1.0], patience=2) == (3.0, -inf, 5)
    lost = lambda i, x: jnp.where(i == 1, nan, x - 1)  # noqa: E731
    best, loss, steps = train(lost, lambda x: x, 5.0, 2, 9)
    told = "parameters that are nan leave no trace in the best ones"
    assert (float(best), float(loss), int(steps)) == (4.0, 4.0, 3), told


def test_errors_of_step_and_loss_go_on():
    with error_passes(Thrown()) as error:
        train(raises(error), jnp.sum, jnp.ones(2), 2, 9)
    with error_passes(Thrown()) as error:
        train(count, raises(error), jnp.ones(2), 2, 9)


def test_parameters_keep_dtypes_and_shapes_and_are_left_as_they_are():
    large = 2**24 + 1  # which float32 does not hold
    nested = (None, {"a": {"b": jnp.arange(4.0)}}, [(), jnp.zeros((4, 0))])
    down = lambda i, p: jax.tree.map(lambda x: x - 1, p)  # noqa: E731
    best, loss, steps = train(down, lambda p: abs(p[1]["a"]["b"].sum() - 2), nested, 2, 9)
    assert jax.tree.structure(best) == jax.tree.structure(nested), "None may come first"
    assert best[1]["a"]["b"].tolist() == [-1, 0, 1, 2] and (float(loss), int(steps)) == (0.0, 3)
    params = {"w": np.zeros((2, 1), np.float16), "n": [np.int32(large)], "none": None}

    def step(i, p):
        return {"w": p["w"] + jnp.float16(1), "n": [p["n"][0] + 2], "none": None}

    with unchanged(params=params):
        for patience in (1, 3):
            best, loss, steps = train(
                step, lambda p: jnp.abs(p["w"].sum() - 6), params, patience, 50
            )
            assert (best["w"].dtype, best["w"].shape) == (np.float16, (2, 1))
            assert best["w"].tolist() == [[3], [3]] and best["none"] is None
            assert int(best["n"][0]) == large + 6, "whole numbers are chosen, and not computed"
            assert (float(loss), int(steps)) == (0.0, 3 + patience)


@pytest.mark.parametrize("patience", range(2, 8))
def test_each_best_gives_all_of_the_patience_again(patience):
    """Each time the last step that the patience allows is followed by a better one."""
    table, worse = [], [11.0] * (patience - 1)
    for best in (10.0, 9.0, 8.0, 7.0):
        table += [best, *worse]
    with jax.disable_jit():
        got = trained([*table, 11.0, 0.0], patience)
    assert got == (3.0 * patience, 7.0, 4 * patience)


def test_it_may_take_thousands_of_steps():
    best, loss, steps = train(count, lambda x: abs(x - 3000), jnp.float32(0.0), 500, 10_000)
    assert (float(best), float(loss), int(steps)) == (3000.0, 0.0, 3500)


def test_losses_of_float64_are_compared_as_such():
    with jax.enable_x64():
        table = 1 + 2.0**-45 * np.array([3.0, 2.0, 1.0, 2.0, 2.0, 0.0])
        best, loss, steps = train(count, of_table(table), jnp.float32(0.0), 2, 100)
        assert (float(best), float(loss), int(steps)) == (2.0, table[2], 4)


def in_python(table, patience, most):
    """The best number of steps, its loss, and how many steps were done."""
    best = done = waited = 0
    while waited < patience and done < most:
        done += 1
        is_better = table[done] < table[best]
        best, waited = (done, 0) if is_better else (best, waited + 1)
    return best, table[best], done


@drawn(20, most=7)
def test_drawn_losses_end_a_training_where_python_does(rng, most):
    table = rng.integers(-2, 3, 2 * most + 3).astype(np.float32)
    table[1:][rng.random(2 * most + 2) < 0.2] = rng.choice([np.nan, np.inf, -np.inf])
    if most % 2:
        table = rng.integers(2**28, 2**28 + 3, 2 * most + 3)  # float32 does not tell them apart
    else:
        table *= rng.choice([2.0**-30, 1.0, 2.0**30])  # how large losses are does not matter
    table = table.astype("int32" if most % 2 else "float32")
    patience, steps = int(rng.integers(0, most + 2)), int(rng.choice([0, most, 2 * most]))

    def step(i, params):
        return {"n": params["n"] + 1, "sum": [params["sum"][0] + i, params["sum"][1]]}

    with shown(losses=table.tolist(), patience=patience, most=steps):
        start = {"n": jnp.int32(0), "sum": [jnp.int32(0), jnp.ones((2, 1, 1))]}
        with jax.disable_jit():  # Python's loop: there are many, and none is compiled
            params, loss, done = train(
                step, lambda params: jnp.array(table)[params["n"]], start, patience, steps
            )
        best, want, steps_done = in_python(table, patience, steps)
        got = int(params["n"]), int(params["sum"][0]), int(done)
        assert got == (best, best * (best - 1) // 2, steps_done), (
            f"the best are those after {best} steps, of {steps_done}, and not those after {got[0]}, of "
            f"{got[2]}; the numbers of its steps add up to {best * (best - 1) // 2}, not to {got[1]}"
        )
        assert params["sum"][1].shape == (2, 1, 1)
        same(loss, want, "the best loss", 0)
