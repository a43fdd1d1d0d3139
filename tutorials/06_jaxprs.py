from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 6. Jaxprs and tracing
#
# After this lesson you can turn a Python function into a program that you can read, print, check, run
# and change; say what a tracer knows and what it does not; and say why `print` prints once and why
# `if x > 0` fails.
#
# You need [lesson 1](01_primitives.py) (`bind`, traces, avals). This lesson is the door to the
# second half: `linearize`, `grad`, `jit` and the compiler all work on what is made here.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz


def f(x):
    return jnp.sin(x) * x


print(jax.make_jaxpr(f)(3.0))

# %% [markdown]
# ## Reading a jaxpr
#
# This is a **[jaxpr](glossary.md#jaxpr)**: a program as a list of equations. Read it from left to right:
#
# | part | here | says |
# |---|---|---|
# | before the `;` | nothing | **[constvars](glossary.md#constvar)**: arrays taken from outside |
# | behind the `;` | `a:f32[]` | the arguments, here one: a `float32` without axes |
# | **[equation](glossary.md#equation)** | `b:f32[] = sin a` | **variable**, its type, primitive, operands |
# | equation | `c:f32[] = mul b a` | each variable is set once, and never changes |
# | behind `in` | `(c,)` | the results |
#
# The types are [avals](glossary.md#aval): `f32[2,3]` is an array of `float32` with shape `(2, 3)`,
# `i32[]` a single integer. Names have no meaning; they are given out in order when the jaxpr is printed.
#
# Primitives with parameters show them in square brackets. A number that stands in your function stands
# in the equation: a **literal**, such as `2.0:f32[]`. An array that your function takes from outside
# becomes a constvar.

# %%
weights = jnp.array([1.0, 10.0, 100.0])


def score(x):
    return jnp.sum(f(x) * weights) / 2.0


print(jax.make_jaxpr(score)(jnp.arange(3.0)))

# %% [markdown]
# In brackets stand an equation's parameters. (`out_sharding=None` means that the result is not spread over
# devices in any particular way. In JAX that is a parameter; tinyjax only prints it.)
#
# A jaxpr together with the values of its constvars is a **closed jaxpr**. That is what `make_jaxpr`
# gives. All of its parts are plain Python objects:

# %%
closed = jax.make_jaxpr(score)(jnp.arange(3.0))
print("consts: ", closed.consts)
print("in:     ", closed.in_avals, " out:", closed.out_avals)

for eqn in closed.eqns:
    operands = [type(v).__name__ for v in eqn.invars]
    file, line, function = eqn.source_info
    print(f"{eqn.primitive!s:10} of {operands} from line {line}, in {function}")

# %% [markdown]
# An operand is a `Var` or a `Literal`; the word for both is **[atom](glossary.md#atom)**. Every equation
# remembers the line of *your* program that it is from. That is how later stages, down to the lines of
# OpenCL C, can say where they come from.
#
# ## The function runs, once
#
# Where does the jaxpr come from? tinyjax does not read your source code. It *runs* your function and
# watches. Let us print on the way.
#
# <details><summary><code>talking</code> prints <code>x</code> and <code>y</code>. What will they be, and
# where in the jaxpr are the prints?</summary>
#
# Tracers, which know a dtype and a shape and no value. The prints are nowhere: they are Python's, and
# tracing has done them.
# </details>


# %%
def talking(x):
    print("x is", x)
    y = jnp.sin(x)
    print("y is", y)
    return y * x


print(jax.make_jaxpr(talking)(3.0))

# %% [markdown]
# The prints ran, and are not in the jaxpr. `x` is no number: it is a [tracer](glossary.md#tracer), here a
# `JaxprTracer`, which prints itself as `JitTracer`. It has an aval (`float32`, no axes) but no value.
# Running a function on such tracers is called **[tracing](glossary.md#tracing)**.
#
# (The `~` marks a [weak type](glossary.md#weak-type): the argument was the Python number `3.0`, which
# takes the dtype of what it meets.)
#
# Since only the aval is known, the jaxpr holds for *all* values with that aval. Nothing is computed, and
# so the arrays don't even have to exist. `eval_shape` traces to find shapes alone:

# %%
huge = jax.ShapeDtypeStruct((1_000_000, 1_000_000), jnp.float32)  # four terabytes, if it existed
print(jax.eval_shape(f, huge))

# %% [markdown]
# ## What a tracer knows, and what it doesn't
#
# <details><summary>Ten things that one may ask of an array. Which of them will a tracer refuse?</summary>
#
# The last four, which need a value. A shape, a dtype and a length are known; and to compute with a tracer
# gives another one, also by a comparison.
# </details>

# %%
import numpy as np


