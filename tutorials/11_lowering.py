from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 11. Lowering to OpenCL C
#
# [`jit`](10_jit.py) has a [jaxpr](glossary.md#jaxpr). Now it must become a program that a device
# can run: that is **[lowering](glossary.md#lowering)**. In JAX, this is where Python ends and C++
# begins. Here it goes on in Python, stage by stage, and each stage has a result that you can print.
# After this lesson you can
#
# - name the stages between a jaxpr and a device, and print what each one made;
# - say what simplification may change, and why it must leave `x + 0.0` alone;
# - predict a kernel from the equations;
# - step through a kernel in Python, with pdb;
# - point at a line of C, and say which line of Python it is from.

# %%
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.codegen.codegen import CPU, GPU, kernel_text
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import groups_lines, make_plan


def f(x):
    return jnp.sin(x) * x


# %% [markdown]
# ## The whole way, once
#
# **[OpenCL](glossary.md#opencl)** is a dialect of C for processors of many kinds. The part of a
# program that runs on the device is called a **[kernel](glossary.md#kernel)**: a C function that
# gets some memory, and is run many times in parallel. Each run is a
# **[work-item](glossary.md#work-item)**, and knows its number. Here is the way to a kernel for the
# running example, by the four functions that `jit(f).lower(x)` calls:

# %%
closed = jax.make_jaxpr(jax.jit(f))(3.0)  # 1. trace
print(closed)

# %%
closed = simplify(closed)  # 2. simplify: calls in line, nothing twice, nothing needless
print(closed)

# %%
plan = make_plan(closed, CPU)  # 3. plan: what is computed together (fusion), and a kernel for it
print(*groups_lines(plan), "", *plan.all_kernels(), sep="\n")

# %%
(kernel,) = plan.all_kernels()
print(kernel_text(kernel))  # 4. generate code

# %% [markdown]
# Read the last two side by side. The kernel is a list of statements: load an element, two
# operations, store the result. The C has one line for each. `tj_sin` is a sine that comes with
# tinyjax, in C, and is put before the kernel. The rest of this lesson goes through the stages one
# by one. Only fusion has to wait: it has the [next lesson](12_fusion.py) to itself.
#
# ## C for readers of Python
#
# This and two later lessons read kernels, and only this much of **[C](glossary.md#c)**:
#
# | in C | what it says |
# |---|---|
# | `const float b = c * a;` | `b` is a float of 32 bits and stays what it is (`const`); `;` ends it |
# | `int i; float4 v;` | a name has one type: an integer of 32 bits; a vector of four floats |
# | `{ ... }` | what Python says by indentation; line breaks and spaces mean nothing |
# | `float *x` | a *pointer*: where in memory some floats begin. `x[3]` is the fourth, `x + 3` points to it |
# | `x[100]` | how many there are is not known: beyond the end is something else, and nothing warns |
# | `void k(...)` | a function that returns nothing: a kernel writes to where its pointers point |
# | `for (int i = 0; i < 7; ++i) {` | `for i in range(7):` (start; go on while; after each round) |
# | `for (;;) { ... break; }` | `while True:` until `break` |
# | `c ? x : y` | `x if c else y`. `&&`, `!` are `and`, `not` |
# | `7 / 2`, `(float)7` | 3, as integers divided give an integer; 7.0, another type |
# | `__kernel`, `__global` | OpenCL's: a function that can be launched; a pointer into the device's memory |
# | `restrict` | a promise that no other pointer leads there: what was read stays so, and may be kept |
#
# What is kept is kept in a *register*: one of a few dozen places within the processor that hold a number or a
# vector, and are read at once, where memory takes up to a hundred times as long. The C compiler chooses.
#
# ## Simplification changes no bit
#
# `simplify` takes a jaxpr and gives a jaxpr. This is
# **[simplification](glossary.md#simplification)**. It is a row of *passes*, each a file of
# [passes/](../tinyjax/compile/passes) and each from jaxpr to jaxpr, too. They put the equations of
# called functions in place of the calls, compute nothing twice, compute now what is made of
# constants, and drop what is unused. [pipeline.py](../tinyjax/compile/passes/pipeline.py) says
# in which order. The gradient of the running example has a lot of that:
#
# <details><summary>The gradient of a jitted <code>f</code> is two calls, of seven equations together. How
# many will be left?</summary>
#
# Four, and no call: a sine, a cosine, a product, a sum.
# </details>

# %%
gradient = jax.make_jaxpr(jax.grad(jax.jit(f)))(3.0)
print("before:", gradient, "", "after:", simplify(gradient), sep="\n")

