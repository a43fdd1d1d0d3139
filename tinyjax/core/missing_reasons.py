"""Why tinyjax lacks some of JAX's public names: the error that says a name is missing says why.

docs/names.md lists the same reasons.
"""

from __future__ import annotations

# {why: the names}
REASONS = {
    "it serializes programs for XLA, and tinyjax has none: keep the Python function": "jax.export",
    "it calls code that XLA loads: jax.pure_callback calls any Python function": "jax.ffi",
    "it names XLA's kinds of memory, and tinyjax's devices have one": "jax.memory",
    "it is for JAX's own converter to TensorFlow": "jax.jax2tf_associative_scan_reductions",
    "it is a key for the caches of JAX's own jit": "jax.make_user_context",
    "it chooses how XLA computes a product or a function: tinyjax has one way": (
        "jax.lax.AccuracyMode jax.lax.DotAlgorithm jax.lax.DotAlgorithmPreset jax.lax.Tolerance "
        "jax.lax.PrecisionLike"
    ),
    "it is for layers with experts on accelerators: lax.dot_general with a mask computes the same": (
        "jax.lax.RaggedDotDimensionNumbers jax.lax.ragged_dot jax.lax.ragged_dot_general "
        "jax.lax.ragged_all_to_all jax.lax.ragged_all_to_all_p "
        "jax.extend.core.primitives.ragged_all_to_all_p"
    ),
    "it multiplies numbers in blocks with a scale each, as some accelerators do: scale them yourself": (
        "jax.lax.scaled_dot jax.nn.scaled_matmul jax.nn.scaled_dot_general "
        "jax.nn.get_scaled_dot_general_config"
    ),
    "it orders effects in XLA's programs: here they come in the order of the jaxpr": (
        "jax.lax.after_all jax.lax.after_all_p jax.lax.create_token jax.lax.create_token_p "
        "jax.extend.core.primitives.after_all_p jax.extend.core.primitives.create_token_p"
    ),
    "its bits are those of XLA's own generator: jax.random has generators with JAX's bits": (
        "jax.lax.RandomAlgorithm jax.lax.rng_bit_generator jax.lax.rng_bit_generator_p "
        "jax.lax.rng_uniform jax.lax.rng_uniform_p jax.extend.core.primitives.rng_bit_generator_p "
        "jax.extend.core.primitives.rng_uniform_p"
    ),
    "it is a mark in the jaxpr for other tools, and computes nothing: a call of jit shows there, too": (
        "jax.lax.composite jax.lax.stage jax.lax.stage_p jax.lax.dce_sink"
    ),
    "this is no primitive here: the function of its name is made of others, or runs at once": (
        "jax.lax.device_put_p jax.lax.linear_solve_p jax.lax.select_and_scatter_p "
        "jax.extend.core.primitives.empty2_p jax.extend.core.primitives.linear_solve_p "
        "jax.extend.core.primitives.random_gamma_p "
        "jax.extend.core.primitives.select_and_scatter_p"
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
    "it writes MLIR, and here is none: a jaxpr becomes kernels. mlir.register_lowering(p, mlir.lower_fun(f)) "
    "takes a function; jax.jit(f).lower(x).as_text() shows what is compiled": (
        "jax.extend.mlir jax.extend.mlir.* jax.extend.lowering jax.extend.pallas jax.interpreters.pxla "
        "jax.interpreters.mlir.*"
    ),
    "it is private to JAX, and is not in tinyjax, nor is MLIR. A lowering can be a function: "
    "mlir.register_lowering(p, mlir.lower_fun(f)); jax.extend and jax.interpreters have what is public": (
        "jax._src.*"
    ),
    "it is of XLA's compiler, which tinyjax does without: jax.jit(f).lower(x).as_text() shows what is "
    "compiled, jax.extend.backend has the devices": (
        "jax.extend.xla jax.extend.sharding jax.interpreters.xla.Backend "
        "jax.extend.backend.backend_xla_version jax.extend.backend.get_compile_options "
        "jax.extend.backend.ifrt_proxy jax.extend.backend.register_backend_cache "
        "jax.extend.backend.register_backend_factory "
        "jax.extend.backend.clear_in_memory_compilation_cache"
    ),
    "it has the kinds of random keys, which jax.random.key(0, impl='rbg') takes by name": "jax.extend.random",
    "it takes functions wrapped by JAX's own modules: jax.jvp and jax.linearize do it": (
        "jax.interpreters.ad.jvp jax.interpreters.ad.linearize"
    ),
    "what jax.vmap maps over are pytrees of arrays: register the class as a pytree": (
        "jax.interpreters.batching.register_vmappable jax.interpreters.batching.unregister_vmappable"
    ),
    "it takes jaxprs and functions in the form that JAX's own transformations give each other: "
    "jax.make_jaxpr of a transformed function gives its jaxpr": (
        "jax.interpreters.ad.backward_pass jax.interpreters.ad.jvp_jaxpr "
        "jax.interpreters.batching.batch_jaxpr_axes jax.interpreters.batching.batch_subtrace "
        "jax.interpreters.batching.zero_if_mapped "
        "jax.interpreters.partial_eval.abstract_eval_fun jax.interpreters.partial_eval.close_jaxpr "
        "jax.interpreters.partial_eval.convert_constvars_jaxpr "
        "jax.interpreters.partial_eval.lower_jaxpr jax.interpreters.partial_eval.lower_jaxpr2 "
        "jax.interpreters.partial_eval.move_binders_to_back "
        "jax.interpreters.partial_eval.new_eqn_recipe "
        "jax.interpreters.partial_eval.partial_eval_jaxpr_nounits "
        "jax.interpreters.partial_eval.prune_closed_jaxpr_outputs"
    ),
    "it is a rule of JAX's own partial evaluation, of another form than those in "
    "tinyjax.transform.linearize.partial_eval_rules": (
        "jax.interpreters.partial_eval.Val jax.interpreters.partial_eval.custom_partial_eval_rules "
        "jax.interpreters.partial_eval.dce_jaxpr_call_rule "
        "jax.interpreters.partial_eval.dce_jaxpr_closed_call_rule "
        "jax.interpreters.partial_eval.dce_jaxpr_consts jax.interpreters.partial_eval.dce_rules "
        "jax.interpreters.partial_eval.partial_eval_jaxpr_custom_rules"
    ),
    "an equation has the line of the program that it is of, eqn.source_info, and no stack of names": (
        "jax.extend.source_info_util.*"
    ),
    "it is for the caches, and the auxiliary results, of JAX's own transformations: write a function": (
        "jax.extend.linear_util.cache jax.extend.linear_util.merge_linear_aux "
        "jax.extend.linear_util.transformation_with_aux2"
    ),
    "it is a type for annotations, or of symbolic shapes, which are numbers here": (
        "jax.core.ParamDict jax.core.Value jax.core.max_dim jax.core.min_dim "
        "jax.extend.core.DebugInfo jax.extend.core.InconclusiveDimensionOperation "
        "jax.extend.core.array_types"
    ),
    "effects have no types here: a Primitive says has_effects=True, and keeps its place in the jaxpr": (
        "jax.extend.core.AbstractToken jax.extend.core.Token jax.extend.core.Effects "
        "jax.extend.core.no_effects"
    ),
    "it is for primitives with a jaxpr as parameter: jit one, or write its rules as CONTRIBUTING.md says": (
        "jax.extend.core.create_call_primitive jax.extend.core.register_call_primitive_rules "
        "jax.extend.core.eval_jaxpr_transpose jax.extend.core.primitives.create_call_primitive "
        "jax.extend.core.primitives.register_call_primitive_rules "
        "jax.extend.core.primitives.eval_jaxpr_transpose"
    ),
    "it chooses how long XLA compiles": "jax.CompilerEffortLevel",
    "it starts a collective of XLA that another step ends: lax.psum_scatter does both": (
        "jax.lax.psum_scatter_start"
    ),
    "ask jax.extend.core.get_opaque_trace_state; or of a value, isinstance(x, jax.core.Tracer)": (
        "jax.extend.core.nonempty_axis_env_DO_NOT_USE "
        "jax.extend.core.unsafe_am_i_under_a_jit_DO_NOT_USE "
        "jax.extend.core.unsafe_am_i_under_a_vmap_DO_NOT_USE "
        "jax.extend.core.unsafe_get_axis_names_DO_NOT_USE"
    ),
    "it makes operations raise that would need a collective: jax.jit(f).lower(x).as_text() shows those of a "
    "program": "jax.sharding.no_collectives",
    "there is one table of pytree nodes, in plain Python: tinyjax/core/tree_util/": (
        "jax.tree_util.default_registry"
    ),
}


def reason(jax_name: str) -> str:
    """Why a name of JAX, such as "jax.lax.mulhi", is missing; "" if no reason is listed."""
    whole = f"{jax_name.rpartition('.')[0]}.*"  # all that a module lacks
    return next((why for why, names in REASONS.items() if {jax_name, whole} & {*names.split()}), "")
