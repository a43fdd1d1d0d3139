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
# - predict a kernel from the equations.

# %%
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.codegen.codegen import kernel_text
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import groups_lines, make_plan
from tinyjax.compile.target import CPU


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
# tinyjax, in C, and is put before the kernel.
# The first two stages, and how a kernel is made of equations, are this lesson. The kernel itself, and the
# C that it becomes, are the [next](11b_kernel_to_c.py). Fusion has to wait: it has
# [lesson 12](12_fusion.py) to itself.
#
# ## C for readers of Python
#
# This and three later lessons read kernels, and only this much of **[C](glossary.md#c)**:
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
#
# <details><summary><code>toy_kernel</code> starts at the result, which is the last thing to be stored. Which
# line will it write first, and how many lines are there for <code>x</code>, which is used twice?</summary>
#
# The load of `x`, and that is the only line for it: an operation is written after its operands, and each
# value once.
# </details>


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
# own is [loop_nest.py](../tinyjax/compile/kernel/loop_nest.py), with sums in it, which are exercise 11b.3:

# %%
from practice.naive_nest import naive_nest

(toy,) = naive_nest([("sin", ("a",), "b"), ("mul", ("b", "a"), "c")], result="c", size=100)
print(toy.variable, "from", toy.start, "to", toy.stop)
print(*toy.body, sep="\n")

# %% [markdown]
# This toy language has five statements. The compiler's own has ten, can be checked and run in Python, and
# becomes C: that is the [next lesson](11b_kernel_to_c.py).
#
# ## Where tinyjax differs from JAX
#
# Everything below the jaxpr. JAX translates a jaxpr to StableHLO, and hands that to XLA. XLA goes
# through stages of the same kind (simplify, fuse, generate code by LLVM), in C++, on programs of
# its own language. Its simplifier has many more rules, and some of them may change the last bit of
# a result. The ideas, and most of the words, are the same.
#
# ## The picture
#
# The gradient of a jitted `f`, as it was traced and after each pass that changed it.

# %%
from tinyjax import viz

viz.pass_graph(jax.grad(jax.jit(f)), 3.0)

# %% [markdown]
# ## Summary
#
# - Tracing, simplification, planning and code generation each give a result that can be printed.
# - A pass goes from jaxpr to jaxpr, and may change no bit of a result: many laws of school do not hold for
#   floats.
# - A lowering rule computes one element of a result; a kernel is written from its results back
#   to its arguments.
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
# - XLA itself: `xla/hlo/transforms/simplifiers/algebraic_simplifier.cc`
