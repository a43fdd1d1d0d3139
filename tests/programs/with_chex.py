"""Assertions on shapes, types and trees, counted traces, dataclasses, variants, chexify.

What holds prints what it gives; messages are chex's own."""

import chex
import jax
import jax.numpy as jnp
import numpy as np


def says(name, function, *args, **kwargs):
    """Prints what a call gives, or the class of its error and the first line of the message."""
    try:
        print(f"{name}:", function(*args, **kwargs))
    except Exception as error:
        first_line = str(error).strip().splitlines()[0]
        print(f"{name}: {type(error).__name__}: {first_line.partition(' [failed at')[0]}")


x, y = jnp.arange(6.0).reshape(2, 3), np.ones((2, 3))
tree = {"a": x, "b": (jnp.ones(2), jnp.zeros(()))}

# ---- assertions ----

for shape in ((2, 3), (None, 3), (2, ...), (3, 2)):
    says(f"shape {shape}", chex.assert_shape, x, shape)
says("shapes", chex.assert_shape, [x, y], [(2, 3), (2, 3)])
says("rank", chex.assert_rank, x, 2)
says("rank", chex.assert_rank, [x, x[0]], {1, 3})
says("type", chex.assert_type, [x, 1], [float, int])
says("type", chex.assert_type, x, jnp.int32)
says("equal shape", chex.assert_equal_shape, [x, y])
says("equal shape", chex.assert_equal_shape, [x, x[0]])
says("equal shape prefix", chex.assert_equal_shape_prefix, [x, x[:, :2]], 1)
says("equal rank", chex.assert_equal_rank, [x, x[0]])
says("axis", chex.assert_axis_dimension, x, 0, 3)
says("axis", chex.assert_axis_dimension_gt, x, 0, 1)
says("divisible", chex.assert_is_divisible, 6, 4)
says("positive", chex.assert_scalar_positive, -1)
says("in range", chex.assert_scalar_in, 3, 0, 2)
says("scalar", chex.assert_scalar_non_negative, 0)
says("one of", chex.assert_exactly_one_is_none, None, None)
says("xor", chex.assert_not_both_none, None, None)
says("finite", chex.assert_tree_all_finite, tree)
says("finite", chex.assert_tree_all_finite, {"a": jnp.array(jnp.nan)})
says("no nones", chex.assert_tree_no_nones, {"a": None})
says("close", chex.assert_trees_all_close, tree, jax.tree.map(lambda x: x + 1e-8, tree))
says("close", chex.assert_trees_all_close, tree, jax.tree.map(lambda x: x + 1, tree))
says("equal", chex.assert_trees_all_equal, tree, tree)
says("structures", chex.assert_trees_all_equal_structs, tree, {"a": 1})
says("tree shapes", chex.assert_trees_all_equal_shapes, tree, tree)
says("dtypes", chex.assert_trees_all_equal_dtypes, tree, jax.tree.map(lambda x: x > 0, tree))
says("has only ndarrays", chex.assert_tree_has_only_ndarrays, {"a": 1})
says("on host", chex.assert_tree_is_on_host, {"a": np.ones(2)})
says("tracers", jax.jit(lambda x: chex.assert_rank(x, 1)), x)
says("devices", chex.assert_devices_available, 1, "cpu")
says("gradients", chex.assert_numerical_grads, lambda x: jnp.sum(x**2), (jnp.ones(3),), 1)


# ---- traces ----


@jax.jit
@chex.assert_max_traces(n=1)
def traced_once(x):
    return x + 1


says("traced", traced_once, jnp.ones(2))
says("traced again", traced_once, jnp.ones(2))
says("traced again", traced_once, jnp.ones(3))


# ---- dataclasses ----


@chex.dataclass
class Point:
    x: chex.Array
    y: chex.Array = 2.0

    def norm(self):
        return jnp.sqrt(self.x**2 + self.y**2)


@chex.dataclass(frozen=True, mappable_dataclass=False)
class Frozen:
    x: float


p = Point(x=jnp.array(3.0), y=4.0)
print(p, p.norm(), p["x"], sorted(p), p.replace(x=0.0), p.to_tuple())
print(jax.tree.map(lambda v: v * 2, p), jax.tree.leaves(p), jax.tree.structure(p).num_leaves)
print(jax.grad(Point.norm)(p), jax.jit(lambda p: p.replace(y=p.x))(p))
print(jax.vmap(Point.norm)(Point(x=jnp.arange(2.0), y=jnp.ones(2))))
print([jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(p)])
print(
    jax.lax.scan(lambda p, v: (p.replace(x=p.x + v), p.norm()), p.replace(y=1.0), jnp.arange(2.0))
)
says("frozen", setattr, Frozen(x=1.0), "x", 2.0)
says("wrong field", Point, z=1)


# ---- variants, fake jit and pmap, chexify ----


class Variants(chex.TestCase):
    @chex.all_variants
    def test_square(self):
        square = self.variant(lambda x: x**2)
        chex.assert_trees_all_close(square(jnp.array(3.0)), jnp.array(9.0))

    @chex.variants(with_jit=True, without_jit=True)
    def test_with_static(self):
        power = self.variant(lambda x, n: x**n, static_argnums=1)
        chex.assert_trees_all_equal(power(jnp.array(2.0), 3), jnp.array(8.0))


suite = __import__("unittest").TestLoader().loadTestsFromTestCase(Variants)
result = suite.run(__import__("unittest").TestResult())
print("variants:", result.testsRun, len(result.failures), len(result.errors))
print([str(e[1])[-300:] for e in result.errors])

with chex.fake_jit():
    says("fake jit", jax.jit(lambda x: float(x) + 1), jnp.ones(()))
with chex.fake_pmap():
    print(jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(jnp.arange(3.0)))


@jax.jit
def logarithm(x):
    chex.assert_tree_all_finite(x)
    chex.assert_scalar_positive(3)
    return jnp.log(x)


says("value assertion in jit", logarithm, jnp.array(jnp.nan))
says("chexified", chex.chexify(logarithm, async_check=False), jnp.array(1.0))
says("chexified", chex.chexify(logarithm, async_check=False), jnp.array(jnp.nan))
print(chex.Dimensions(B=2, T=3)["BT"], chex.Dimensions(B=2, T=3).size("BT"))
