from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 1. Primitives and bind
#
# After this lesson you can follow `sin(x)` from the call down to NumPy; write a transformation of your
# own in ten lines; and make your own primitive.
#
# You need Python and NumPy. All lessons use one small function, at one place: `f(x) = sin(x) * x` at 3.
# The page that you read shows what the script `tutorials/01_primitives.py` prints. Run it beside you,
# cell by cell, and change things.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def f(x):
    return jnp.sin(x) * x


print("f(3)             ", f(3.0))
print("its derivative   ", jax.grad(f)(3.0))
print("at four places   ", jax.vmap(f)(jnp.array([0.0, 1.0, 2.0, 3.0])))
print("compiled         ", jax.jit(f)(3.0))
print("written down     ", jax.make_jaxpr(f)(3.0))

# %% [markdown]
# The first line is no surprise. The others are: nobody told `f` how to differentiate itself, how to work
# on four numbers at once, or how to compile itself. And no one has read its source code: `f` was
# simply called, each time.
#
# `grad`, `vmap`, `jit` and `make_jaxpr` are *transformations*: a
# **[transformation](glossary.md#transformation)** takes a function and gives one that does something else
# with it. This lesson is about the one idea that makes them possible:
#
# > **A function does not compute. It asks for operations, and who answers can be exchanged.**
#
# ## What can be asked for
#
# Let us follow the question. `jnp.sin` looks like NumPy's. It is declared in a line, and made by a function
# that makes all its likes: `operation` is `lax.sin` here.

# %%
import inspect

from tinyjax import core, lax
from tinyjax.core import primitives

print(inspect.getsource(jnp.sin))
print(inspect.getsource(lax.sin))

# %% [markdown]
# There are three floors:
#
# - `jnp.sin` is for convenience, as NumPy is. It takes integers too, and turns them into floats.
# - `lax.sin` is strict: it takes what it is given.
# - `sin_p` is where it ends. It is a **[primitive](glossary.md#primitive)**: an operation that is not
#   made of other operations. By custom the names of primitives end in `_p`.
#
# `x * y` ends at the primitive `mul_p` in the same way. There are about 160 of them, and everything in
# `jax.numpy` is made of these.
#
# What is a primitive? You might expect a function that computes. It is less than that:

# %%
sin_p, mul_p = primitives.sin_p, primitives.mul_p
print(repr(sin_p), "is a", type(sin_p).__name__, "with", sin_p.facts)

# %% [markdown]
# A name and a few facts, such as its cost. What a primitive *means* stands elsewhere, in tables of **rules**.
# A **[rule](glossary.md#rule)** defines one primitive under one interpretation. There is a
# table for each: one for computing, one for derivatives, one for batches. New transformations bring a
# new table, and the primitives stay as they are.
#
# ## Two rules that every primitive has
#
# The **[impl rule](glossary.md#impl-rule)** computes, from NumPy arrays to a NumPy array. For `sin_p`
# it is NumPy's own function:

# %%
import numpy as np

print(core.impl_rules[sin_p])
print(core.impl_rules[sin_p](np.float32(3.0)))

# %% [markdown]
# The **[abstract_eval rule](glossary.md#abstract-eval-rule)** does not compute. It answers another
# question: *what kind of array will come out?* It takes and gives **[avals](glossary.md#aval)**, which
# is short for abstract values. An aval is what is known of an array without its elements: shape and
# dtype. In code it is a `ShapedArray`; it is printed as `float32[2,3]`.
#
# <details><summary>A row of shape (1, 3), times a column of shape (2, 1): which array will come out? And
# how many products are computed to find that out?</summary>
#
# One of shape (2, 3), and none: the rule has avals, and looks at shapes and dtypes alone.
# </details>

# %%
row = core.get_aval(np.ones((1, 3), np.float32))
column = core.get_aval(np.ones((2, 1), np.float32))
print(row, "times", column, "gives", core.abstract_eval_rules[mul_p](row, column))

# %% [markdown]
# No product was computed, and none of the arrays is needed: avals are enough. This will be worth much
# when programs are traced (lesson 6) and compiled (lesson 10).
#
# An abstract_eval rule also *checks*. Primitives are strict on purpose: they add no dimensions and mix no
# dtypes, so that each step of a program says all that happens. `jax.numpy` is lenient, and puts the
# missing steps in before it gets here.