# %% [markdown]
# Two calls with seven equations have become four equations. The first pass did most of that: what a call
# computes replaces it (`inline_calls`, exercise 11.1). The value itself, which nobody asked
# for, is gone, and so are two multiplications by 1.0. [Rules](glossary.md#rewrite-rule) do it, each a line
# of a table in [rewrite_rules.py](../tinyjax/compile/passes/rewrite_rules.py). Some of them, with the
# kinds of numbers that they hold for (integers, unsigned integers, floats), and the reason why no
# bit of any result is another:
#
# <details><summary><code>x + 0 = x</code>, <code>x * 0 = 0</code>, <code>x - x = 0</code>: which of these
# may a compiler use for floats, if no bit is to change?</summary>
#
# None. For floats (`f`) there are `x + -0.0`, `x - 0`, and products with 1 and -1.
# </details>

# %%
from tinyjax.compile.passes import rewrite_rules

for line in rewrite_rules.ARITHMETIC.splitlines():
    if line.split()[:1] in (["add"], ["sub"], ["mul"]):
        print(line)

# %% [markdown]
# Which of them have applied here? Each pass can be recorded: what it looked at, what it made of that, and
# why; and the lines of the jaxpr before (`-`) and after (`+`) that differ:

# %%
passes = jax.jit(jax.grad(jax.jit(f))).lower(3.0).passes
print(next(record for record in passes if record.name == "rewrite_rules"))

# %% [markdown]
# Look for what is missing. `x + 0 = x` holds for integers, and for floats only with `-0.0`. A rule
# must give the very bits that the equation gives, for each number there is. Floats have two zeros,
# an infinity and `nan`, and many laws of school do not hold for them:

# %%
x = np.float32(-0.0)
infinity = np.float32(np.inf)
with np.errstate(invalid="ignore"):
    print("x + 0.0 is not x:    ", x + np.float32(0.0))
    print("x * 0.0 is not 0.0:  ", infinity * np.float32(0.0))
    print("x - x is not 0.0:    ", infinity - infinity)
    print("x / 3 is not x * 1/3:", np.float32(5) / np.float32(3), np.float32(5) * np.float32(1 / 3))

# %% [markdown]
# The last one is about rounding. 1/3 cannot be written exactly with a finite number of bits, so it is
# rounded, and the product is rounded again. But 1/8 can be: it is a power of two, and to multiply by it
# changes the exponent of `x` and nothing else. So `x / 8` and `x * 0.125` are the same number, rounded
# once. The product is several times as fast, and exercise 11.3 is that rule. (Seven more laws of school
# wait in [practice/laws.py](practice/laws.py). Exercise 11.2 finds out for which numbers each of them may
# be in the table.) (All this is what compilers for C call *fast math*, when they do it anyway.)
#
# As the result is a jaxpr, we can run it, and compare:

# %%
from tinyjax.core.jaxpr import jaxpr_as_fun

xs = np.linspace(-3, 3, 1000, dtype=np.float32)
before = jax.make_jaxpr(jax.vmap(jax.grad(f)))(xs)
after = simplify(before)
same = jaxpr_as_fun(before)(xs)[0] == jaxpr_as_fun(after)(xs)[0]
print(len(before.eqns), "and", len(after.eqns), "equations; all bits equal:", same.all())

# %% [markdown]
# ## What is one element of the result?
#
# A kernel has a loop over the elements of its results. So the one question to each primitive is:
# what is *one element* of the result? Its answer is a **[lowering
# rule](glossary.md#lowering-rule)**, in a table like those for derivatives. There are few kinds:

# %%
from tinyjax.compile.kernel import rules

for name in ("sin", "mul", "transpose", "reduce_sum", "cumlogsumexp"):
    rule = next(rule for p, rule in rules.lowering_rules.items() if p.name == name)
    print(f"{name:12}", type(rule).__name__)

# %% [markdown]
# - `Elementwise`: an operation on the operands' elements at the same place.
# - `IndexMap`: an element of an operand, at another place.
# - `Reduction`: many elements, combined.
# - `InOrder`: no element alone. Those of a cumulative sum are made one after the other, and so are
#   the windows of an array that a scatter changes.
# - `OnHost`: none of these (**[host step](glossary.md#host-step)**). NumPy computes it, between
#   two kernels, and the program says why.
#
# A rule is a small function. `ctx.op(name, *values)` writes one operation into the kernel, and
# gives the value that it makes. For an index map, `ctx.position.coords` is the place of the
# element that is asked for, and `x.at(coords)` gives the operand's element there. Here is one of
# each kind. Limiting a number to a range takes two operations; joining rows takes none, only
# another way of counting:

# %%
import inspect

from tinyjax.lax.lowering import elementwise

