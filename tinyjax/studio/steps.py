"""The order to read tinyjax in: a story of chapters, each of which needs only those before it.

A step is one mechanism, in one file. Footnotes are what a chapter's files need and the story does not teach;
all other modules are breadth, which no step imports (a test reads the imports). Names lack their `tinyjax.`.
"""

from typing import NamedTuple


class Chapter(NamedTuple):
    title: str
    steps: dict[str, str]  # in their order, by the names of modules, with what each is about
    footnotes: dict[str, str] = {}


CHAPTERS = (
    Chapter(
        "Operations",
        {
            "core.bind": "bind and traces: eager evaluation",
            "core.array": "avals and values",
            "core.avals": "what a number or an array is to a trace",
            "core.primitives": "the first ten, and what a primitive needs",
        },
        {
            "core.dtypes": "which dtypes there are",
            "core.small_dtypes": "those that NumPy itself does not know",
            "core.errors": "what goes wrong with tracers",
            "core.config": "the flags",
            "core.quiet": "NumPy without its warnings",
            "core.facts": "what else is declared of a primitive: its cost, whether it is linear, ...",
        },
    ),
    Chapter(
        "Containers",
        {
            "core.tree_util.pytrees": "nested containers as flat lists",
            "core.api_util": "arguments in and out as flat lists",
            "core.lists": "lists in parts, and put together again",
        },
    ),
    Chapter(
        "Programs as data",
        {
            "core.jaxpr": "programs as lists of equations",
            "core.tracing": "make_jaxpr: from a Python function to a jaxpr",
        },
        {
            "core.debug_info": "names of functions and arguments, for errors",
            "core.structs": "what is known of an array, without the array",
        },
    ),
    Chapter(
        "Forward mode",
        {"transform.jvp": "tangents beside primals"},
        {"core.tree_util.prefixes": "one value for a whole subtree"},
    ),
    Chapter(
        "Vectorizing",
        {"transform.batching": "vmap: one program for many examples"},
        {"transform.mapped_axes": "which axes of which arguments it maps over"},
    ),
    Chapter(
        "Reverse mode",
        {
            "transform.linearize": "linearize: the result now, a linear jaxpr for later",
            "transform.transposition": "a linear jaxpr run backwards",
            "transform.vjp": "vjp and grad",
        },
        {
            "core.tree_util.partial": "functions that hold arrays, as containers",
        },
    ),
    Chapter("A jaxpr as text", {"core.pretty_printer": "documents, and where their lines break"}),
    Chapter(
        "From jaxpr to jaxpr",
        {
            "core.inlining": "calls within a jaxpr, put in their place",
            "compile.passes.rewrite_rules": "the rules by which equations become simpler",
            "compile.passes.cse": "what is computed twice, computed once",
            "compile.passes.loops": "loops and branches in one form",
            "compile.passes.pipeline": "all passes in their order",
        },
        {
            "core.runtime_errors": "what goes wrong in a compiled program",
            "compile.record": "what each pass did to a program, and why",
            "compile.passes.inline": "calls put in their place",
            "compile.passes.fold": "what is made of constants, computed now",
            "compile.passes.patterns": "what equations fit a line of the rules' table",
            "compile.passes.dce": "what no result needs, dropped",
            "compile.passes.expand": "small matrices, in equations that kernels compute",
            "compile.passes.products": "products of matrices, and transposes around them",
            "compile.passes.convolutions": "images that are padded before they are convolved",
            "compile.passes.lower_prng_keys": "random keys as pairs of integers",
            "compile.passes.bodies": "the bodies of loops and branches, simplified too",
        },
    ),
    Chapter(
        "The language of kernels",
        {
            "compile.kernel.indices": "positions in memory, which know their range",
            "compile.kernel.kernel_ir": "the small loop language that kernels are written in",
            "compile.kernel.rules": "the table of lowering rules, and those of the first primitives",
        },
        {
            "compile.kernel.scalar_ops": "its operations on single numbers",
            "compile.kernel.complex_pairs": "complex numbers as pairs of floats",
        },
    ),
    Chapter(
        "Functions that kernels call",
        {
            "compile.kernel.functions.table": "which operations are such functions",
        },
        {
            "compile.kernel.substitution": "statements with other names and indices",
            "compile.kernel.functions.kernel_function": "functions that kernels call, also of vectors",
            "compile.kernel.functions.notation": "functions of the kernel language, as definitions in Python",
            "compile.kernel.functions.exponentials": "exp, exp2, expm1 and logistic",
            "compile.kernel.functions.logarithms": "log, log1p and cbrt",
            "compile.kernel.functions.hyperbolic": "sinh, tanh, asinh and others",
            "compile.kernel.functions.error_functions": "erf, erfc and the inverse of erf",
            "compile.kernel.functions.angles": "sin, tan, atan2 and others",
            "compile.kernel.functions.powers": "pow, in float64 and rounded once",
            "compile.kernel.functions.gamma": "lgamma and digamma",
            "compile.kernel.functions.integers": "division of 32-bit integers",
            "compile.kernel.functions.halves": "floats of 16 bits, to and from float32",
            "compile.kernel.functions.remainder": "rem of float32, to the bit",
        },
    ),
    Chapter(
        "Kernels checked and run",
        {
            "compile.kernel.check_kernel": "the proof that a kernel stays in its memory",
            "compile.kernel.interpret": "a kernel run in Python",
        },
    ),
    Chapter(
        "Kernels as text",
        {
            "compile.codegen.codegen": "a kernel as OpenCL C",
            "compile.codegen.program": "kernels after the functions that they call",
        },
        {
            "compile.codegen.c_text": "values as C",
            "compile.codegen.index_type": "when indices have 64 bits",
            "compile.kernel.functions.branches": "functions of single numbers compute what is chosen",
            "compile.codegen.c_operations": "one operation as C, also on vectors of sixteen",
            "compile.codegen.helpers": "loads and stores of vectors, and what C has no operator for",
        },
    ),
    Chapter(
        "Fusion",
        {
            "compile.fusion.cost_record": "what an equation takes, counted once for all who ask",
            "compile.fusion.reduction_groups": "what shares a kernel with a reduction",
            "compile.fusion.groups": "what fusion decides",
            "compile.fusion.backward_slice": "what a value is computed from",
            "compile.fusion.fuse": "equations into groups, one kernel each",
        },
        {
            "compile.fusion.cost_model": "the numbers by which fusion decides",
            "compile.fusion.decisions": "what it says of each decision",
        },
    ),
    Chapter(
        "Schedules",
        {
            "compile.schedules.directive": "what rewrites one loop of a kernel",
            "compile.schedules.split": "a loop over chunks, and one within each",
            "compile.schedules.fuse": "nested loops as one",
            "compile.schedules.vectorize": "the iterations of a short loop as lanes of vectors",
            "compile.schedules.parallelize": "a loop shared out among work-items",
            "compile.schedules.schedule": "directives, one after the other",
        },
        {
            "compile.kernel.known": "results that are known without running a kernel",
            "compile.schedules.partition": "a loop cut at the borders",
            "compile.schedules.nests": "the names in a loop nest",
            "compile.schedules.dependences": "whether iterations could run in any order",
            "compile.schedules.lanes": "what differs from lane to lane, and what is no vector",
        },
    ),
    Chapter(
        "Elementwise kernels",
        {
            "compile.kernel.memref": "where a kernel finds a value",
            "compile.kernel.builder": "the statements that compute one element",
            "compile.kernel.loop_nest": "a group as loops over elements, as anyone would write them",
            "compile.schedules.map_schedule": "how elementwise groups are made fast",
        },
        {
            "compile.schedules.reorder": "a loop becomes the one around others; tiles",
            "compile.schedules.unroll_and_jam": "iterations that do not depend on each other, at once",
            "compile.schedules.vector_axes": "which loops become vectors",
        },
    ),
    Chapter(
        "Reductions",
        {
            "compile.schedules.reduction_schedule": "what makes them fast, and why",
        },
        {
            "compile.kernel.reduction_nest": "a reduction as the loops that a student would write",
            "compile.schedules.compute_at": "what two loops compute, computed once",
            "compile.schedules.rfactor": "one sum as several, in pieces or as a tree",
            "compile.schedules.group_schedule": "who adds up what on a GPU",
            "compile.schedules.work_groups": "work-items that share memory, and wait for each other",
            "compile.schedules.hoist": "what is the same in all iterations, once before them",
            "compile.schedules.round_up": "the last tile as large as the others",
        },
    ),
    Chapter(
        "Products, and all groups",
        {
            "compile.schedules.lower": "a group as a kernel",
        },
        {
            "compile.kernel.product_nest": "products as loops, and what follows them",
            "compile.schedules.product_schedule": "how products are made fast",
            "compile.kernel.update_nest": "windows of an array changed in turn, in place where that can be",
            "compile.kernel.order_nest": "cumulative sums, and other results that are computed in order",
        },
    ),
    Chapter(
        "Loops within kernels",
        {
            "compile.schedules.loop_kernels": "which loops run inside a kernel",
        },
        {
            "compile.kernel.loop_bodies": "jaxprs inside a kernel: loops, ifs",
            "compile.kernel.private_arrays": "loops over small arrays inside a kernel",
            "compile.kernel.naive_loop": "a loop as a naive nest",
            "compile.kernel.example_axes": "which loops each example of a batch can run by itself",
            "compile.kernel.example_nest": "the naive nest of such a loop",
            "compile.schedules.loop_schedule": "how loops are made fast: vectors, or one work-item",
            "compile.schedules.stoppable": "how the host ends a loop that runs long",
            "compile.fusion.invariants": "what is the same in all iterations, before the loop",
        },
    ),
    Chapter(
        "The plan",
        {
            "compile.plan": "a jaxpr's groups and kernels, and those of its loops' bodies",
            "compile.memory_plan": "which arrays take over whose memory",
            "compile.cost": "what it costs: arithmetic, bytes",
            "compile.lowered": "all these stages in order, and what each made",
            "compile.explain": "where each line of C comes from",
        },
        {
            "compile.launches": "which kernels are handed to the device together",
            "core.missing_names": "names that are imported when they are asked for",
            "core.shortcuts": "where tinyjax/fast may answer",
            "core.compile_log": "what tracing and compiling report",
        },
    ),
    Chapter(
        "A device",
        {
            "runtime.devices": "what can run a kernel",
            "runtime.memory": "what an array has on a device, and when it is used again",
            "runtime.queue": "programs, launches, waiting",
            "runtime.queues": "the queue of each device",
        },
        {
            "runtime.numpy_queue": "where no kernels run",
            "runtime.errors": "what a device refuses",
            "runtime.programs": "programs, built once for devices that share them",
            "runtime.pocl.declarations": "the functions of OpenCL that kernels call",
            "runtime.build_errors": "what a failed build of a kernel says",
            "runtime.pocl.cache": "the folders that builds write to",
            "runtime.pocl.linker": "what one OpenCL driver needs to build a kernel",
            "runtime.pocl.processor": "a name for processors that it is too old to know",
            "runtime.pocl.threads": "a core for each of its threads",
        },
    ),
    Chapter(
        "A compiled program",
        {
            "runtime.step_program": "the steps of a call",
            "runtime.loops": "loops and branches as steps that run other steps",
            "runtime.step_program_builder": "kernels built, and groups as steps",
            "runtime.executable": "all of it, and the call",
        },
        {
            "runtime.matmul_step": "large products: NumPy's BLAS in the device's memory",
            "runtime.compilation_cache": "compiled programs that outlive the process",
        },
    ),
    Chapter(
        "A call of a compiled jaxpr",
        {"transform.jit.primitive": "what a call of a jitted function is: one equation"},
        {
            "runtime.placement": "on which device an operation runs",
            "core.nan_checks": "what jax_debug_nans looks for",
            "core.key_reuse": "what jax_debug_key_reuse looks for",
        },
    ),
    Chapter(
        "jit",
        {
            "transform.jit.stages": "trace, lower, compile",
            "transform.jit.api": "jit: functions that remember their jaxprs",
            "transform.jvp_of_jaxpr": "the jvp of a jaxpr that is a parameter",
            "transform.batching_of_jaxpr": "vmap of a jaxpr that is a parameter",
            "transform.transposition_of_jaxpr": "a linear jaxpr's transpose",
            "transform.jit.rules": "the jvp, vmap, linearize and transpose rules of jit",
        },
        {
            "transform.partial_eval": "a jaxpr in two: one that runs now, one for later",
            "transform.jit.static_arguments": "arguments that are part of the cache key",
            "transform.jit.cache_misses": "why a jitted function is traced again",
            "transform.jit.wrong_arguments": "what a compiled program says of other arguments than its own",
            "core.trace_memory": "what was traced, by the function",
            "core.argument_names": "the name of each argument, for messages",
            "core.tree_util.key_paths": "the name of a leaf's place",
            "core.tree_util.differences": "where two trees differ, for messages",
        },
    ),
    Chapter(
        "Custom rules",
        {
            "transform.custom.calls": "a function and its rules, as one primitive",
            "transform.custom.forward_rules": "custom_jvp: a custom derivative rule",
            "transform.custom.vjp_call": "custom_vjp's primitives: called forward, transposed backward",
            "transform.custom.reverse_rules": "custom_vjp: one for reverse mode",
        },
    ),
    Chapter(
        "Families of operations",
        {
            "lax.elementwise": "how a family of elementwise primitives is made",
            "lax.selection": "select_n, clamp",
        },
        {
            "core.declared_functions": "functions that are declared: their names, for help() and messages",
            "core.shape_errors": "what goes wrong where a shape is not known",
            "lax.bitwise": "and, or",
            "lax.comparison": "eq, lt",
            "lax.conversion": "convert_element_type",
            "lax.creation": "iota, full",
            "lax.placing": "what out_sharding= means",
        },
    ),
    Chapter(
        "Branches, and loops until a condition fails",
        {
            "core.bodies": "functions within a program as jaxprs",
            "lax.control_flow.bodies": "what a loop's body must give",
            "lax.control_flow.cond": "one of several branches",
            "lax.control_flow.cond_rules": "the jvp, vmap, linearize and transpose rules of cond",
            "lax.control_flow.while_loop": "a loop until a condition fails",
            "lax.control_flow.while_rules": "the jvp, vmap, partial-eval and transpose rules of while",
        },
        {"core.type_promotion": "how mixed dtypes promote"},
    ),
    Chapter(
        "Loops over an axis",
        {
            "lax.control_flow.scan": "a loop over an axis",
            "lax.control_flow.scan_rules": "the jvp, vmap and dead-code rules of scan",
            "lax.control_flow.scan_reverse": "reverse mode: one loop forwards, one backwards",
            "lax.control_flow.fori_loop": "a loop over a range of numbers: as a scan or as a while_loop",
        },
    ),
    Chapter(
        "Many devices",
        {"many_devices.shard_map.nested_vmap": "shard_map as nested vmaps"},
        {
            "many_devices.sharding.partition_spec": "how an array is cut",
            "many_devices.placing": "what a PartitionSpec means as an out_sharding",
        },
    ),
)

STEPS = tuple(step for chapter in CHAPTERS for step in chapter.steps)  # modules to read, in order
