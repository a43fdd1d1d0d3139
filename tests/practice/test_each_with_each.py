"""Tables by two vmaps."""

import numpy as np
from judged import Thrown, error_passes, raises, unchanged
from practice.each_with_each import distances, predictions

import tinyjax.numpy as jnp

POINTS = np.array([[0, 0], [3, 4], [6, 8]], np.float32)
OTHERS = np.array([[0, 0], [3, 0], [0, 4], [1, 1]], np.float32)


def straight(p, q):
    return jnp.sqrt(jnp.sum((p - q) ** 2))


def uphill(p, q):
    """Shorter downhill: no two ways are as long as their ways back."""
    return q[1] - 2.0 * p[0]


def test_each_row_of_the_table_is_of_one_point():
    table = distances(straight, POINTS, OTHERS)
    assert table.shape == (3, 4), "a row for each of the points, a column for each of the others"
    want = np.sqrt(((POINTS[:, None] - OTHERS[None]) ** 2).sum(-1))
    np.testing.assert_allclose(table, want, rtol=1e-6)


def test_the_way_there_may_be_longer_than_the_way_back():
    table = distances(uphill, POINTS, OTHERS)
    want = [[uphill(p, q) for q in OTHERS] for p in POINTS]
    np.testing.assert_allclose(table, want)
    np.testing.assert_allclose(
        distances(uphill, POINTS, POINTS), [[uphill(p, q) for q in POINTS] for p in POINTS]
    )


def test_the_distance_is_asked_for_once_of_one_point_and_another():
    asked = []
    distances(lambda p, q: asked.append((p.shape, q.shape)) or straight(p, q), POINTS, OTHERS)
    assert asked == [((2,), (2,))], f"one call, with one point and another; the calls had {asked}"


def test_points_may_be_trees():
    place = {"x": POINTS[:, 0], "y": POINTS[:, 1]}
    other = {"x": OTHERS[:, 0], "y": OTHERS[:, 1]}
    table = distances(lambda p, q: abs(p["x"] - q["x"]) + abs(p["y"] - q["y"]), place, other)
    np.testing.assert_allclose(table, np.abs(POINTS[:, None] - OTHERS[None]).sum(-1))


def models(count, width):
    weight = np.arange(count * width, dtype=np.float32).reshape(count, width) ** 2
    return {"weight": weight, "bias": 10 * np.arange(count, dtype=np.float32), "scale": 0.5}


def inputs(count, width):
    return np.cos(np.arange(count * width, dtype=np.float32)).reshape(width, count)


def predict(model, x):
    return model["scale"] * (jnp.sum(model["weight"] * x) + model["bias"])


def table_of(models, inputs):
    return 0.5 * (models["weight"] @ inputs + models["bias"][:, None])


def test_each_model_predicts_each_input():
    out = predictions(predict, models(2, 3), inputs(5, 3))
    assert out.shape == (2, 5), "a row for each model, a column for each input"
    np.testing.assert_allclose(out, table_of(models(2, 3), inputs(5, 3)), rtol=1e-5)


def test_a_model_has_its_own_weights_and_the_common_scale():
    seen = []

    def look(model, x):
        seen.append({name: np.shape(part) for name, part in model.items()} | {"input": x.shape})
        return predict(model, x)

    predictions(look, models(2, 3), inputs(5, 3))
    assert seen == [{"weight": (3,), "bias": (), "scale": (), "input": (3,)}]


def test_as_many_models_as_inputs_or_weights_confuse_nothing():
    out = predictions(predict, models(3, 3), inputs(3, 3))
    np.testing.assert_allclose(out, table_of(models(3, 3), inputs(3, 3)), rtol=1e-5)


def test_an_error_of_the_function_goes_on():
    with error_passes(Thrown()) as error:
        distances(raises(error), POINTS, OTHERS)
    with error_passes(Thrown()) as error:
        predictions(raises(error), models(2, 3), inputs(5, 3))


def test_what_is_given_is_left_as_it_is_and_a_second_call_is_of_its_own_arguments():
    for count, width in ((2, 3), (1, 1)):
        some, columns = models(count, width), inputs(4, width)
        with unchanged(some=some, columns=columns):
            out = predictions(predict, some, columns)
        np.testing.assert_allclose(out, table_of(some, columns), rtol=1e-5)
    assert distances(straight, POINTS[:1], OTHERS[:0]).shape == (1, 0)
    table = distances(lambda p, q: (p @ q).astype("int32"), POINTS.astype("int32"), OTHERS)
    np.testing.assert_array_equal(table, POINTS @ OTHERS.T)


def test_an_entry_of_the_table_may_be_an_array_or_a_tree():
    table = distances(lambda p, q: {"way": q - p, "far": straight(p, q)}, POINTS, OTHERS)
    np.testing.assert_array_equal(table["way"], OTHERS[None] - POINTS[:, None])
    assert table["far"].shape == (3, 4)
    out = predictions(lambda m, x: m["weight"] * x * m["scale"], models(2, 3), inputs(5, 3))
    assert out.shape == (2, 5, 3)
    whole = {"weight": np.ones((2, 3), int), "bias": np.arange(2), "scale": 2}
    out = predictions(
        lambda m, x: m["scale"] * (m["weight"] @ x) + m["bias"], whole, np.eye(3, dtype=int)
    )
    assert out.tolist() == [[2, 2, 2], [3, 3, 3]] and out.dtype == np.int32