print(inspect.getsource(elementwise._clamp))
print(inspect.getsource(rules._reshape))

# %% [markdown]
# With rules for single elements, a kernel is written *from its end*. To store the result, we need
# an element of it. For that, we need elements of its operands, and so on, back to the arguments,
# which are loaded from memory. Here is the idea, for elementwise equations:


# %%
def toy_kernel(jaxpr):
    """The lines that compute one element of the result, number i."""
    producer = {eqn.outvars[0]: eqn for eqn in jaxpr.eqns}
    names, lines = {}, []

    def element(v):
        """The name of an element of v. Writes the lines that compute it, when asked for the first time."""
        if v not in names:
            eqn = producer.get(v)
            operands = [element(x) for x in eqn.invars] if eqn else []
            names[v] = chr(ord("a") + len(names))
            what = " ".join([eqn.primitive.name, *operands]) if eqn else f"{names[v]}_in[i]"
            lines.append(f"{names[v]} = {what}")
        return names[v]

    lines.append(f"out[i] = {element(jaxpr.outvars[0])}")
    return lines


print(*toy_kernel(closed.jaxpr), sep="\n")

# %% [markdown]
# Compare with the kernel at the beginning. (The real one is `element` in
# [builder.py](../tinyjax/compile/kernel/builder.py). It asks the rules, and so can do more than
# elementwise operations.) Note what did *not* happen: `sin(x)` was never stored. It is a variable
# of the kernel, which the C compiler keeps in a register.
#
# With a loop around these lines, it is a **naive loop nest**: one element at a time. Exercise 11.5 writes
# it in a toy language of five statements ([practice/toy_kernel.py](practice/toy_kernel.py)). The compiler's
# own is [loop_nest.py](../tinyjax/compile/kernel/loop_nest.py), with sums in it, which are exercise 11.8:

# %%
from practice.naive_nest import naive_nest

(toy,) = naive_nest([("sin", ("a",), "b"), ("mul", ("b", "a"), "c")], result="c", size=100)
print(toy.variable, "from", toy.start, "to", toy.stop)
print(*toy.body, sep="\n")

# %% [markdown]
#
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
print("target:", load.target, " source:", load.source, " index:", load.index)
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
plan = make_plan(simplify(jax.make_jaxpr(f)(x)), CPU)
(vector_kernel,) = plan.all_kernels()
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
# What is left is to print. For the toy's five statements, that takes a dozen lines (half of exercise 11.9):

# %%
from practice.toy_kernel import c_lines

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

# %%
sorted_waves = jax.make_jaxpr(lambda x: jnp.sort(f(x)) * 2.0)(x)
print(*groups_lines(make_plan(simplify(sorted_waves), CPU)), sep="\n")

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
# Everything below the jaxpr. JAX translates a jaxpr to StableHLO, and hands that to XLA. XLA goes
# through stages of the same kind (simplify, fuse, generate code by LLVM), in C++, on programs of
# its own language. Its simplifier has many more rules, and some of them may change the last bit of
# a result. The ideas, and most of the words, are the same.
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
# - A jaxpr is simplified, cut into groups, written in a kernel language, checked, and printed as
#   OpenCL C.
# - A lowering rule computes one element of a result; a kernel is written from its results back
#   to its arguments.
# - Each stage is data: print it, run it in Python, or ask of any line of C where it is from.
#
# Questions people ask: [where StableHLO and XLA come
# in](questions.md#where-do-stablehlo-and-xla-come-in).
#
# ## Do you know?
#
# <details><summary>Where does the writing of a kernel begin?</summary>
#
# At its results. The rule of the equation that makes an element asks for the elements that it needs, and
# so on back to the kernel's arguments.
# </details>
#
# <details><summary>Why may a compiler not put 0 in place of <code>x * 0</code> for floats?</summary>
#
# If `x` is NaN or infinite, the product is NaN; and if `x` is negative, it is -0.0.
# </details>
#
# <details><summary>What becomes of the call of a jitted function within a jitted function?</summary>
#
# The first pass replaces it by the equations of the called jaxpr.
# </details>
#
# ## Exercises
#
# `python -m tinyjax learn start 11` makes a folder in which these functions are empty, for you to
# write again.
#
# ## Where this lives in JAX
#
# - `jax/_src/interpreters/mlir.py`: `jaxpr_subcomp` and the lowering rules, from primitives to
#   StableHLO
# - `jax/_src/compiler.py`: where StableHLO is handed to XLA
# - XLA itself: `xla/hlo/transforms/simplifiers/algebraic_simplifier.cc`, `xla/service/cpu/` and
#   `xla/service/gpu/`
# - `jax/_src/pallas/`: kernels that one writes oneself, in a kernel language for Python
