"""The order to read tinyjax in: each step needs only those before it.

A step is one mechanism, in one file that reads from top to bottom. All other modules are breadth:
more primitives, more functions, tools. They register into the steps' rule tables, and no step imports
them; tests/studio/test_steps.py reads the imports and fails on an edge that points back.
"""

STEPS = (
    "core.config",  # the switches
    "core.shortcuts",  # where tinyjax/fast may answer
    "core.dtypes",  # which dtypes there are, and how they promote
    "core.array",  # avals and values
    "core.errors",  # what goes wrong with tracers
    "core.bind",  # bind and traces: eager evaluation
    "core.primitives",  # the first ten, and what a primitive needs
    "core.tree_util.pytrees",  # nested containers as flat lists
    "core.tree_util.key_paths",  # the name of a leaf's place
    "core.tree_util.registration",  # classes as containers, and functions that hold arrays
    "core.tree_util.prefixes",  # one value for a whole subtree, as in in_axes
    "core.api_util",  # arguments in and out as flat lists
    "core.lists",  # lists in parts, and put together again
    "core.jaxpr",  # programs as lists of equations
    "core.inlining",  # calls replaced by the equations of what they call
    "core.pretty_printer",  # a jaxpr as text
    "core.tracing",  # make_jaxpr: from a Python function to a jaxpr
    "transform.jvp",  # forward mode
    "transform.jvp_of_jaxpr",  # the same for a jaxpr that is a parameter
    "transform.mapped_axes",  # which axes vmap maps, and how large they are
    "transform.batching",  # vmap
    "transform.batching_of_jaxpr",  # the same for a jaxpr that is a parameter
    "transform.partial_eval",  # linearize: known now, unknown later
    "transform.transposition",  # a linear jaxpr run backwards
    "transform.vjp",  # reverse mode: grad
    "compile.kernel.indices",  # positions in memory, which know their range
    "compile.kernel.kernel_ir",  # the small loop language that kernels are written in
    "compile.kernel.stored",  # where the stores of a loop nest go
    "compile.kernel.check_assignment",  # the proof that nothing is read before it is written
    "compile.kernel.check_kernel",  # the proof that a kernel stays in its memory
    "compile.kernel.scalar_ops",  # its operations on single numbers
    "compile.kernel.interpret",  # a kernel run in Python
    "compile.codegen.c_angles",  # sin, tan, atan2 and others in C, made for vector instructions
    "compile.codegen.c_hyperbolic",  # sinh, tanh, asinh and others
    "compile.codegen.c_double",  # pow and the gamma function, in float64 and rounded once
    "compile.codegen.c_library",  # exp, log, erf and others, and a table of them all
    "compile.codegen.c_halves",  # floats of 16 bits, to and from float32
    "compile.codegen.c_integers",  # division of 32-bit integers
    "compile.codegen.c_text",  # one operation as C
    "compile.codegen.vector_codegen",  # the same on vectors of sixteen elements
    "compile.codegen.codegen",  # a kernel as OpenCL C
    "compile.kernel.rules",  # how each primitive lowers
    "compile.fusion.cost_model",  # what fusion takes a kernel to cost
    "compile.passes.rewrite_rules",  # the rules by which equations become simpler
    "compile.passes.products",  # products of matrices, and transpositions around them
    "compile.passes.simplify",  # a jaxpr without calls, repetitions and dead code
    "compile.passes.lower_prng_keys",  # random keys as pairs of integers
    "compile.fusion.reduction_groups",  # what shares a kernel with a reduction
    "compile.fusion.groups",  # what fusion decides
    "compile.fusion.backward_slice",  # what a value is computed from
    "compile.fusion.fuse",  # equations into groups, one kernel each
    "compile.schedules.vectorize",  # where the neighbours of an element are
    "compile.schedules.builder",  # the statements that compute one element
    "compile.schedules.group_builder",  # a kernel's memory, and its work shared out
    "compile.schedules.reductions",  # what kernels that combine many elements have in common
    "compile.schedules.unroll_and_jam",  # independent iterations together
    "compile.schedules.row_kernels",  # softmax: sweeps over each row
    "compile.schedules.column_kernels",  # sums of columns
    "compile.schedules.split_reduction",  # one sum that all work-items share
    "compile.schedules.reduction_kernels",  # one of the three
    "compile.schedules.product_kernels",  # kernels of products, in blocks
    "compile.schedules.lower",  # a group as a kernel
    "compile.schedules.private_arrays",  # loops over small arrays inside a kernel
    "compile.schedules.loop_bodies",  # jaxprs inside a kernel: loops, ifs
    "compile.schedules.scalarize",  # loops that each element can run by itself
    "compile.schedules.layout_transform",  # matrices that a loop reads along their columns
    "compile.schedules.loop_invariants",  # what a loop computes before its first round
    "compile.schedules.loop_cost",  # what fits into one work-item, and into one launch
    "compile.schedules.resumable_loop",  # the rounds of one launch, and how the next goes on
    "compile.schedules.elementwise_loop",  # kernels in which each element runs its loop
    "compile.schedules.sequential_loop",  # kernels in which one work-item does it all
    "compile.schedules.loop_kernels",  # which loops run inside a kernel
    "compile.plan",  # a jaxpr's groups and kernels, and those of its loops' bodies
    "compile.memory_plan",  # which arrays take over whose memory
    "compile.explain",  # where each line of C comes from
    "compile.cost",  # what it costs: arithmetic, bytes
    "core.compile_log",  # what tracing and compiling report
    "runtime.pocl.linker",  # what one OpenCL driver needs to build a kernel
    "runtime.devices",  # what can run a kernel
    "runtime.placement",  # which device an array is on
    "compile.launches",  # what is handed to the device
    "compile.lowered",  # all these stages in order, and what each made
    "runtime.memory",  # what an array has on a device, and when it is used again
    "runtime.errors",  # what a device refuses
    "runtime.pocl.declarations",  # the functions of OpenCL that kernels call
    "runtime.queue",  # programs, launches, waiting
    "runtime.compilation_cache",  # compiled programs that outlive the process
    "runtime.queues",  # the queue of each device
    "runtime.schedule",  # the steps of a call
    "runtime.matmul_step",  # large products: NumPy's BLAS in the device's memory
    "runtime.loops",  # loops and branches as steps that run other steps
    "runtime.schedule_builder",  # kernels built, and groups as steps
    "runtime.executable",  # all of it, and the call
    "core.nan_checks",  # where a NaN is made
    "transform.jit.stages",  # trace, lower, compile
    "transform.jit.primitive",  # what a call of a jitted function is: one equation
    "transform.jit.cache_misses",  # why a jitted function is traced again
    "transform.jit.api",  # jit: functions that remember their jaxprs, and the front door
    "transform.jit.rules",  # the same in the other transformations
    "transform.pmap.primitive",  # one program on many devices, cut at its collectives
    "transform.pmap.api",  # the front door to it
    "transform.pmap.rules",  # the same in the other transformations
    "transform.custom.calls",  # a function and its rules, as one primitive
    "transform.custom.forward_rules",  # custom_jvp: a derivative rule of one's own
    "transform.custom.vjp_call",  # custom_vjp's primitives: called forward, transposed backward
    "transform.custom.reverse_rules",  # custom_vjp: one for reverse mode
    "lax.elementwise",  # how an elementwise family is made; the operations that rules speak:
    "lax.bitwise",  # and, or
    "lax.comparison",  # eq, lt
    "lax.conversion",  # convert_element_type
    "lax.creation",  # iota, full
    "lax.selection",  # select_n, clamp
    "core.bodies",  # functions within a program as jaxprs
    "lax.control_flow.bodies",  # what a loop's body must give
    "lax.control_flow.cond",  # one of several branches
    "lax.control_flow.cond_rules",  # the same in the other transformations
    "lax.control_flow.while_loop",  # a loop until a condition fails
    "lax.control_flow.while_rules",  # the same in the other transformations
    "lax.control_flow.while_lowering",  # a batch of loops in a compiled schedule
    "lax.control_flow.scan",  # a loop over an axis
    "lax.control_flow.scan_rules",  # the same in forward mode and under vmap
    "lax.control_flow.scan_reverse",  # the same in reverse mode: one loop forwards, one backwards
    "lax.control_flow.fori_loop",  # a loop over a range of numbers: one or the other
)
