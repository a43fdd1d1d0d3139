"""How results are split: the table, and what no table entry knows."""

import numpy as np
import pytest
from cpu_devices import cpu_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.sharding.mesh import Mesh
from tinyjax.sharding.named_sharding import NamedSharding
from tinyjax.sharding.partition_spec import P
from tinyjax.sharding.propagation import Use, propagate


@pytest.fixture
def mesh():
    return Mesh(np.array(cpu_devices(4)).reshape(2, 2), ("x", "y"))


@pytest.fixture
def x(mesh):
    return jax.device_put(jnp.arange(16.0).reshape(4, 4), NamedSharding(mesh, P("x", "y")))


def test_the_first_claim_wins():
    shapes, specs = [(4, 4), (4, 4)], [(("x",), ()), (("y",), ("x",))]
    use = Use("add", shapes, specs, [(4, 4)], {}, {"x": 2, "y": 2})
    assert propagate(use) == [(("x",), ())]


def test_what_has_no_rule_is_whole_everywhere():
    use = Use("a_new_primitive", [(4,)], [(("x",),)], [(4,), (2, 2)], {}, {"x": 2})
    assert propagate(use) == [((),), ((), ())]


def test_what_cannot_be_split_evenly_is_whole(x):
    assert jax.jit(lambda x: x[:3])(x).sharding.spec == P(None, "y")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.reshape(2, 8) @ x.reshape(8, 2),
        lambda x: jnp.sort(x, 0)[::-1].cumsum(1),
        lambda x: jax.lax.scan(lambda c, r: (c @ x, c * r), x[0], x),
        lambda x: jax.grad(lambda a: (jnp.tanh(a) @ a.T).sum())(x),
        lambda x: jax.vmap(lambda r: jnp.outer(r, r).reshape(-1)[r.astype(int)])(x % 4),
    ],
)
def test_shardings_change_no_value(x, f):
    plain = jnp.asarray(np.asarray(x))
    for got, want in zip(jax.tree.leaves((f(x), jax.jit(f)(x))), jax.tree.leaves((f(plain),) * 2)):
        np.testing.assert_allclose(got, want, rtol=1e-5)
