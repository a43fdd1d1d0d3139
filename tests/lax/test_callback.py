"""Python functions that give results to a compiled program."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.experimental import io_callback

x = np.array([1.0, 2.0, 4.0], np.float32)
scalar = jax.ShapeDtypeStruct((), np.float32)


class Counted:
    """A Python function that notes the shapes of its arguments at each call."""

    def __init__(self, fun=np.multiply):
        self.fun = fun
        self.calls = []

    def __call__(self, *args):
        self.calls.append(tuple(np.shape(a) for a in args))
        return self.fun(*args)


# ---- pure_callback ----


def test_a_jitted_function_may_call_python():
    fun = jax.jit(lambda x: 1 + jax.pure_callback(np.cumsum, x, x))
    np.testing.assert_array_equal(fun(x), [2, 4, 8])
    assert "host    pure_callback(" in fun.lower(x).as_text()


def test_arguments_and_results_are_trees_of_arrays():
    def swap(pair, *, factor):
        assert isinstance(factor, jax.Array)
        return {"a": pair[1] * factor, "b": pair[0]}

    fun = jax.jit(lambda x: jax.pure_callback(swap, {"a": x, "b": x}, (x, 2 * x), factor=3.0))
    np.testing.assert_array_equal(fun(x)["a"], 6 * x)


def test_a_pure_callback_that_nothing_needs_is_not_called():
    counted = Counted(np.sin)
    jax.jit(lambda x: (jax.pure_callback(counted, x, x), x + 1)[1])(x)
    assert counted.calls == []


def test_equal_pure_callbacks_are_called_once():
    counted = Counted(np.sin)
    jax.jit(lambda x: [jax.pure_callback(counted, x, x) for _ in range(2)])(x)
    assert len(counted.calls) == 1


@pytest.mark.parametrize(
    "method, shapes",
    [
        ("sequential", [((), ())] * 3),
        ("sequential_unrolled", [((), ())] * 3),
        ("expand_dims", [((3,), (1,))]),
        ("broadcast_all", [((3,), (3,))]),
        ("legacy_vectorized", [((3,), ())]),
    ],
)
@pytest.mark.parametrize("run", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_vmap_method_says_how_a_batch_is_called_for(method, shapes, run):
    counted = Counted()

    def fun(x, y):
        return jax.pure_callback(counted, scalar, x, y, vmap_method=method)

    np.testing.assert_array_equal(run(jax.vmap(fun, (0, None)))(x, 2.0), 2 * x)
    assert counted.calls == shapes


def test_results_must_be_as_declared():
    with pytest.raises(
        jax.errors.JaxRuntimeError, match=r"shape .*#0: Expected: \(3,\), Actual: \(\)"
    ):
        jax.jit(lambda x: jax.pure_callback(np.sum, x, x))(x)


def test_a_derivative_has_to_be_given():
    @jax.custom_jvp
    def sine(x):
        return jax.pure_callback(np.sin, scalar, x)

    with pytest.raises(ValueError, match="custom_jvp"):
        jax.grad(lambda x: jax.pure_callback(np.sin, scalar, x))(1.0)
    sine.defjvp(lambda primals, tangents: (sine(*primals), jnp.cos(primals[0]) * tangents[0]))
    np.testing.assert_allclose(jax.grad(jax.jit(sine))(1.0), np.cos(1.0), rtol=1e-6)


# ---- io_callback ----


class Counter:
    def __init__(self):
        self.count = 0

    def __call__(self, *args):
        self.count += 1
        return np.int32(self.count)


int_scalar = jax.ShapeDtypeStruct((), np.int32)


def test_an_io_callback_is_called_though_nothing_needs_its_result():
    counter = Counter()
    fun = jax.jit(lambda x: (io_callback(counter, int_scalar, x), x)[1])
    fun(x), fun(x)
    assert counter.count == 2


def test_equal_io_callbacks_are_called_each():
    counter = Counter()
    fun = jax.jit(lambda: [io_callback(counter, int_scalar, ordered=True) for _ in range(3)])
    assert [int(n) for n in fun()] == [1, 2, 3]


def test_it_needs_no_result():
    seen = []
    jax.jit(lambda x: io_callback(lambda x: seen.append(float(x)), None, x.sum()))(x)
    assert seen == [7.0]


def test_io_callbacks_and_prints_share_one_order(capsys):
    def fun(x):
        io_callback(lambda x: print("first", x), None, x)
        jax.debug.print("second {}", x)
        io_callback(lambda: print("third"), None)

    jax.jit(fun)(1.0)
    assert capsys.readouterr().out.splitlines() == ["first 1.0", "second 1.0", "third"]


def test_vmap_calls_for_each_example():
    counted = Counted(np.negative)
    fun = jax.vmap(lambda x: io_callback(counted, scalar, x))
    np.testing.assert_array_equal(fun(x), -x)
    assert counted.calls == [((),)] * 3


def test_a_loop_calls_at_each_step():
    counter = Counter()
    fun = jax.jit(lambda: lax.fori_loop(0, 5, lambda i, c: c + io_callback(counter, int_scalar), 0))
    assert fun() == 15 and counter.count == 5


def test_grad_goes_around_an_io_callback_of_a_stopped_gradient():
    counted = Counted(np.square)
    fun = jax.grad(jax.jit(lambda x: x * io_callback(counted, scalar, lax.stop_gradient(x))))
    assert fun(3.0) == 9.0 and len(counted.calls) == 1