# %%
import textwrap


def attempt(function, *args):
    try:
        print(function(*args))
    except Exception as error:
        print(textwrap.fill(f"{type(error).__name__}: {error}", 96))


floats, integer = np.ones(3, np.float32), np.int32(2)
attempt(lax.mul, floats, integer)
attempt(jnp.multiply, floats, integer)
attempt(lax.mul, np.ones((2, 3), np.float32), floats)

# %% [markdown]
# One thing about avals surprises people who come from NumPy:
#
# <details><summary>An array of float16s times Python's 3.0, and the same array times NumPy's float32 of
# 3.0: which dtypes come out?</summary>
#
# float16, and float32. NumPy's number has a dtype that counts; Python's takes that of what it meets.
# </details>

# %%
print(core.get_aval(3.0), "is the aval of Python's 3.0")
print(core.get_aval(np.float64(3.0)), " is that of NumPy's")
print((jnp.ones(2, "float16") * 3.0).dtype)
print((jnp.ones(2, "float16") * np.float32(3.0)).dtype)

# %% [markdown]
# Numbers have 32 bits, unless you ask for 64. And `~` marks a **[weak type](glossary.md#weak-type)**: a
# Python number has no dtype that somebody chose, so it takes that of whatever it meets. You can write
# `2 * x` without making a float16 array larger by accident.
#
# ## bind: who answers?
#
# Now the heart of it. `lax.sin` called `sin_p.bind(x)`. What does `bind` do? It does not look up the
# impl rule. It asks *who is in charge*, and hands over everything: itself, its
# **[operands](glossary.md#operand)** (the arrays) and its **[parameters](glossary.md#parameter)**
# (everything else, such as the axes of a sum).
#
# Whoever is in charge is called the **[current trace](glossary.md#current-trace)**. A
# **[trace](glossary.md#trace)** is a transformation at work. It needs one method:

# %%
print(inspect.getsource(core.Trace))

# %% [markdown]
# So all of **[bind](glossary.md#bind)** is: fetch the current trace, and call its `process_primitive`.
# You will write that line yourself, in the exercises. In a picture:
#
# ```text
#    f(3.0)   calls  jnp.sin(3.0)  calls  lax.sin(3.0)  calls  sin_p.bind(3.0)
#                                                                   |
#                                                     who is the current trace?
#                                                                   |
#            .----------------------.-------------------------------+------------------.
#         EvalTrace              JVPTrace                      BatchTrace         JaxprTrace
#       computes with       computes value and              computes for a       writes down
#           NumPy           derivative (lesson 2)           batch (lesson 5)    an equation (6)
# ```
#
# When nothing else is going on, the current trace is this one:

# %%
print(type(core.context.trace).__name__)

# %% [markdown]
# `EvalTrace` is what people call **[eager evaluation](glossary.md#eager-evaluation)**: each operation is
# computed at once. For one primitive it does this:
#
# 1. It gets the aval of each operand.
# 2. It asks the abstract_eval rule: do the operands fit, and what comes out?
# 3. It gets the operands as NumPy arrays, and calls the impl rule.
# 4. It puts the answer of step 3 and the aval of step 2 into an `Array`, and returns that. (Of a scalar,
#    NumPy's functions give no `np.ndarray`, but an `np.float32`: `np.asarray` makes an array of it.)
#
# We can watch it. `viz.record` keeps what happens as a list of events, each within another. The event
# "impl" is all that `EvalTrace` does for a primitive; before NumPy computes, it asks the abstract_eval
# rule.

# %%
from tinyjax import viz

with viz.record() as recording:
    f(3.0)

depth = {None: -1}
for event in recording.events:
    depth[event.number] = depth[event.parent] + 1
    operands = ", ".join(value.text or value.aval for value in event.operands)
    results = ", ".join(value.text or value.aval for value in event.results)
    what = "    " * depth[event.number] + event.stage
    print(f"{what:22} {event.name:4} of {operands:12} gives {results}")