def attempt(what, fun):
    def tried(x):
        try:
            print(f"{what:18}", fun(x))
        except Exception as error:
            print(f"{what:18}", type(error).__name__)
        return x

    jax.make_jaxpr(tried)(jnp.arange(3.0))


attempt("x.shape", lambda x: x.shape)
attempt("x.dtype", lambda x: x.dtype)
attempt("len(x)", lambda x: len(x))
attempt("x + 1.0", lambda x: x + 1.0)
attempt("x[0]", lambda x: x[0])
attempt("x > 0.0", lambda x: x > 0.0)
attempt("if x[0] > 0.0", lambda x: "yes" if x[0] > 0.0 else "no")
attempt("float(x[0])", lambda x: float(x[0]))
attempt("np.sin(x)", lambda x: np.sin(x))
attempt("range(int32 x[0])", lambda x: range(x[0].astype(int)))

# %% [markdown]
# What follows from shape and dtype works. Operations work too: they give new tracers. What needs a
# *value* is an error.
#
# ## How it works: a trace that takes notes
#
# `bind` hands every operation to the current trace ([lesson 1](01_primitives.py)). So all that is
# needed is a trace that writes each operation down. Here is a small one at work. It gives each value
# a name:

# %%
from practice.note_trace import take_notes
from practice.run_notes import run_notes

notes = take_notes(lambda x: f(x * 2.0), 3.0)
print(notes)

# %% [markdown]
# Two things happen for each operation. The primitive's `abstract_eval` rule finds the aval of the result
# from the avals of the operands: no values are needed. And a line is written, in which the result has a
# new name. What the function gets back is a `Note`, a tracer with that name and aval. `NoteTrace` is in
# [tutorials/practice/note_trace.py](practice/note_trace.py); the method that does all this is five lines.
#
# What is written down can be run, with any value for the name of the argument. A dict holds the value of
# each name. Both are exercise 06.1:

# %%
for name, value in run_notes(notes.equations, {"a": 3.0}).items():
    print(name, "is", value)

# %% [markdown]
# The real one is `JaxprTrace`, in
# [tinyjax/core/tracing.py](../tinyjax/core/tracing.py). It does the same with variables in place of names
# (exercises 06.2 and 06.3):
#
# - `new_arg(aval)` makes a `Var`, adds it to `invars`, and gives a tracer that holds it.
# - `atom(x)` gives what stands for an operand in the jaxpr. For a tracer *of this trace*, that is the atom
#   that it holds. A Python or NumPy scalar becomes a `Literal`. Anything else came from outside: it
#   becomes a constvar (`constvar`), the same one if the same array comes again.
# - `add_eqn(primitive, args, params)` asks the `abstract_eval` rule for the aval of the result (or a list
#   of avals, if the primitive has several results), makes a `Var` of each, writes a `JaxprEqn` with the
#   line of your program (`user_line()`), and gives tracers of the results.
# - `finish(outs)` ends it: the atoms of what the function returned are the `outvars`.
#
# Around these, `trace_to_jaxpr` makes the trace, makes it the current one, and calls the function.
#
# Why a tracer of *another* trace is "from outside": it may belong to a transformation around this one,
# whose value is known there. But a tracer whose trace has finished belongs nowhere any more. It
# [leaked](glossary.md#leaked-tracer):

# %%
kept = []


def leaks(x):
    kept.append(jnp.sin(x))
    return x


jax.make_jaxpr(leaks)(1.0)
try:
    kept[0] + 1.0
except jax.errors.UnexpectedTracerError as error:
    print(error)

# %% [markdown]
# ## Side effects happen once
#
# A **[side effect](glossary.md#side-effect)** is what a function does besides returning a result:
# printing, appending to a list, counting in a global, drawing a random number from NumPy. Python does
# these while it traces, and only then. The jaxpr knows nothing of them:
#
# <details><summary><code>counted</code> multiplies by the number of times that it was called. What does
# its jaxpr multiply by, when it is run twice?</summary>
#
# By 1, both times: that was the count when it was traced, and it is written down as a number.
# </details>

# %%
from tinyjax.core.jaxpr import jaxpr_as_fun

calls = 0


def counted(x):
    global calls
    calls += 1
    return x * calls


closed = jax.make_jaxpr(counted)(10.0)
run = jaxpr_as_fun(closed)
print("Python says: ", counted(10.0), counted(10.0))
print("the jaxpr:   ", *run(10.0), *run(10.0), "  because it is", closed)

