"""Gradients of a batch in pieces: equal to the whole, in one loop, a piece at a time."""

import numpy as np
import pytest
from drawn import drawn, floats, same, shape_of_rank, shown
from judged import Thrown, error_passes, raises, stays_a_loop, unchanged
from practice.in_pieces import value_and_grad_in_pieces

import tinyjax as jax
import tinyjax.numpy as jnp

PARAMS = {"w": jnp.array([0.5, -1.0]), "b": jnp.float32(0.25)}
BATCH = jnp.linspace(-1, 2, 24).reshape(12, 2), jnp.linspace(0, 1, 12)


def loss(params, batch):
    xs, ys = batch
    return jnp.mean((jnp.tanh(xs @ params["w"] + params["b"]) - ys) ** 2)


@pytest.mark.parametrize("pieces", [1, 3, 12])
def test_the_value_is_that_of_the_whole_batch(pieces):
    got, _ = value_and_grad_in_pieces(loss, PARAMS, BATCH, pieces)
    want = loss(PARAMS, BATCH)
    assert np.shape(got) == () and np.allclose(got, want, rtol=1e-5), (
        f"the loss of all 12 examples is {want}; in {pieces} pieces it is {got}"
    )


@pytest.mark.parametrize("pieces", [1, 3, 12])
def test_the_gradient_is_that_of_the_whole_batch(pieces):
    _, got = value_and_grad_in_pieces(loss, PARAMS, BATCH, pieces)
    want = jax.grad(loss)(PARAMS, BATCH)
    assert jax.tree.structure(got) == jax.tree.structure(want), f"a tree as params, not {got}"
    for name in want:
        assert np.allclose(got[name], want[name], rtol=1e-4), (
            f"by {name}, in {pieces} pieces: {got[name]}, not {want[name]}"
        )


def test_each_piece_is_of_examples_that_stand_together():
    pieces = []

    def noting(params, batch):
        jax.debug.callback(lambda ys: pieces.append(np.asarray(ys).round(2).tolist()), batch[1])
        return loss(params, batch)

    value_and_grad_in_pieces(noting, PARAMS, (BATCH[0], jnp.arange(12.0)), 3)
    firsts = [piece[0] for piece in pieces]
    assert firsts == [0, 4, 8], f"pieces of four begin with examples 0, 4 and 8, not {firsts}"


def test_no_more_than_a_piece_is_worked_on_at_a_time():
    shapes = []

    def noting(params, batch):
        shapes.append(np.shape(batch[0]))
        return loss(params, batch)

    value_and_grad_in_pieces(noting, PARAMS, BATCH, 3)
    assert set(shapes) == {(4, 2)}, f"the loss must get 4 examples, not arrays of {shapes}"


def test_gradients_are_added_up_on_the_way_not_kept_for_each_piece():
    program = jax.make_jaxpr(lambda p: value_and_grad_in_pieces(loss, p, BATCH, 6))(PARAMS)
    kept = [
        v.aval.str_short()
        for eqn in program.eqns
        if eqn.primitive is jax.lax.scan_p
        for v in eqn.outvars[eqn.params["num_carry"] :]
    ]
    assert not kept, f"the loop gives its last carry alone, and no ys, which are stacked: {kept}"


def test_the_program_is_as_long_for_twelve_pieces_as_for_two():
    def lines(pieces):
        program = jax.make_jaxpr(lambda p: value_and_grad_in_pieces(loss, p, BATCH, pieces))(PARAMS)
        loops = [eqn for eqn in program.eqns if eqn.primitive is jax.lax.scan_p]
        assert loops, "there is no scan in it"
        assert all(loop.params["unroll"] == 1 for loop in loops), "one piece an iteration"
        return len(str(program).splitlines())

    assert lines(12) == lines(2), f"{lines(12)} lines for twelve pieces, {lines(2)} for two"
    many = lambda p: value_and_grad_in_pieces(lambda p, x: p * x.mean(), p, jnp.zeros(500), 500)  # noqa: E731
    stays_a_loop(jax.make_jaxpr(many)(1.0))


def test_pieces_that_are_not_equal_are_refused():
    with pytest.raises(ValueError) as caught:
        value_and_grad_in_pieces(loss, PARAMS, BATCH, 5)
    said = str(caught.value)
    assert "12" in said and "5" in said, f"the error is to name both numbers, 12 and 5: {said}"


def test_an_error_of_the_loss_goes_on():
    with error_passes(Thrown()) as error:
        value_and_grad_in_pieces(raises(error), PARAMS, BATCH, 3)