# %% [markdown]
# ## Your own transformation
#
# Now let us put somebody else in charge. This trace keeps a diary: it notes each operation, and has it
# done by the trace that was in charge before.
#
# <details><summary>The diary has a line for each operation that is bound while <code>f(3.0)</code> runs.
# Is there a line for <code>f</code> itself?</summary>
#
# No. `f` is Python, and runs as ever; a trace sees the two primitives that it asks for, and nothing of
# the function around them.
# </details>


# %%
class Diary(core.Trace):
    def __init__(self, parent):
        self.parent = parent

    def process_primitive(self, primitive, args, params):
        out = self.parent.process_primitive(primitive, args, params)
        print(f"{primitive}({', '.join(str(x) for x in args)}) is {out!s}")
        return out


with core.set_current_trace(Diary(core.context.trace)):
    f(3.0)

# %% [markdown]
# We saw inside of `f` without touching it. `set_current_trace` puts a trace in charge for the length of a
# `with` block, and restores the one before it.
#
# It works for any program, whoever wrote it. Here is what `softmax` is made of:

# %%
with core.set_current_trace(Diary(core.context.trace)):
    jax.nn.softmax(np.array([1.0, 2.0], np.float32))

# %% [markdown]
# The largest element is subtracted first, so that no `exp` gets too large; that takes the first six lines.
#
# A trace that is in charge may do more than watch. In exercise 01.2 you write one that gives *another
# answer*: for each primitive in a table, your function is called instead. Here `f` runs with
# the first two terms of a series in place of the sine:

# %%
from practice.instead import instead


def rough_sin(x):
    return x - x * x * x / 6


print("f(0.5), truly:          ", f(0.5))
print("f(0.5), with a rough sin:", instead({sin_p: rough_sin}, f)(0.5))

# %% [markdown]
# ## A trace that does not compute
#
# The next trace goes further: it does not compute at all. It writes the formula down. But what should
# `jnp.sin(x)` return, so that `* x` can go on with it? Something that looks like an array to `f`,
# and to us is a piece of text. Such a thing is a **[tracer](glossary.md#tracer)**: it stands for an
# array while a function runs under a trace. It needs an aval, as code may ask for `x.shape` or
# `x.dtype`; here the abstract_eval rule comes in.
#
# <details><summary>The formula of <code>f</code> is also written down for an array of a thousand by a
# thousand elements. How often is NumPy's sine called for that?</summary>
#
# Never. `f` was called with an aval and a piece of text, so there was nothing to compute with. The
# formula is the same as for one number.
# </details>


# %%
class Formula(core.Tracer):
    def __init__(self, trace, aval, text):
        self._trace, self.aval, self.text = trace, aval, text


class FormulaTrace(core.Trace):
    def process_primitive(self, primitive, args, params):
        texts = [x.text if isinstance(x, Formula) else str(x) for x in args]
        avals = [core.get_aval(x) for x in args]
        aval = core.abstract_eval_rules[primitive](*avals, **params)
        return Formula(self, aval, f"{primitive}({', '.join(texts)})")


def formula(function, aval):
    """The formula of a function of one argument: a transformation."""
    trace = FormulaTrace()
    with core.set_current_trace(trace):
        out = function(Formula(trace, aval, "x"))
    return out.text, out.aval


print(formula(f, core.get_aval(3.0)))
print(formula(f, core.ShapedArray((1000, 1000), "float32")))
print(formula(lambda x: 2.0 * f(f(x)), core.get_aval(3.0)))

# %% [markdown]
# That is a real transformation, made in the same way as those of JAX: a trace, a tracer, and a function
# that puts them to work. Nothing was computed; a thousand by a thousand elements cost no more than one.
#
# Change what is written down, and you have another transformation:
#
# - write down equations instead of text, and it is `make_jaxpr` (lesson 6);
# - carry the derivative along with the value, and it is `jvp` (the next lesson);
# - remember which axis counts the examples, and it is `vmap` (lesson 5).
#
# ## Your own primitive
#
# `x ** 3` in one step, say. A name and two rules make it work like any other:

# %%
cube_p = core.Primitive("cube")


@cube_p.def_impl
def cube_impl(x):
    return x * x * x  # x is a NumPy array here


@cube_p.def_abstract_eval
def cube_aval(x):
    return x  # an aval goes in; an array of equal shape and dtype comes out


