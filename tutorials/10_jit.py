from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 10. jit
#
# So far each operation ran by itself, in NumPy. `jit` compiles a whole function. It is one word to
# write, and most of the trouble that people have with JAX comes from not knowing what it does.
# After this lesson you can
#
# - say what runs when a jitted function is called: which part once, and which part each time;
# - say what is in jit's cache key, and so when a function is traced and compiled again;
# - choose static arguments, and say what they cost;
# - find out why a program compiles again and again;
# - stop the compiler at each stage, and compile ahead of time;
# - read what `grad` and `vmap` make of a jitted function.

# %%
import inspect
import logging

from practice.static_arguments import blurred, traces

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.transform.jit import rules as jit_rules
from tinyjax.transform.jit.api import PjitFunction

# %% [markdown]
# ## Trace once, run often
#
# Here is the running example, with a print in it.
#
# <details><summary><code>f</code> prints when Python runs it. It is called with 3.0, and with 4.0. What
# is printed, and how often?</summary>
#
# One line, about a tracer. At the second call there was no Python to run.
# </details>


# %%
def f(x):
    print("Python runs f with x =", x)
    return jnp.sin(x) * x


fast_f = jax.jit(f)
print(fast_f(3.0))
print(fast_f(4.0))

# %% [markdown]
# Python ran the function once, for two calls. What `x` was then is a [tracer](glossary.md#tracer):
# [jit](glossary.md#jit) makes a [jaxpr](glossary.md#jaxpr), as `make_jaxpr` does. Then it compiles
# the jaxpr, and keeps what it has compiled. The second call finds it there, and Python never sees
# `f` again. To a trace, a call of a jitted function is one equation, whose parameter is that
# jaxpr:

# %%
print(jax.make_jaxpr(fast_f)(3.0))

# %% [markdown]
# (Where is the print? `make_jaxpr` traced a function that calls `fast_f`, and `fast_f` had its
# jaxpr already.)
#
# ## A jit of a dozen lines
#
# Leave away the compiler, and the rest of jit is a dictionary of jaxprs:


# %%
def toy_jit(fun):
    cache = {}

    def jitted(*args):
        key = tuple((jnp.shape(x), jnp.result_type(x)) for x in args)
        if key not in cache:
            cache[key] = jax.make_jaxpr(fun)(*args)
        closed = cache[key]
        (out,) = eval_jaxpr(closed.jaxpr, closed.consts, *args)
        return out

    return jitted


toy_f = toy_jit(f)
print(toy_f(3.0), toy_f(4.0))
print(toy_f(jnp.arange(3.0)))

# %% [markdown]
# A jaxpr is made for one shape and one dtype, so these are the key under which it is remembered.
# `eval_jaxpr` runs it equation by equation; jit would run compiled code. All that follows in this
# lesson is about the key, and about what it means that Python runs once.
#
# ## Python runs once
#
# A function that is jitted should be **[pure](glossary.md#pure-function)**: its result depends on
# its arguments alone, and giving the result is all that it does. Python does not enforce that, so
# see what happens to a function that is not.
#
# <details><summary>Between the two calls, the global <code>scale</code> changes from 2 to 1000. What are
# the two results, and how long is the list <code>calls</code>?</summary>
#
# Twice the same, and one entry. Nothing warns of it.
# </details>

# %%
scale = 2.0
calls = []


@jax.jit
def scaled(x):
    calls.append("a call")
    return scale * f(x)


print(scaled(3.0))
scale = 1000.0
print(scaled(3.0))
print(calls)

# %% [markdown]
# A global is read once, when the function is traced; its value at that time is a constant of the
# jaxpr. Prints and appends happen once. No error says so. The remedy is always the same: what
# changes is an argument, and what is made is a result. (To print the values at each call, there is
# `jax.debug.print`.)
#
# One mistake does end in an error. A tracer that is put aside means nothing once its trace is
# over:

# %%
kept = []
jax.jit(lambda x: kept.append(2 * x))(3.0)
try:
    print(kept[0] + 1)
except jax.errors.UnexpectedTracerError as error:
    print(error)