# %% [markdown]
# The same holds for everything read from outside: it is read while tracing, and what was found is written
# down. A function whose result depends on its arguments alone, and that does nothing else, is called
# **[pure](glossary.md#pure-function)**. For pure functions none of this makes a difference. Write pure
# functions.
#
# ## Python's control flow is gone
#
# A `for` loop is Python's. Tracing runs it, and the jaxpr has its iterations one after the other. An `if` on
# a shape is decided while tracing. So is an `if` on a plain Python number:
#
# <details><summary>What is left of the loop and of the <code>if</code> in the jaxpr?</summary>
#
# Three products, one after the other, and one sum. No sign of a decision.
# </details>


# %%
def power(x, n):
    result = x
    for _ in range(n - 1):
        result = result * x
    if x.ndim > 0:
        result = jnp.sum(result)
    return result


print(jax.make_jaxpr(power, static_argnums=1)(jnp.arange(3.0), 4))

# %% [markdown]
# (`static_argnums=1` says: argument 1 is no array but a Python value, and is not to be traced.)
#
# But an `if` on the *value* of an array can't be decided while tracing. The tracer refuses, and says what
# to do:


# %%
def absolute(x):
    if x > 0:
        return x
    return -x


try:
    jax.make_jaxpr(absolute)(3.0)
except jax.errors.TracerBoolConversionError as error:
    print(error)

# %% [markdown]
# | in Python | on tracers |
# |---|---|
# | `a if x > 0 else b` | `jnp.where(x > 0, a, b)`: computes both, and chooses element by element |
# | `if` with costly branches | `lax.cond` ([lesson 13](13_cond_and_while.py)) |
# | `while x > 0:` | `lax.while_loop` ([lesson 13](13_cond_and_while.py)) |
# | `for` over many iterations | is written out; else `lax.fori_loop`, `lax.scan` ([lesson 14](14_scan.py)) |
# | `if n > 3:` where `n` is an option | make `n` static |
#
# Does that not contradict [lesson 3](03_nesting.py), in which an `if` inside `jvp` worked? A `JVPTracer`
# carries a real value beside its tangent. There is something to ask. A `JaxprTracer` has none.

# %%
print(jax.jvp(absolute, (-3.0,), (1.0,)))

# %% [markdown]
# ## Running a jaxpr
#
# `eval_jaxpr` runs a jaxpr, as `run_notes` runs notes. It keeps a dict from variables to values: at first
# the constvars and the arguments are in it. For each equation it looks up the operands, **binds** the
# primitive, and puts the results into the dict. At the end it looks up the results.
#
# Since it binds, a jaxpr is run by whichever trace is current. Run it with no transformation, and NumPy
# computes. Run it under `vmap`, and it is batched. Run it while tracing, and it is written down again:

# %%
closed = jax.make_jaxpr(f)(3.0)
run = jaxpr_as_fun(closed)
print("eager:  ", run(3.0))
print("vmap:   ", jax.vmap(run)(jnp.arange(3.0)))
print("traced: ", jax.make_jaxpr(run)(3.0))

# %% [markdown]
# Here is the dict, as a picture: each box shows the value that its equation put there.

# %%
viz.values(f, 3.0)

# %% [markdown]
# ## Changing a jaxpr
#
# A jaxpr is data. So a program that changes programs is a loop over equations. This one puts a cosine in
# place of each sine:

# %%
from tinyjax.core.jaxpr import check_jaxpr, eval_jaxpr
from tinyjax.core.primitives import cos_p, sin_p

jaxpr = closed.jaxpr
eqns = [eqn.replace(primitive=cos_p) if eqn.primitive is sin_p else eqn for eqn in jaxpr.eqns]
changed = jaxpr.replace(eqns=eqns)

check_jaxpr(changed)
print(changed)
print(eval_jaxpr(changed, [], 3.0), "is", jnp.cos(3.0) * 3.0)

# %% [markdown]
# A program that *reads* programs is the same kind of loop. Nothing has to be computed for it, nor even be
# there. This one is exercise 06.6, and counts the multiplications that a program will do. Jaxprs may stand
# within equations, as that of a jitted function does: `subjaxprs(eqn.params)` gives them.

# %%
from practice.count_multiplications import count_multiplications

left = jax.ShapeDtypeStruct((1000, 2000), jnp.float32)
right = jax.ShapeDtypeStruct((2000, 3000), jnp.float32)
product = jax.make_jaxpr(jnp.dot)(left, right)
print(product)
print(f"{count_multiplications(product.jaxpr):,}")

# %% [markdown]
# And a program that changes programs can be of use to you. Here is one that somebody else has written:
# softplus, as it stands in textbooks. For x = -30 it should be 1e-13. But 1 + exp(-30) is 1 when it is
# rounded to 32 bits, and so the logarithm is 0. There is a primitive for log(1 + x), `log1p`, which loses
# nothing. `precise` is a transformation like `grad` and `vmap`: it traces the function, looks for such pairs
# of equations, also in jaxprs within, and runs what it has made of them. You write it in exercise 06.7:

