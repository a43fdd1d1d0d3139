from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 11b. From kernel to C
#
# [Lesson 11](11_lowering.py) made a [kernel](glossary.md#kernel) of equations. This one reads that kernel:
# a program in a small language, between the equations and C. After this lesson you can
#
# - read a kernel, and say how many iterations it takes and which elements each one reads;
# - say why a kernel that passes the check can't read beside its memory;
# - step through a kernel in Python, with pdb;
# - point at a line of C, and say which line of Python it is from.
#
# Here are the running example and its kernel once more, made by the four functions that `jit(f).lower(x)`
# calls:

# %%
import inspect

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.codegen.codegen import kernel_text
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import groups_lines, make_plan
from tinyjax.compile.target import CPU, GPU


def f(x):
    return jnp.sin(x) * x


def planned(function, *args):
    """The plan of a function for a CPU: which kernels it becomes. No device is needed for it."""
    return make_plan(simplify(jax.make_jaxpr(function)(*args)), CPU)


(kernel,) = planned(f, 3.0).all_kernels()
print(kernel)

# %% [markdown]
# ## The kernel language
#
# Between the equations and C there is another language, with ten kinds of statements: `Let` computes,
# `Load` reads and `Store` writes an element; `Combine` adds to an accumulator, or multiplies, or takes the
# maximum; `Allocate` makes a small array of one work-item's own (a `PrivateArray`); `For`, `While` and `If`
# have statements inside; `Barrier` and `IfLast` are for work-items that wait for each other (lesson 17).
# A kernel is a piece of data. You can print it, look at its parts, check it, run it.

# %%
from tinyjax.compile.kernel import kernel_ir

load = kernel.body[0]
print("target:", load.target, " memory:", load.memory, " index:", load.index)
print(inspect.getsource(kernel_ir.Load))
print(inspect.getsource(kernel_ir.Store))

# %% [markdown]
# What do "a vector" and `end` mean? Give the kernel a hundred elements:
#
# <details><summary>A hundred elements, sixteen at a time: how many iterations are that, and what does the
# last one do?</summary>
#
# Seven. The last one has four elements left, and says so: before 100.
# </details>

# %%
x = jnp.arange(100.0)
(vector_kernel,) = planned(f, x).all_kernels()
print(vector_kernel)

# %% [markdown]
# Processors can do the same operation on several numbers at once. `x16` is a
# **[vector](glossary.md#vector)**: sixteen neighbours in one variable. So there are 7 iterations for 100
# elements, and the last has only four. `a_in[i1_outer * 16 x16 before 100]` loads sixteen from there
# on, those before the end, 100. In place of the others it takes copies of the first, so that there is
# something to compute with; the store leaves them out.
#
# A GPU would be served badly by that. It runs neighbouring work-items together, so these should have
# neighbouring elements: of n work-items, number 3 has elements 3, 3 + n, 3 + 2 n, and so on. What
# differs between devices stands in one small record, the **[target](glossary.md#target)**. The same
# equations for the other one:

# %%
print(make_plan(simplify(jax.make_jaxpr(f)(x)), GPU).all_kernels()[0])

# %% [markdown]
# ## Proved before it runs
#
# A kernel that reads beside its memory may crash, or worse, give wrong numbers. C does not notice.
# So each kernel is checked before it is built. That is possible because an index knows the range
# of its values:

# %%
from tinyjax.compile.kernel.indices import index, index_var

i = index_var("i", 0, 6)  # a loop variable, from 0 to 6
at = i * 16 + 1
print(at, "is at least", at.lo, "and at most", at.hi)

# %% [markdown]
# If the lowest is not negative, and the highest is within the memory, no access can go wrong, whatever the
# loop does. For a wide one, the highest is that of its last element; with an `end`, it is the last one before
# the end. (The element at the index itself is read in any case, also where the `end` leaves nothing.) Here is
# a kernel with a mistake in it, written by hand:
#
# <details><summary>Here is a kernel that moves eight numbers one place down. Will the check accept
# it?</summary>
#
# No: in its last iteration it would read a ninth.
# </details>

# %%
from tinyjax.compile.kernel.check_kernel import KernelError, check_kernel
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Load, Store, Value

F32 = np.dtype("float32")
x_in, y_out = Buffer("x_in", F32, 8, "in"), Buffer("y_out", F32, 8, "out")
i, a = index_var("i", 0, 7), Value("a", F32)
shift = For(i, index(0), index(8), [Load(a, x_in, i + 1), Store(y_out, i, a)])
mistaken = Kernel("shift", [x_in, y_out], 1, [shift])
print(mistaken)
try:
    check_kernel(mistaken)
except KernelError as error:
    print("KernelError:", error)

# %% [markdown]
# The tests also prove that nothing is read, or left as a result, before it was stored
# ([definite_assignment.py](../tests/definite_assignment.py)): a kernel that forgets one element of its
# result is refused there.
#
# ## Run it in Python
#
# [interpret.py](../tinyjax/compile/kernel/interpret.py) runs a kernel in Python: each loop a Python loop,
# each number a NumPy number. Memory is a list of flat arrays, one for each of the kernel's
# parameters.

# %%
from tinyjax.compile.kernel.interpret import interpret_kernel

memory = [np.arange(100, dtype=np.float32), np.zeros(100, np.float32)]
interpret_kernel(vector_kernel, memory)
print(memory[1][:5])
print(np.sin(memory[0][:5]) * memory[0][:5])

