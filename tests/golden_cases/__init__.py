"""The calls whose results were recorded from real JAX (see tools/record_golden.py).

Each case is written once, as code over the names `jax`, `jnp` and `lax`: the recorder gives them
real JAX, the tests give them tinyjax, and both must say the same.

    lax/, ...       in folders: the chapters, each named as the module that it records (chapters.py)
    jaxprs.py       what goes through many modules: functions whose jaxpr text must be equal letter for letter
    values.py       calls whose value, dtype, shape and weak type must be equal
    derivatives.py  the same for grad, jvp, vmap, ... (calls as in values.py)
    errors.py       bad calls: the exception's class, and what its message must name
    pmap.py, placement.py, with_optax.py    calls in a process of its own
    codec.py        how a result is written in the data files, and compared with them

To add a case: write it in the chapter of its module, or make one; run the recorder, commit both.
"""
