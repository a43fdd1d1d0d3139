"""Why tinyjax lacks some of JAX's public names: the error that says a name is missing says why.

After this file you know what is outside tinyjax on purpose. docs/names.md lists the same reasons.
Builds on nothing.
"""

from __future__ import annotations

# {why: the names}
REASONS = {
    "it serializes programs for XLA, and tinyjax has none: keep the Python function": "jax.export",
    "it calls code that XLA loads: jax.pure_callback calls any Python function": "jax.ffi",
    "it names XLA's kinds of memory, and tinyjax's devices have one": "jax.memory",
    "it is for JAX's own converter to TensorFlow": "jax.jax2tf_associative_scan_reductions",
    "it is a key for the caches of JAX's own jit": "jax.make_user_context",
    "it says which gradients a vjp is to add to refs: jax.vjp gives all of them": "jax.ad",
    "it chooses how XLA computes a product or a function: tinyjax has one way": (
        "jax.lax.AccuracyMode jax.lax.DotAlgorithm jax.lax.DotAlgorithmPreset jax.lax.Tolerance "
        "jax.lax.PrecisionLike"
    ),
    "it is for layers with experts on accelerators: lax.dot_general with a mask computes the same": (
        "jax.lax.RaggedDotDimensionNumbers jax.lax.ragged_dot jax.lax.ragged_dot_general "
        "jax.lax.ragged_all_to_all jax.lax.ragged_all_to_all_p"
    ),
    "it multiplies numbers in blocks with a scale each, as some accelerators do: scale them yourself": (
        "jax.lax.scaled_dot jax.nn.scaled_matmul jax.nn.scaled_dot_general "
        "jax.nn.get_scaled_dot_general_config"
    ),
    "it orders effects in XLA's programs: here they come in the order of the jaxpr": (
        "jax.lax.after_all jax.lax.after_all_p jax.lax.create_token jax.lax.create_token_p"
    ),
    "its bits are those of XLA's own generator: jax.random has generators with JAX's bits": (
        "jax.lax.RandomAlgorithm jax.lax.rng_bit_generator jax.lax.rng_bit_generator_p "
        "jax.lax.rng_uniform jax.lax.rng_uniform_p"
    ),
    "it is a mark in the jaxpr for other tools, and computes nothing: a call of jit shows there, too": (
        "jax.lax.composite jax.lax.stage jax.lax.stage_p jax.lax.dce_sink jax.lax.dce_sink_p"
    ),
    "it sends between two devices outside of a collective: lax.ppermute does it within one": (
        "jax.lax.psend jax.lax.precv"
    ),
    "this is no primitive here: the function of its name is made of others, or runs at once": (
        "jax.lax.device_put_p jax.lax.linear_solve_p jax.lax.select_and_scatter_p"
    ),
    "shapes are numbers here, never symbols": "jax.lax.shape_as_value",
    "few programs need it: widen the integers, multiply, and shift": (
        "jax.lax.mulhi jax.lax.mulhi_p"
    ),
    "it is an iteration for accelerators: jax.scipy.linalg.polar computes the same": (
        "jax.lax.linalg.qdwh"
    ),
    "XLA's own CPU backend hardly has it: int2, int4 and the float8 dtypes show how small ones work": (
        "jax.numpy.float6_e2m3fn jax.numpy.float6_e3m2fn jax.numpy.int1 jax.numpy.uint1"
    ),
    "there is one table of pytree nodes, in plain Python: tinyjax/core/tree/": (
        "jax.tree_util.default_registry"
    ),
}


def reason(jax_name: str) -> str:
    """Why a name of JAX, such as "jax.lax.mulhi", is not there; "" if nothing stands against it."""
    return next((why for why, names in REASONS.items() if jax_name in names.split()), "")
