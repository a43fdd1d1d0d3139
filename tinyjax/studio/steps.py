"""The order to read tinyjax in: each step needs only those before it.

A step is one mechanism, in one file that reads from top to bottom. All other modules are breadth:
more primitives, more functions, tools. They register into the steps' rule tables, and no step imports
them; tests/test_steps.py reads the imports and fails on an edge that points back.
"""

STEPS = (
    "other_flags",  # switches of JAX's that change nothing here
    "config",  # the switches
    "shortcuts",  # where tinyjax/fast may answer
    "compile_log",  # what tracing and compiling report
    "dtypes",  # which dtypes there are, and how they promote
    "linker",  # what one OpenCL driver needs to build a kernel
    "devices",  # what can run a kernel
    "array",  # avals and values
    "errors",  # what goes wrong with tracers
    "core",  # bind and traces: eager evaluation
    "primitives",  # the first ten, and what a primitive needs
    "tree_util.pytrees",  # nested containers as flat lists
    "tree_util.key_paths",  # the name of a leaf's place
    "tree_util.registration",  # classes as containers, and functions that hold arrays
    "tree_util.prefixes",  # one value for a whole subtree, as in in_axes
    "api_util",  # arguments in and out as flat lists
    "lists",  # lists in parts, and put together again
    "jaxpr",  # programs as lists of equations
    "inlining",  # calls replaced by the equations of what they call
    "pretty_printer",  # a jaxpr as text
    "interpreters.tracing",  # make_jaxpr: from a Python function to a jaxpr
    "interpreters.jvp",  # forward mode
    "interpreters.jvp_of_jaxpr",  # the same for a jaxpr that is a parameter
    "interpreters.batching",  # vmap
    "interpreters.partial_eval",  # linearize: known now, unknown later
    "interpreters.transposition",  # a linear jaxpr run backwards
    "interpreters.vjp",  # reverse mode: grad
    "opencl.indices",  # positions in memory, which know their range
    "opencl.kernel_ir",  # the small loop language that kernels are written in
    "opencl.stored",  # where the stores of a loop nest go
    "opencl.check_assignment",  # the proof that nothing is read before it is written
    "opencl.check_kernel",  # the proof that a kernel stays in its memory
    "opencl.scalar_ops",  # its operations on single numbers
    "opencl.interpret",  # a kernel run in Python
    "opencl.c_angles",  # sin, tan, atan2 and others in C, made for vector instructions
    "opencl.c_hyperbolic",  # sinh, tanh, asinh and others
    "opencl.c_double",  # pow and the gamma function, in float64 and rounded once
    "opencl.c_library",  # exp, log, erf and others, and a table of them all
    "opencl.c_halves",  # floats of 16 bits, to and from float32
    "opencl.c_integers",  # division of 32-bit integers
    "opencl.c_text",  # one operation as C
    "opencl.wide_text",  # the same on sixteen elements side by side
    "opencl.codegen",  # a kernel as OpenCL C
    "opencl.rules",  # how each primitive lowers
    "opencl.cost_model",  # what fusion takes a kernel to cost
    "opencl.algebra",  # the rules by which equations become simpler
    "opencl.products",  # products of matrices, and transpositions around them
    "opencl.simplify",  # a jaxpr without calls, repetitions and dead code
    "opencl.key_words",  # random keys as pairs of integers
    "opencl.reduction_groups",  # what shares a kernel with a reduction
    "opencl.groups",  # what fusion decides
    "opencl.reach",  # what a value is computed from
    "opencl.fuse",  # equations into groups, one kernel each
    "opencl.side_by_side",  # where the neighbours of an element are
    "opencl.builder",  # the statements that compute one element
    "opencl.group_builder",  # a kernel's memory, and its work shared out
    "opencl.reductions",  # what kernels that combine many elements have in common
    "opencl.interleave",  # rounds that do not depend on each other, side by side
    "opencl.row_kernels",  # softmax: sweeps over each row
    "opencl.column_kernels",  # sums of columns
    "opencl.shared_reductions",  # one sum that all work-items share
    "opencl.reduction_kernels",  # one of the three
    "opencl.product_kernels",  # kernels of products, in blocks
    "opencl.lower",  # a group as a kernel
    "opencl.private_arrays",  # loops over small arrays inside a kernel
    "opencl.loop_bodies",  # jaxprs inside a kernel: loops, ifs
    "opencl.per_element",  # loops that each element can run by itself
    "opencl.weight_layout",  # matrices that a loop reads along their columns
    "opencl.loop_operands",  # what a loop computes before its first round
    "opencl.loop_work",  # what fits into one work-item, and into one launch
    "opencl.loop_frame",  # the rounds of one launch, and how the next goes on
    "opencl.element_loops",  # kernels in which each element runs its loop
    "opencl.one_work_item",  # kernels in which one work-item does it all
    "opencl.loop_kernels",  # which loops run inside a kernel
    "opencl.plan",  # a jaxpr's groups and kernels, and those of its loops' bodies
    "opencl.memory_plan",  # which arrays take over whose memory
    "opencl.explain",  # where each line of C comes from
    "opencl.cost",  # what it costs: arithmetic, bytes
    "opencl.launches",  # what is handed to the device
    "opencl.lowered",  # all these stages in order, and what each made
    "opencl.memory",  # what an array has on a device, and when it is used again
    "opencl.device_errors",  # what a device refuses
    "opencl.declarations",  # the functions of OpenCL that kernels call
    "opencl.device_queue",  # programs, launches, waiting
    "opencl.compilation_cache",  # compiled programs that outlive the process
    "opencl.runtime",  # the queue of each device
    "opencl.schedule",  # the steps of a call
    "opencl.matmul_step",  # large products: NumPy's BLAS in the device's memory
    "opencl.loops",  # loops and branches as steps that run other steps
    "opencl.step_maker",  # kernels built, and groups as steps
    "opencl.compile",  # all of it, and the call
    "stages",  # trace, lower, compile
    "interpreters.jit_primitive",  # what a call of a jitted function is: one equation
    "interpreters.cache_misses",  # why a jitted function is traced again
    "interpreters.jit",  # jit: functions that remember their jaxprs, and the front door
    "interpreters.jit_rules",  # the same in the other transformations
    "interpreters.pmap_primitive",  # one program on many devices, cut at its collectives
    "interpreters.pmap",  # the front door to it
    "interpreters.pmap_rules",  # the same in the other transformations
    "custom_derivatives.calls",  # a function and its rules, as one primitive
    "custom_derivatives.forward_rules",  # custom_jvp: a derivative rule of one's own
    "custom_derivatives.vjp_call",  # custom_vjp's primitives: called forward, transposed backward
    "custom_derivatives.reverse_rules",  # custom_vjp: one for reverse mode
    "lax.elementwise",  # how an elementwise family is made; the operations that rules speak:
    "lax.bitwise",  # and, or
    "lax.comparison",  # eq, lt
    "lax.conversion",  # convert_element_type
    "lax.creation",  # iota, full
    "lax.selection",  # select_n, clamp
    "control_flow.bodies",  # branches and loop bodies as jaxprs
    "control_flow.cond",  # one of several branches
    "control_flow.cond_rules",  # the same in the other transformations
    "control_flow.while_loop",  # a loop until a condition fails
    "control_flow.while_rules",  # the same in the other transformations
    "control_flow.while_lowering",  # a batch of loops in a compiled schedule
    "control_flow.scan",  # a loop over an axis
    "control_flow.scan_rules",  # the same in forward mode and under vmap
    "control_flow.scan_reverse",  # the same in reverse mode: one loop forwards, one backwards
    "control_flow.fori_loop",  # a loop over a range of numbers: one or the other
)
