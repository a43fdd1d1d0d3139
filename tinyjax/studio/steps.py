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
            "core.avals": "values and their avals",
            "core.primitives": "the first ten primitives, and the rules that one needs",
        },
        {
            "core.dtypes": "the dtypes",
            "core.small_dtypes": "dtypes that NumPy lacks: bfloat16, float8, int4",
            "core.errors": "the errors of tracers",
            "core.config": "the flags",
            "core.quiet": "NumPy without its warnings",
            "core.facts": "the facts of a primitive: its cost, whether it is linear, ...",
        },
    ),
    Chapter(
        "Containers",
        {
            "core.tree_util.pytrees": "nested containers as flat lists",
            "core.api_util": "arguments in and out as flat lists",
            "core.lists": "splitting lists, and merging them again",
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
            "core.structs": "ShapeDtypeStruct: the type of an array, without the array",
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
        {"transform.mapped_axes": "in_axes: the mapped axis of each argument"},
    ),
    Chapter(
        "Reverse mode",
        {
            "transform.linearize": "linearize: the result now, a linear jaxpr for later",
            "transform.transposition": "a linear jaxpr run backwards",
            "transform.vjp": "vjp and grad",
        },
        {
            "core.tree_util.partial": "functions that hold arrays, as pytrees",
        },
    ),
    Chapter(
        "A jaxpr as text",
        {"core.pretty_printer": "pretty printing: documents, and where their lines break"},
    ),
    Chapter(
        "From jaxpr to jaxpr",
        {
            "core.inlining": "inlining of calls within a jaxpr",
            "compile.passes.rewrite_rules": "rewrite rules",
            "compile.passes.cse": "common subexpression elimination",
            "compile.passes.loops": "loops and branches in one form",
            "compile.passes.pipeline": "all passes in their order",
        },
        {
            "core.runtime_errors": "the errors of a compiled program",
            "compile.record": "a record of each pass's changes, and why",
            "compile.passes.inline": "the inlining pass",
            "compile.passes.fold": "constant folding",
            "compile.passes.patterns": "the walk through equations, and the patterns of rules",
            "compile.passes.dce": "dead code elimination",
            "compile.passes.expand": "small matrices, products in scans and others, in simpler equations",
            "compile.passes.products": "the axes of a product of matrices",
            "compile.passes.late_rules": "rules that may round otherwise",
            "compile.passes.lower_prng_keys": "random keys as pairs of integers",
            "compile.passes.bodies": "the bodies of loops and branches, simplified too",
        },
    ),
    Chapter(
        "The language of kernels",
        {
            "compile.kernel.indices": "positions in memory, which know their range",
            "compile.kernel.kernel_ir": "the small loop language that kernels are written in",
            "compile.kernel.substitution": "statements with other names and indices",
        },
    ),
    Chapter(
        "Functions that kernels call",
        {
            "compile.kernel.functions.table": "the table of operations that are such functions",
        },
        {
            "compile.kernel.scalar_ops": "the operations on single numbers",
            "compile.kernel.functions.kernel_function": "functions that kernels call, also of vectors",
            "compile.kernel.writer": "how operations are written",
            "compile.kernel.functions.notation": "functions of the kernel language, as definitions in Python",
            "compile.kernel.functions.exponentials": "exp, log, pow, tanh and others",
            "compile.kernel.functions.special": "erf, lgamma, digamma and others",
            "compile.kernel.functions.angles": "sin, tan, atan2 and others",
            "compile.kernel.functions.powers": "powers of float64",
            "compile.kernel.functions.division": "division of 32-bit integers, and rem of float32",
            "compile.kernel.functions.halves": "floats of 16 bits, to and from float32",
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
            "compile.codegen.index_type": "the width of indices: 32 or 64 bits",
            "compile.codegen.c_operations": "one operation as C, also on vectors of sixteen",
            "compile.codegen.helpers": "helper functions in C: loads and stores of vectors, ...",
        },
    ),
    Chapter(
        "Lowering rules",
        {
            "compile.kernel.rules": "the table of lowering rules, and those of the first primitives",
        },
        {
            "compile.kernel.complex_pairs": "complex numbers as pairs of floats",
        },
    ),
    Chapter(
        "Fusion",
        {
            "compile.fusion.cost_record": "the cost of each equation",
            "compile.fusion.reduction_groups": "equations that share a kernel with a reduction",
            "compile.fusion.groups": "the result of fusion: groups of equations",
            "compile.fusion.backward_slice": "the equations that a value is computed from",
            "compile.fusion.fuse": "equations into groups, one kernel each",
        },
        {
            "compile.target": "what differs between devices",
            "compile.fusion.cost_model": "the cost model of fusion",
            "compile.fusion.decisions": "the reasons of each decision",
            "compile.kernel.known": "results that are known at compile time",
        },
    ),
    Chapter(
        "Schedules",
        {
            "compile.schedules.directive": "the base class of directives, each of which rewrites one loop",
            "compile.schedules.split": "a loop over chunks, and one within each",
            "compile.schedules.fuse": "nested loops as one",
            "compile.schedules.vectorize": "the iterations of a short loop as lanes of vectors",
            "compile.schedules.parallelize": "a loop's iterations distributed over work-items",
            "compile.schedules.schedule": "directives, one after the other",
        },
        {
            "compile.schedules.nests": "the names in a loop nest",
            "compile.schedules.dependences": "loop-carried dependences",
            "compile.schedules.lanes": "values that vary from lane to lane, and uniform ones",
        },
    ),
    Chapter(
        "Elementwise kernels",
        {
            "compile.kernel.memref": "a value's place in memory",
            "compile.kernel.builder": "the statements that compute one element",
            "compile.kernel.loop_nest": "a group as loops over elements, as anyone would write them",
            "compile.schedules.map_schedule": "the schedule of elementwise groups",
        },
        {
            "compile.schedules.reorder": "a loop becomes the one around others; tiles",
            "compile.schedules.unroll_and_jam": "iterations that do not depend on each other, at once",
            "compile.schedules.partition": "a loop cut at borders, and after its last whole vector",
            "compile.schedules.chooser": "the decisions of all schedules: fuse, lanes, borders, work-items",
        },
    ),
    Chapter(
        "Reductions",
        {
            "compile.schedules.reduction_schedule": "the schedule of reductions",
        },
        {
            "compile.kernel.reduction_nest": "a reduction as the loops that a student would write",
            "compile.schedules.rfactor": "one sum as several, in pieces or as a tree",
            "compile.schedules.work_groups": "work-items that share memory, and wait for each other",
        },
    ),
    Chapter(
        "Products, and all groups",
        {
            "compile.schedules.lower": "a group as a kernel",
        },
        {
            "compile.kernel.product_nest": "products as loops, with the equations that follow",
            "compile.schedules.hoist": "loop-invariant code motion",
            "compile.schedules.product_schedule": "the schedule of products",
            "compile.kernel.update_nest": "windows of an array changed in turn, in place where that can be",
            "compile.kernel.order_nest": "cumulative sums, and other results that are computed in order",
        },
    ),
    Chapter(
        "Loops within kernels",
        {
            "compile.schedules.loop_kernels": "loops and branches as one kernel",
        },
        {
            "compile.kernel.loop_bodies": "jaxprs inside a kernel: loops, ifs",
            "compile.kernel.private_arrays": "loops over small arrays inside a kernel",
            "compile.kernel.naive_loop": "a loop as a naive nest",
            "compile.kernel.example_axes": "batched loops that each example can run alone",
        },
    ),
    Chapter(
        "The plan",
        {
            "compile.plan": "a jaxpr's groups and kernels, and those of its loops' bodies",
            "compile.memory_plan": "the memory plan: which arrays reuse whose memory",
            "compile.cost": "the cost of a program: arithmetic, bytes",
            "compile.lowered": "all these stages in order, and the result of each",
            "compile.explain": "the origin of each line of C",
        },
        {
            "compile.launches": "kernels that are launched together",
            "core.missing_names": "names that are imported on first use",
            "core.shortcuts": "hooks for the shortcuts of tinyjax/fast",
            "core.compile_log": "log messages of tracing and compiling",
        },
    ),
    Chapter(
        "A device",
        {
            "runtime.devices": "OpenCL's devices",
            "runtime.memory": "buffers on a device, and their reuse",
            "runtime.queue": "programs, launches, waiting",
            "runtime.queues": "the queue of each device",
        },
        {
            "runtime.numpy_queue": "the queue of a device without kernels",
            "runtime.errors": "the errors of a device",
            "runtime.programs": "programs, built once for devices that share them",
            "runtime.pocl.declarations": "the functions of OpenCL that kernels call",
            "runtime.build_errors": "the message of a failed build",
            "runtime.pocl.cache": "the folders that builds write to",
            "runtime.pocl.linker": "the linker for PoCL's kernels",
            "runtime.pocl.processor": "a name for processors newer than PoCL",
            "runtime.pocl.threads": "a core for each of its threads",
        },
    ),
    Chapter(
        "A compiled program",
        {
            "runtime.step_program": "the steps of a call",
            "runtime.loops": "loops and branches as steps that run other steps",
            "runtime.step_program_builder": "kernels built, and groups as steps",
            "runtime.executable": "from a jaxpr to a compiled program, and its call",
        },
        {
            "runtime.matmul_step": "large products: NumPy's BLAS in the device's memory",
            "runtime.compilation_cache": "compiled programs that outlive the process",
        },
    ),
    Chapter(
        "A call of a compiled jaxpr",
        {"transform.jit.primitive": "a call of a jitted function: one equation"},
        {
            "runtime.placement": "the device of an operation",
            "core.nan_checks": "jax_debug_nans: which operation made the NaN",
            "core.key_reuse": "jax_debug_key_reuse: keys that are used twice",
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
            "transform.jit.wrong_arguments": "errors of a compiled program, called with other types",
            "core.trace_memory": "a cache of traces, by function",
            "core.argument_names": "the name of each argument, for messages",
            "core.tree_util.key_paths": "key paths: the names of leaves",
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
            "lax.elementwise": "makers of elementwise primitives",
            "lax.selection": "select_n, clamp",
        },
        {
            "core.declared_functions": "functions that are declared: their names, for help() and messages",
            "core.shape_errors": "errors where a shape is not known",
            "lax.bitwise": "and, or",
            "lax.comparison": "eq, lt",
            "lax.conversion": "convert_element_type",
            "lax.creation": "iota, full",
            "lax.placing": "the argument out_sharding=",
        },
    ),
    Chapter(
        "Branches, and loops until a condition fails",
        {
            "core.bodies": "functions within a program as jaxprs",
            "lax.control_flow.bodies": "checks of a loop's body, and its fixed points",
            "lax.control_flow.cond": "one of several branches",
            "lax.control_flow.cond_rules": "the jvp, vmap, linearize and transpose rules of cond",
            "lax.control_flow.while_loop": "a loop until a condition fails",
            "lax.control_flow.while_rules": "the jvp, vmap, partial-eval and transpose rules of while",
        },
        {"core.type_promotion": "the promotion of mixed dtypes"},
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
            "many_devices.sharding.partition_spec": "PartitionSpec: how an array is split",
            "many_devices.placing": "a PartitionSpec as an out_sharding",
        },
    ),
)

STEPS = tuple(step for chapter in CHAPTERS for step in chapter.steps)  # modules to read, in order