# %% [markdown]
# ## The key
#
# What is in the [key](glossary.md#cache-key) of the real jit? Everything that a trace can depend
# on. It is the work of one method, `cache_key`, which gives the arguments as a flat list of
# [leaves](glossary.md#leaf), and the key. Here are its parts:

# %%
leaves, (tree, avals, static, axes, configuration) = fast_f.cache_key((3.0,), {})
print("leaves       ", leaves)
print("tree         ", tree)
print("avals        ", avals)
print("static       ", static)
print("named axes   ", axes)
print("configuration", configuration)

# %% [markdown]
# | part | because |
# |---|---|
# | the tree of the arguments | a function may do other things to a dict than to a list |
# | each leaf's [aval](glossary.md#aval): shape, dtype, weak type | it is written into the jaxpr |
# | static arguments | the function saw their values (see below) |
# | the axes that `vmap` and `pmap` named around the call | a function may ask for their size |
# | those switches of `jax.config` that tracing looks at | with 64 bits, say, the jaxpr is another one |
#
# The *values* of the arguments are not among them, which is the point of it all. And the device is
# not, for it is of no concern to the trace: the same jaxpr is compiled once for each device that
# it runs on. Watch the cache grow:
#
# <details><summary>There is an entry for the Python number 3.0. Which of these needs a new one: 5.0,
# <code>jnp.float32(3)</code>, <code>jnp.arange(3.0)</code>?</summary>
#
# The second and the third. An array of float32 and a Python number of the same value are not of one type:
# the latter is weakly typed.
# </details>

# %%
print(len(fast_f.cache), "entry")
fast_f(5.0)
print(len(fast_f.cache), "entry: a value of the same kind")
fast_f(jnp.float32(3))
print(len(fast_f.cache), "entries: a Python number was weakly typed, and this is not")
fast_f(jnp.arange(3.0))
print(len(fast_f.cache), "entries: another shape")

# %% [markdown]
# That is all that happens between the call and the jaxpr. The method below is the heart of
# [api.py](../tinyjax/transform/jit/api.py); `trace_to_jaxpr` is what `make_jaxpr` calls too.

# %%
print(inspect.getsource(PjitFunction.trace_cached))

# %% [markdown]
# A call that has been made before does not even get that far: a shortcut (`fast/call_cache.py`) knows
# it by the types of its arguments. Shortcuts change how long a call takes, and nothing else. They all
# stand in the folder `fast/`, which can be deleted. `TINYJAX_FAST=0` turns them off, and so do the
# commands `step`, `explain` and `learn`, and a debugger: what you watch is what is written here.
#
# ## Values that Python needs
#
# While it traces, Python has no values. Where it asks for one, there is an error:


# %%
def power(x, n):
    """The running example, n times over."""
    for _ in range(n):
        x = jnp.sin(x) * x
    return x


try:
    jax.jit(power)(3.0, 2)
except TypeError as error:
    print(error)

# %% [markdown]
# How often to go round the loop decides what the jaxpr is. So `n` has to be known while tracing: a
# **[static argument](glossary.md#static-argument)**. It stays the Python value that it is.

# %%
fast_power = jax.jit(power, static_argnames="n")
print(fast_power(3.0, n=2))
print(fast_power.cache_key((3.0,), {"n": 2})[1][2])
print(jax.make_jaxpr(lambda x: fast_power(x, n=3))(3.0))

# %% [markdown]
# As a static value is built into the jaxpr, it is part of the key: with its place (a position or a
# name) and its type, for 2 and 2.0 are equal, and lead to different jaxprs. Three things follow.
#
# - Each new value is a new trace, and compiles again. A static argument should have few values.
# - It must have a hash. A list has none; use a tuple.
# - Objects of a class are equal only if the class says so. A class without `__eq__` makes each new
#   object a new key.
#
# So an argument should be static if Python itself must look at it, and only then. What does a choice cost?
# In [practice/static_arguments.py](practice/static_arguments.py) is a function to choose for, and one that
# counts traces; both are exercise 10.4.
#
# <details><summary><code>blurred(x, times, rate, edge)</code> has a loop over <code>range(times)</code> and
# an <code>if edge == "zero"</code>. Called with three rates, how often is it traced, if all but x are
# static?</summary>
#
# Three times. The rate is a number to compute with: traced, it would be once.
# </details>

