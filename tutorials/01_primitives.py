# %% [markdown]
# # 1. Primitives and bind

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz


def f(x):
    return jnp.sin(x) * x


print(f(3.0))

# %%
viz.dot(jax.make_jaxpr(f)(3.0))

# %% [markdown]
# ## Summary
#
# - `bind` hands a primitive to the current trace.
# - With no transformation active, that trace runs NumPy.
# - A transformation is another trace.
#
# ## Exercises
#
# `python -m tinyjax learn start 01`
#
# ## Where this lives in JAX
#
# `jax/_src/core.py`