# %%
from practice.precise import precise


def softplus(x):
    return jnp.log(1.0 + jnp.exp(x))


print(softplus(-30.0), "but", precise(softplus)(-30.0))
print(jax.make_jaxpr(precise(softplus))(-30.0))

# %% [markdown]
# (The `add` is still there, and is unused: [lesson 7](07_linearize.py) has a function for that.)
#
# Whoever changes programs makes mistakes. `check_jaxpr` finds two kinds. Every variable must be bound
# once (as a constvar, an argument or a result), and before it is used. And every result must have the
# aval that the `abstract_eval` rule says. Here are equations in the wrong order. (A variable has no name
# of its own, so the message shows its `id`, which differs from run to run.)

# %% varies
try:
    check_jaxpr(jaxpr.replace(eqns=jaxpr.eqns[::-1]))
except TypeError as error:
    print(type(error).__name__, "-", error)

# %% [markdown]
# ## What transformations leave behind
#
# `jvp` and `vmap` are traces too. When you trace a transformed function, *their* rules bind primitives,
# and these end up in the jaxpr. The transformation itself is gone:
#
# <details><summary>Which equation of these two jaxprs says <code>jvp</code>, and which says
# <code>vmap</code>?</summary>
#
# None. They are the equations that the rules have bound.
# </details>


# %%
def slope(x):
    return jax.jvp(f, (x,), (1.0,))


print(jax.make_jaxpr(slope)(3.0))
print(jax.make_jaxpr(jax.vmap(score))(jnp.ones((2, 3))))

# %% [markdown]
# The first has the derivative: `cos`, three products, and the sum of two of them. (`add_any` is the sum of
# two tangents.) The second has arrays with one axis more, and `reduce_sum` over axis 1 instead of 0; it says
# `np.int64(1)`, as JAX does, where a rule has computed the number of an axis (and `1`, if your exercise 05.1
# counts in Python's integers). No trace of `vmap` is left, and nothing needs to be paid for it later.
# Compilers like such programs: straight lines, known shapes, no Python.
#
# To see the trace write one equation after the other, step through the function under `jit`, which traces
# it first:
#
# ```sh
# python -m tinyjax step tutorials/wave.py:f --args 3.0 --transform jit
# ```
#
# ## Where tinyjax differs from JAX
#
# - The printed jaxprs are the same, letter for letter; tests compare them with text recorded from JAX.
# - The class of the tracer is called `DynamicJaxprTracer` in JAX. `JaxprTrace` is there
#   the name of another trace, that of partial evaluation ([lesson 7](07_linearize.py)).
# - The errors have JAX's classes, and words of their own.
# - JAX's jaxprs also keep sets of *effects*; tinyjax looks at the primitives (`has_effects`).
#
# ## The picture
#
# `viz.dot` draws a jaxpr. Arguments are ellipses, with their names in the function and in the jaxpr;
# constvars are slanted; each equation is a box that reads as in the text; results point down. An arrow goes
# from where a value is made to where it is needed.

# %%
viz.dot(jax.make_jaxpr(score)(jnp.arange(3.0)))

# %% [markdown]
# ## Summary
#
# - Tracing runs a function once on tracers that have an aval and no value, and writes down each `bind`.
# - A jaxpr is a list of equations: plain data that can be printed, checked, run and changed.
# - What Python does while tracing (print, count, loop, choose) is done then, and is not in the jaxpr.
#
# ## Do you know?
#
# <details><summary>A function prints its argument. What is printed when it is traced?</summary>
#
# A tracer, and no number: there is no value yet. It is printed once, however often the jaxpr is run.
# </details>
#
# <details><summary>Why does <code>if x &gt; 0:</code> fail while tracing?</summary>
#
# A jaxpr holds for all values of `x`, and Python has to choose a branch now. `jnp.where` and `lax.cond`
# put both into the jaxpr.
# </details>
#
# <details><summary>A traced function uses an array from outside. Where is it in the jaxpr?</summary>
#
# It is the value of a constvar, before the semicolon. A number from outside stands in the equations
# themselves, as a literal.
# </details>
#
# ## Exercises
#
# `python -m tinyjax learn start 06`
#
# ## Where this lives in JAX
#
# - `jax/_src/core.py`: `Jaxpr`, `JaxprEqn`, `Var`, `Literal`, `eval_jaxpr`, `check_jaxpr`, and the
#   printer (`pp_jaxpr`, `pp_eqn`).
# - `jax/_src/interpreters/partial_eval.py`: `DynamicJaxprTrace`, `DynamicJaxprTracer`,
#   `trace_to_jaxpr`.
# - `jax/_src/api.py`: `make_jaxpr`, `eval_shape`.