# %%
rates = [((jnp.ones(5), 2, rate, "zero"), {}) for rate in (0.1, 0.2, 0.3)]
print("traces:", traces(blurred, rates, static_argnames=("times", "rate", "edge")))

# %%
try:
    fast_power(3.0, n=[2])
except ValueError as error:
    print(error)

# %% [markdown]
# When the number of iterations should not be static, the loop must be in the jaxpr, as one equation.
# That is for a later lesson, on [`while_loop`](13_cond_and_while.py). The same holds for `if`:
# static if it decides about the program, `jnp.where` or `lax.cond` if it depends on data.
#
# ## Why was it traced again?
#
# Compilation takes far longer than a call. A program that is slow for no reason often compiles in
# each round. Do not guess; ask. `jax.explain_cache_misses()` compares the key of each new trace
# with the most similar one before. It reports by Python's logging; this makes the reports part of
# the page:
#
# <details><summary><code>g</code> is called six times. How many of these calls trace it?</summary>
#
# All six. No two of them look the same to `jit`.
# </details>


# %%
class Print(logging.Handler):
    def emit(self, record):
        print(record.getMessage())


logger = logging.getLogger("jax")
logger.addHandler(Print())
logger.propagate = False

g = jax.jit(lambda x, y=1.0: x * y)
with jax.explain_cache_misses():
    g(jnp.ones(3))
    g(jnp.ones(4))
    g(jnp.ones(5))
    g(jnp.ones(5), 2.0)
    g(jnp.ones(5), jnp.float32(2))
    g(jnp.ones(5), y=jnp.float32(2))

# %% [markdown]
# Read it from top to bottom: each is something that people do. Batches of different sizes (pad the
# last one). An argument that is left out here and given there. A Python number here and an array
# there. An argument by name here and by position there. The most expensive one of all is to call
# `jit` in a loop, on a function that is made there:

# %%
with jax.explain_cache_misses():
    for _ in range(2):
        jax.jit(lambda x: x + 1)(3.0)

# %% [markdown]
# The cache belongs to the function, and each round has a new one. `jax.jit(f)` twice of the same
# `f` is fine. (`fit_slowly`, in [practice/retraced.py](practice/retraced.py), does all of this in five lines.
# In exercise 10.5 you find it, and fix it.)
#
# The other question is what is compiled at all, and how long each stage takes. `jax.log_compiles()` tells.
# (If you run this lesson, it says that NumPy answers: kernels are built in the background then, as told at
# the end. For the page, it was run with `TINYJAX_BACKGROUND_BUILD=0`, and waited for them.)

# %% varies
with jax.log_compiles():
    fast_f(jnp.ones((2, 2)))

# %% [markdown]
# ## One stage at a time
#
# A call of a jitted function does four things, and you can do them one by one. `trace` makes the
# jaxpr. `lower` makes the OpenCL program, as text. `compile` builds it for the device. The result
# is called. To compile before there is any data (**[ahead of time](glossary.md#ahead-of-time)**),
# give shapes and dtypes in place of arrays:

# %%
traced = jax.jit(power, static_argnames="n").trace(jax.ShapeDtypeStruct((3,), jnp.float32), n=2)
print(traced.jaxpr)
lowered = traced.lower()
print(lowered.as_text("groups"))
compiled = lowered.compile()
print(compiled(jnp.arange(3.0)))

# %% [markdown]
# One line of groups: all four equations are computed together, in one kernel. What that means is
# the subject of the [next](11_lowering.py) [three](12_fusion.py) lessons; `lowered.as_text()` shows
# the program. A compiled function compiles nothing any more. It takes what it was made for, and
# refuses all else. (The static `n` is inside of it, and not given again.)

# %%
try:
    compiled(jnp.arange(4.0))
except TypeError as error:
    print(error)

# %% [markdown]
# To walk through a trace and a compilation, event by event:
#
# ```sh
# python -m tinyjax step tutorials/wave.py:f --args 3.0 --transform jit
# ```
#
# ## jit inside the other transformations
#
# A jit equation is an equation as any other, so each transformation needs a rule for it. All these
# rules do the same: they transform the jaxpr, and bind `jit` to the new one. So the batch of a
# jitted function is a jitted batch:


# %%
def f(x):
    return jnp.sin(x) * x


print(jax.make_jaxpr(jax.vmap(jax.jit(f)))(jnp.arange(3.0)))

# %% [markdown]
# Here is one of them, the transpose rule. `transpose_jaxpr` gives the jaxpr that computes the
# cotangents; `with_inputs` gives the parameters of a jit of another jaxpr.

# %%
print(inspect.getsource(jit_rules.with_inputs))
print(inspect.getsource(jit_rules._jit_transpose))

# %% [markdown]
# The gradient of a jitted function is two jits: one for what is known at once, with the residuals
# among its results, and one for the backward pass. Compare the gradient, jitted:

# %%
print(jax.make_jaxpr(jax.grad(jax.jit(f)))(3.0))
print(jax.make_jaxpr(jax.jit(jax.grad(f)))(3.0))

# %% [markdown]
# Same numbers, other programs. In the first, `sin a` and `cos a` are results of one program and
# arguments of another, and travel through memory. In the second all is one program, and the
# compiler sees the whole. So put `jit` outside, around as much as you can: the whole training
# step, not its parts.
#
# ## Where tinyjax differs from JAX
#
# - A driver takes a second or so to build kernels. Until they are there, NumPy answers the first
#   calls of a jitted function, with the same results up to rounding. That is a shortcut, too.
#   `jax.config.update("tinyjax_background_build", False)` makes calls wait; so does
#   `.lower(...).compile()`.
# - JAX hands the jaxpr to XLA, and `lower` gives StableHLO. Here it gives OpenCL C, and `as_text`
#   prints each stage.
# - JAX's cache is looked up in C++. Here all of it is Python.
# - The rules for static arguments, [donated arguments](glossary.md#donated-argument)
#   (`donate_argnums`: memory that the program may use for its results) and cache misses are JAX's.
#   The reports of `explain_cache_misses` and `log_compiles` have words of their own.
#
# ## The picture
#
# The gradient of a jitted function. Each frame is a jit; what goes from the first to the second
# are the residuals.

# %%
viz.dot(jax.make_jaxpr(jax.grad(jax.jit(f)))(3.0))

# %% [markdown]
# ## Summary
#
# - `jit` traces a function once for each key, compiles the jaxpr, and runs that from then on:
#   Python runs once.
# - The key has the arguments' tree and avals, the static values, named axes and configuration;
#   `explain_cache_misses` names the part that is new.
# - Inside other transformations a jit is one equation: its jaxpr is transformed, and stays jitted.
#
# Questions people ask: [why does it compile
# again](questions.md#why-does-my-function-compile-again-and-again); [arrays whose shape depends on
# the data](questions.md#how-do-i-select-elements-when-their-number-depends-on-the-data); [does
# an update copy](questions.md#does-an-indexed-update-copy-the-array).
#
# ## Do you know?
#
# <details><summary>A jitted function is called with 3.0, 4.0 and <code>np.float32(3)</code>. How often is
# it traced?</summary>
#
# Twice. Python's floats have one type, which is weak; that of the NumPy value is not.
# </details>
#
# <details><summary>Why can't a static argument be a list?</summary>
#
# It is a part of the key, so it must be hashable. Use a tuple.
# </details>
#
# <details><summary>A jitted function reads a global number, which changes later. What does it compute
# with?</summary>
#
# With the number that was there when it was traced. Give it as an argument.
# </details>
#
# ## Exercises
#
# `python -m tinyjax learn start 10` makes a folder in which these functions are empty, for you to
# write again.
#
# ## Where this lives in JAX
#
# - `jax/_src/api.py`: `jit`; `jax/_src/pjit.py`: `jit_p`, its rules, and the cache
#   (`_infer_params`)
# - `jax/_src/api_util.py`: static arguments; `jax/_src/stages.py`: `Traced`, `Lowered`, `Compiled`
# - `jax/_src/interpreters/pxla.py` and `jax/_src/interpreters/mlir.py`: from a jaxpr to XLA
