"""Annotations of shapes and dtypes, checked as functions are called, within jit, vmap and grad too."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Key, PyTree, Scalar, Shaped, UInt8, jaxtyped


def says(name, function, *args):
    try:
        print(f"{name}:", function(*args))
    except Exception as error:
        print(f"{name}:", type(error).__name__)


x, key = jnp.arange(6.0).reshape(2, 3), jax.random.key(0)
for hint, value in (
    (Float[Array, "2 3"], x),
    (Float[Array, "3 2"], x),
    (Float32[Array, "rows cols"], x),
    (Float[np.ndarray, "..."], x),
    (Int[Array, "..."], x),
    (Shaped[Array, "*batch 3"], x),
    (Float[Array, "1 #n"], x),
    (Bool[Array, ""], x[0, 0] > 0),
    (Scalar, x[0, 0]),
    (UInt8[Array, "n"], jnp.zeros(2, jnp.uint8)),
    (Key[Array, ""], key),
    (Float[Array, "a a"], x @ x.T),
    (PyTree[Float[Array, "..."]], {"a": x, "b": (x, x)}),
    (PyTree[Int[Array, "..."]], {"a": x}),
    (Float[jax.ShapeDtypeStruct, "2"], jax.ShapeDtypeStruct((2,), jnp.float32)),
):
    print(getattr(hint, "dim_str", "a tree"), isinstance(value, hint))


@jaxtyped(typechecker=None)
def product(x, y):
    assert isinstance(x, Float[Array, "a b"])
    assert isinstance(y, Float[Array, "b c"]), "y does not fit"
    out = x @ y
    assert isinstance(out, Float[Array, "a c"])
    return out


@jaxtyped(typechecker=None)
def turned(x):
    assert isinstance(x, Float[Array, "n m"])
    assert isinstance(x, Float[Array, "m n"]), "not square"
    return x


says("product", product, x, x.T)
says("product of what does not fit", product, x, x)
says("in jit", jax.jit(product), x, x.T)
says("in jit, of what does not fit", jax.jit(product), x, x)
says("in vmap", lambda: jax.vmap(product)(jnp.ones((4, 2, 3)), jnp.ones((4, 3, 1))).shape)
says("in grad", jax.grad(lambda x: jnp.sum(product(x, x.T))), x)
says(
    "in scan",
    lambda: jax.lax.scan(lambda c, _: (product(c, jnp.eye(3)), None), x, None, length=2)[0],
)
says("turned", turned, x)
says("a square one", turned, x @ x.T)
print(Float[Array, "batch 3"].dim_str)
