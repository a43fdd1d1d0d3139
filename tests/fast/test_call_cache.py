"""Calls of a jitted function that were made before: as the plain path answers them, but without it."""

import numpy as np
import pytest
from cpu_devices import cpu_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.many_devices.sharding.partition_spec import P
from tinyjax.sharding import Mesh, NamedSharding
from tinyjax.transform.jit.api import PjitFunction


@pytest.fixture
def plain_calls(monkeypatch):
    """A list that has an entry for each call that took the plain path."""
    calls = []
    trace_cached = PjitFunction.trace_cached

    def counted(self, args, kwargs):
        calls.append(self)
        return trace_cached(self, args, kwargs)

    monkeypatch.setattr(PjitFunction, "trace_cached", counted)
    return calls


ARGUMENTS = {
    "an array": ((jnp.ones(3),), {}),
    "a NumPy array": ((np.ones(3, np.float32),), {}),
    "a number": ((2.0,), {}),
    "a tree": (([jnp.ones(3), {"a": 1}],), {}),
    "a keyword": ((), {"x": jnp.ones(3)}),
    "on a device": ((jax.device_put(np.ones(3, np.float32), jax.devices()[0]),), {}),
}


def test_what_was_said_of_shardings_holds_for_each_call():
    mesh = Mesh(cpu_devices(2), "x")
    split = NamedSharding(mesh, P("x"))
    for f in (jax.jit(jnp.sin, out_shardings=split), jax.jit(jnp.sin, in_shardings=split)):
        assert [f(jnp.ones(4)).sharding for _ in range(3)] == [split] * 3


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_a_call_like_one_before_takes_the_short_way(plain_calls, kind):
    f = jax.jit(lambda x: jax.tree.map(lambda leaf: leaf * 2, x))
    args, kwargs = ARGUMENTS[kind]
    first, second = f(*args, **kwargs), f(*args, **kwargs)
    assert len(plain_calls) == 1
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert (a.aval, a.committed, a.tolist()) == (b.aval, b.committed, b.tolist())


OTHERS = {
    "shape": jnp.ones(4),
    "dtype": jnp.ones(3, jnp.int32),
    "weak type": jnp.asarray(1.0),
    "tree": [jnp.ones(3)],
    "device": jax.device_put(np.ones(3, np.float32), jax.devices()[0]),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_kind_of_argument_is_not_taken_for_one_before(plain_calls, what):
    f = jax.jit(lambda x: x)
    for x in (jnp.ones(3), jnp.float32(1.0), OTHERS[what]):
        f(x)
    assert len(plain_calls) == 3
    out, x = jax.tree.leaves(f(OTHERS[what]))[0], jax.tree.leaves(OTHERS[what])[0]
    assert (out.aval, out.committed) == (x.aval, x.committed)


def test_static_arguments_are_compared_by_type_and_value(plain_calls):
    f = jax.jit(lambda x, n: x * n, static_argnums=1)
    assert [f(1.5, n).item() for n in (2, 3, 2, True)] == [3.0, 4.5, 3.0, 1.5]
    assert len(plain_calls) == 3
    with pytest.raises(ValueError, match="hash"):
        f(1.5, [2])


@pytest.mark.parametrize("transform", [jax.grad, jax.vmap, jax.make_jaxpr])
def test_transformations_see_the_call(plain_calls, transform):
    f = jax.jit(lambda x: x * 2)
    f(1.0), f(1.0)
    transform(f)(jnp.ones(3) if transform is jax.vmap else 1.0)
    assert len(plain_calls) == 2


def test_configuration_is_obeyed_where_it_changes_after_a_call():
    f = jax.jit(lambda x: jnp.log(x))
    f(-1.0), f(-1.0)
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        f(-1.0)
    jax.config.update("jax_debug_nans", True)
    try:
        with pytest.raises(FloatingPointError):
            f(-1.0)
    finally:
        jax.config.update("jax_debug_nans", False)
    assert np.isnan(f(-1.0))


def test_disabled_jit_runs_python():
    f = jax.jit(lambda x: type(x))
    g = jax.jit(lambda x: (seen.append(x), x)[1])
    seen = []
    g(1.0), g(1.0)
    with jax.disable_jit():
        assert f(1.0) is float
        g(1.0)
    assert seen[1:] == [1.0]


def test_a_tracer_that_leaked_is_an_error_here_too():
    leaked = []
    f = jax.jit(lambda x: x * 2)
    f(1.0), f(1.0)
    jax.make_jaxpr(lambda x: leaked.append(x))(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        f(leaked[0])


def test_clear_cache_forgets_calls(plain_calls):
    factor = 2
    f = jax.jit(lambda x: x * factor)
    f(1.0), f(1.0)
    factor = 3
    f.clear_cache()
    assert f(1.0) == 3


@pytest.mark.filterwarnings("ignore:backend and device argument:DeprecationWarning")
def test_functions_that_differ_in_their_device_alone_do_not_share_results():
    double = lambda x: x * 2  # noqa: E731
    placed, free = jax.jit(double, device=jax.devices()[0]), jax.jit(double)
    for _ in range(2):
        assert (placed(1.0).committed, free(1.0).committed) == (True, False)


def test_donated_arguments_are_gone_in_each_call():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(3):
        x = jnp.arange(3.0) + 0
        f(x)
        assert x.is_deleted()