def cube(x):
    return cube_p.bind(x)


print(cube(3.0))
print(formula(lambda x: f(cube(x)), core.get_aval(3.0)))

# %% [markdown]
# Even our own `formula` knows it: that needs no more than the abstract_eval rule. `jvp` needs a rule
# which nobody has written yet. It says so:

# %%
attempt(jax.jvp, cube, (3.0,), (1.0,))

# %% [markdown]
# That is the subject of the next lesson. A primitive that changes the shape of its operand, and has a
# parameter, is exercise 01.7.
#
# A few primitives compute nothing themselves: the impl rules of `cond` and of loops bind other primitives.
# Such a primitive has `impl_binds_primitives=True`. `EvalTrace` then hands its rule the operands as they are,
# instead of NumPy arrays, and returns what the rule returns (exercise 01.6).
#
# ## Where tinyjax differs from JAX
#
# The idea and most names are JAX's. Three things are not the same:
#
# - JAX's impl rules are not NumPy. An eager operation is compiled by XLA for the avals of its operands,
#   and runs on the device. tinyjax computes it with NumPy: that can be read, and all compiled code is
#   compared with it. A rule that you register by `def_impl` gets NumPy arrays here, and JAX's arrays
#   there.
# - Many functions of JAX's `jax.numpy` are jitted, so that an eager call binds a primitive `jit` first.
# - JAX keeps the impl and abstract_eval rules on the primitive (`sin_p.impl`), and all others in tables.
#   Its current trace is `core.trace_ctx.trace`, and you get an aval by `jax.typeof` (which tinyjax has too).
#
# ## See for yourself
#
# Walk through the events one by one: `python -m tinyjax step tutorials/wave.py:f --args 3.0`, in the
# folder that `tutorials` is in. At its prompt, `into` goes into an event, and `help` lists what else there
# is. Or write `breakpoint()` before a call of `f(3.0)`, run the script, and press `s`, for step, until you
# are in NumPy.
#
# And as a picture. Each box has a result and its aval, the primitive, its operands, and below the value.
# An arrow goes from where a value is made to where it is needed:

# %%
viz.values(f, 3.0)

# %% [markdown]
# ## Summary
#
# - A primitive is a name; what it means stands in tables of rules, one table an interpretation.
# - `bind` hands primitive, operands and parameters to the current trace, and it alone decides what
#   happens.
# - A transformation is a trace with tracers; with none active, `EvalTrace` checks avals and runs NumPy.
#
# Questions people ask: [why are my numbers float32](questions.md#why-are-my-numbers-float32); [what
# is a weak type](questions.md#what-is-a-weak-type).
#
# ## Do you know?
#
# <details><summary>Does <code>bind</code> compute anything?</summary>
#
# No. It hands the primitive, its operands and its parameters to the current trace. With no transformation
# active that is `EvalTrace`, which calls the impl rule.
# </details>
#
# <details><summary>Why is the type of <code>3.0</code> weak?</summary>
#
# So that a Python number takes the dtype of the array that it meets: `x * 3.0` stays float16 if `x` is
# float16. `np.float32(3)` has its own type, and the product is float32.
# </details>
#
# <details><summary><code>formula</code> computes no value. Why does it need abstract_eval
# rules?</summary>
#
# The tracer that it returns stands for an array, and code may ask for its shape or its dtype.
# </details>
#
# ## Exercises
#
# Write the real ones: `python -m tinyjax learn start 01` makes a folder in which these functions are
# empty; `python -m tinyjax learn test`, there, lists what works. (What a later lesson asks for is out
# of sight in these files: the batching rule in `moving_mean.py`, exercise 05.7, calls a finished one.)
#
# ## Where this lives in JAX
#
# - `jax/_src/core.py`: `Primitive`, `Trace`, `Tracer`, `EvalTrace`, `ShapedArray`, `set_current_trace`.
# - `jax/_src/lax/lax.py`: `sin_p`, `mul_p` and most others, with their rules.
# - `jax/_src/numpy/ufuncs.py`: `sin`, `multiply`; `jax/_src/dispatch.py`: what runs an eager operation.
# - [Autodidax](https://docs.jax.dev/en/latest/autodidax.html), part 1, builds the same from nothing.