# %% [markdown]
# It is slow, and right; code generation is tested against it without a device. And it is a place to look
# at. `viz.kernel(f, x)` plays it, for a small x: which elements each step loads and stores. To see each
# statement at work, write `import pdb; pdb.runcall(interpret_kernel, kernel, memory)` in place of the
# call. `n` and `s` go on, and `p scope` shows the variables. Here is the same as a program: run one
# statement, look at what it made.

# %%
from tinyjax.compile.kernel import interpret

scope = {"a_in": np.array([3.0], np.float32), "c_out": np.zeros(1, np.float32)}
for statement in kernel.body:
    interpret._run_together([interpret._run([statement], scope, is_last=True)])
    values = {name: round(value.item(), 4) for name, value in scope.items()}
    print(f"{next(kernel_ir.statement_lines(statement)):16}", values)

# %% [markdown]
# ## One statement, one line of C
#
# What is left is to print. For the toy's five statements, that takes a dozen lines (half of exercise 11b.4):

# %%
from practice.naive_nest import naive_nest
from practice.toy_kernel import c_lines

(toy,) = naive_nest([("sin", ("a",), "b"), ("mul", ("b", "a"), "c")], result="c", size=100)
print(*c_lines([toy]), sep="\n")

# %% [markdown]
# And the real one, for a hundred elements (its other half is how it prints loops). `float16` is OpenCL's
# type for sixteen floats, and what is done to it is done to all of them:

# %%
print(kernel_text(vector_kernel))

# %% [markdown]
# ## Who wrote this line?
#
# Each statement remembers the equation that it was made for, and each equation the line of Python
# where its primitive was bound. Nothing that the compiler does loses that. So any line of C can be
# traced back, also after `grad` and `vmap`:

# %%
from tinyjax.compile.explain import explain_lines

gradient = jax.make_jaxpr(jax.vmap(jax.grad(f)))(jnp.arange(3.0))
for line in explain_lines(make_plan(simplify(gradient), CPU), width=44):
    print(line[5:])  # before it stands the line's number in the program

# %% [markdown]
# All of it is from one line of Python: the forward pass, and the backward pass that nobody wrote.
# The shell shows this for any function, with times, on a page where each line lights up related ones in
# all stages:
#
# ```sh
# python -m tinyjax explain tutorials/wave.py:f --args "jnp.arange(100.0)" --transform grad,vmap
# ```
#
# ## What is no kernel
#
# To sort, one needs all elements before one can place the first. A kernel can do that too, as it does
# within a loop, but NumPy sorts faster. So `sort` is a host step, and only `sort`: what comes before
# and after is compiled.
#
# <details><summary>How many kernels, and how many steps of the host, will <code>sort(f(x)) * 2</code>
# be?</summary>
#
# A kernel for `f`, a host step for the sort, a kernel for the product.
# </details>

# %%
print(*groups_lines(planned(lambda x: jnp.sort(f(x)) * 2.0, x)), sep="\n")

# %% [markdown]
# ## On the device
#
# `compile` hands the text to the OpenCL driver, which makes machine code of it. The result must be
# that of NumPy, up to the rounding of `sin`: no two libraries agree on the last bit of it.

# %%
compiled = jax.jit(f).lower(x).compile()
difference = np.abs(compiled(x) - f(x)).max()
print("largest difference is small:", difference < 1e-5)

# %% [markdown]
# ## Where tinyjax differs from JAX
#
# JAX hands StableHLO to XLA, which makes LLVM's intermediate language of it, or Triton's, in C++. There too a
# loop nest is written from the elements of its result. JAX's language for kernels that you write yourself, in
# Python, is Pallas ([lesson 19](19_kernels.py)).
#
# ## The picture
#
# The program with the sort. A frame is a step: a kernel, or the host. A thick arrow is an array in
# memory, a thin one never leaves registers.

# %%
from tinyjax import viz

cpu = jax.devices("cpu")[0]
viz.kernels(jax.jit(lambda x: jnp.sort(f(x)) * 2.0).lower(jax.device_put(x, cpu)))

# %% [markdown]
# ## Summary
#
# - A kernel is a piece of data, in a language of ten statements: print it, look at its parts, run it in
#   Python.
# - An index knows its lowest and highest value, so a kernel is proved to stay in its memory before it runs.
# - A statement is a line of C, and knows the equation, and so the line of Python, that it is from.
#
# ## Do you know?
#
# <details><summary>A kernel of 100 elements has vectors of 16. What does its last iteration do with the
# twelve places beyond the end?</summary>
#
# It loads copies of its first element into them, computes with these too, and stores none of them.
# </details>
#
# <details><summary>The check looks at an index, not at what the loop does with it. Why does that
# suffice?</summary>
#
# An index knows the lowest and the highest value that it can have. If both are within the memory, so are all
# in between.
# </details>
#
# <details><summary>Why is the backward pass of <code>grad</code> traced back to your own line?</summary>
#
# Each equation keeps the line where its primitive was bound, through `grad` and `vmap`, and each statement of
# a kernel keeps its equation.
# </details>
#
# ## Exercises
#
# `python -m tinyjax learn start 11b` makes a folder in which these functions are empty, for you to
# write again.
#
# ## Where this lives in JAX
#
# - `jax/_src/compiler.py`: where StableHLO is handed to XLA
# - XLA itself: `xla/service/cpu/` and `xla/service/gpu/`
# - `jax/_src/pallas/`: kernels that one writes oneself, in a kernel language for Python