def test_params_and_batch_may_be_any_trees_and_stay_as_they_are():
    params = {"a": [np.ones((2, 1), np.float16), {}], "b": np.float32(2.0)}
    batch = {
        "x": np.arange(24, dtype=np.float32).reshape(6, 1, 2, 2),
        "n": np.arange(6, dtype=np.int8),
        "empty": np.zeros((6, 0, 2), np.float32),
    }

    def loss(params, batch):
        rows = (batch["x"] @ params["a"][0].astype("float32")).sum((1, 2, 3)) * params["b"]
        assert batch["n"].dtype == np.int8, "the batch keeps its dtypes"
        return jnp.mean(rows * jnp.arange(6.0)[batch["n"]])

    def of_nested(params, batch):
        return params[1]["a"]["b"].sum() * jnp.mean(batch[1]["a"]["b"])

    nested = (
        None,
        {"a": {"b": np.arange(4, dtype=np.float32)}},
        [(), np.zeros((4, 0), np.float32)],
    )
    value, grads = value_and_grad_in_pieces(of_nested, nested, nested, 2)
    assert jax.tree.structure(grads) == jax.tree.structure(nested), "None may come first"
    assert float(value) == 9.0 and grads[1]["a"]["b"].tolist() == [1.5] * 4
    assert grads[2][1].shape == (4, 0)
    for pieces in (1, 2, 6):
        with unchanged(params=params, batch=batch):
            value, grads = value_and_grad_in_pieces(loss, params, batch, pieces)
        want, want_grads = jax.value_and_grad(loss)(params, batch)
        np.testing.assert_allclose(value, want, rtol=1e-5)
        for got, leaf in zip(jax.tree.leaves(grads), jax.tree.leaves(want_grads), strict=True):
            assert (got.dtype, got.shape) == (leaf.dtype, leaf.shape)
            np.testing.assert_allclose(np.asarray(got, float), np.asarray(leaf, float), rtol=1e-2)


@pytest.mark.parametrize("pieces", [5, 7, 24])
def test_a_number_of_pieces_that_does_not_fit_is_named_with_that_of_examples(pieces):
    with pytest.raises(ValueError, match=rf"\b12\b.*\b{pieces}\b|\b{pieces}\b.*\b12\b"):
        value_and_grad_in_pieces(loss, PARAMS, BATCH, pieces)
        pytest.fail(f"12 examples can't be cut into {pieces} equal pieces")


def test_a_loss_that_is_nan_or_infinite_in_one_piece_is_so_for_the_batch():
    batch = BATCH[0], BATCH[1].at[7].set(jnp.nan)
    value, grads = value_and_grad_in_pieces(loss, PARAMS, batch, 3)
    assert np.isnan(value) and np.isnan(grads["b"]) and np.isnan(grads["w"]).all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_numbers_of_float64_are_added_up_as_such(scale):
    with jax.enable_x64():
        rng = np.random.default_rng(0)
        params = {"w": jnp.array(scale * rng.standard_normal(2)), "b": jnp.array(scale / 3)}
        batch = rng.standard_normal((12, 2)), scale * rng.standard_normal(12)

        def loss(params, batch):
            return jnp.mean((batch[0] @ params["w"] + params["b"] - batch[1]) ** 2)

        want = jax.value_and_grad(loss)(params, batch)
        for pieces in (1, 3):
            got = value_and_grad_in_pieces(loss, params, batch, pieces)
            for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
                told = f"value or gradient, in {pieces} pieces"
                np.testing.assert_allclose(a, b, 1e-11, err_msg=told)
                assert a.dtype == b.dtype, told


@drawn(8, most=6)
def test_drawn_batches_in_pieces_have_the_gradient_that_numpy_computes(rng, most):
    """Of a mean of squares: weights may have any rank, and an example too."""
    pieces, each = map(int, rng.integers(1, most + 2, size=2))
    shape = shape_of_rank(rng, int(rng.integers(0, 4)))
    xs = floats(rng, pieces * each, *shape)
    ys = rng.integers(-3, 4, len(xs)).astype(np.int8)
    params = ({"w": floats(rng, *shape)}, [floats(rng)])

    def loss(params, batch):
        w, b = params[0]["w"], params[1][0]
        rows = batch["xs"].reshape(len(batch["xs"]), -1)
        return jnp.mean((rows @ w.reshape(-1) + b - batch["more"][0]) ** 2)

    with shown(pieces=pieces, examples=len(xs), shape_of_an_example=shape):
        batch = {"xs": jnp.array(xs), "more": (jnp.array(ys),)}
        value, (grad, (grad_b,)) = value_and_grad_in_pieces(
            loss, jax.tree.map(jnp.array, params), batch, pieces
        )
        rows = np.float64(xs).reshape(len(xs), -1)
        rest = rows @ params[0]["w"].reshape(-1) + params[1][0] - ys
        same(value, np.float32((rest**2).mean()), "the value")
        want = 2 * rest @ rows / len(xs)
        same(grad["w"], np.float32(want.reshape(shape)), "the gradient by the weights", 1e-4)
        same(grad_b, np.float32(2 * rest.mean()), "the gradient by the bias", 1e-4)
