from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 3. Nesting and perturbation confusion
#
# After this lesson you can differentiate as often as you like; say what a tracer inside a tracer is; and
# explain a famous mistake, why tinyjax does not make it, and which question sees to that.
#
# You need lesson 2: [primal](glossary.md#primal), [tangent](glossary.md#tangent) and
# [JVP rule](glossary.md#jvp-rule).
#
# ## The derivative of a derivative
#
# Let us make a transformation that takes a function of one number and gives its derivative. With `jvp`
# that is one line: let x move at speed 1, and see how fast the result moves.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def f(x):
    return jnp.sin(x) * x


def derivative(function):
    return lambda x: jax.jvp(function, (x,), (1.0,))[1]


print("f          ", f(3.0))
print("derivative ", derivative(f)(3.0))
print("second     ", derivative(derivative(f))(3.0))
print("third      ", derivative(derivative(derivative(f)))(3.0))

# %% [markdown]
# What comes out is a function again, and so it can be differentiated again. Nothing special was done
# for that. But think of what has to happen: the outer `jvp` differentiates a function that calls `jvp`.
# Two traces are at work at the same time. Who gets which primitive, and whose tangent is whose?
#
# ## A tracer inside a tracer
#
# First, what does `f` see? Let us ask it.
#
# <details><summary><code>f</code> is differentiated once, and then twice. What does it get for
# <code>x</code> the second time?</summary>
#
# A pair whose primal is a pair, of two different traces.
# </details>


# %%
def nosy(x):
    print("x is", x)
    return f(x)


for function in (derivative(nosy), derivative(derivative(nosy))):
    function(3.0)

# %% [markdown]
# In the second case `x` is a pair whose primal is a pair. The outer `jvp` made its pair first: a 3 that
# moves at speed 1. Then the inner `jvp` took *that* for its primal, and gave it its own tangent.
# There are two movements of x, and they are kept apart by where they stand.
#
# ## Who gets which primitive
#
# When `f` binds `sin`, the current trace is that of the inner `jvp`: it began last. It applies the JVP
# rule, and the primitives which the rule binds go to its parent. That is the trace of the outer `jvp`,
# which applies rules too, and *its* parent is `EvalTrace`, which computes.
#
# So each primitive falls down a stairway of traces, and on each step becomes several. Here is what
# becomes of one `sin`. A frame is a trace, the innermost on top; a box is a primitive that arrives there,
# with its operands.

# %%
from tinyjax import viz

viz.trace_stack(derivative(derivative(jnp.sin)), 3.0)

# %% [markdown]
# Read it from top to bottom. One `sin` arrives at the inner jvp (`JVPTrace 2`). Its rule asks for three
# primitives: the sine, the cosine, and the product of tangent and cosine. These arrive at the outer jvp
# (`JVPTrace 1`), and each of them becomes two to four at the bottom, where plain numbers are computed.
# Each trace does its own work and knows nothing of the others.
#
# To walk down the stairway yourself, run
# `python -m tinyjax step tutorials/wave.py:curvature --args 3.0`, and `into` at each step.
#
# ## A small program, and a wrong answer
#
# Now for the mistake. Here is a derivative inside a derivative, and the inner function looks at the outer
# `x`:


# %%
def outer(x):
    def inner(y):
        return x + y

    return x * derivative(inner)(1.0)


# %% [markdown]
# By hand: `x + y` moves exactly as fast as `y` does, whatever `x` is. So the inner derivative is 1,
# `outer(x)` is `x * 1`, and its derivative is 1. Let us see what the trace of lesson 2 has to say. Here
# it is again, a little shorter:
#
# <details><summary>By hand, the answer is 1. What will the trace of lesson 2 say, which takes every
# <code>Pair</code> for its own?</summary>
#
# 2, which is wrong. Its answers in lesson 2 were right, for there was one trace at a time.
# </details>

# %%
from tinyjax import core, lax
from tinyjax.core import primitives


class Pair(core.Tracer):
    def __init__(self, trace, primal, tangent):
        self._trace, self.aval = trace, core.get_aval(primal)
        self.primal, self.tangent = primal, tangent


class PairTrace(core.Trace):
    def __init__(self, parent):
        self.parent = parent

    def is_mine(self, x):
        return isinstance(x, Pair)

    def process_primitive(self, primitive, args, params):
        primals = [x.primal if self.is_mine(x) else x for x in args]
        tangents = [x.tangent if self.is_mine(x) else 0.0 for x in args]
        with core.set_current_trace(self.parent):
            return Pair(self, *rules[primitive](*primals, *tangents))


def add_rule(x, y, x_dot, y_dot):
    return lax.add(x, y), lax.add(x_dot, y_dot)


def mul_rule(x, y, x_dot, y_dot):
    return lax.mul(x, y), lax.add(lax.mul(x_dot, y), lax.mul(x, y_dot))


rules = {primitives.add_p: add_rule, primitives.mul_p: mul_rule}


def push(function, x, trace_type):
    """How fast the result moves if x moves at speed 1."""
    trace = trace_type(core.context.trace)
    with core.set_current_trace(trace):
        return function(Pair(trace, x, 1.0)).tangent


def outer_pushed(x, trace_type):
    return x * push(lambda y: x + y, 1.0, trace_type)


print("by hand:          1.0")
print("trace of lesson 2:", push(lambda x: outer_pushed(x, PairTrace), 1.0, PairTrace))
print("jax.jvp:         ", derivative(outer)(1.0))

# %% [markdown]
# It says 2. What went wrong? Follow `x + y` into the inner trace:
#
# - `y` is a `Pair` of the inner trace. It moves at speed 1, and that is the movement we ask about.
# - `x` is a `Pair` too, but of the *outer* trace. It moves at speed 1 as well: in another experiment.
# - The inner trace sees two Pairs, takes both tangents for its own, and adds them: 2.
#
# Two movements that have nothing to do with each other were mixed up. This is called **[perturbation
# confusion](glossary.md#perturbation-confusion)** (a perturbation is a small movement). Real systems
# for differentiation have had this bug, some for years: it needs nesting *and* a function that looks at
# an outer variable, so simple tests pass.
#
# ## One question keeps them apart
#
# A trace must not ask "is this a Pair?" but "is this *my* Pair?". A tracer knows the trace that it
# belongs to.


# %%
class CarefulTrace(PairTrace):
    def is_mine(self, x):
        return isinstance(x, Pair) and x._trace is self


print("careful trace:", push(lambda x: outer_pushed(x, CarefulTrace), 1.0, CarefulTrace))

# %% [markdown]
# For the inner trace the outer `x` is now a constant, like any number: it does not move in *this*
# experiment. And nothing is lost. The rule computes `x + y` under the parent, the outer trace; there
# `x` is known, and its movement is carried on.
#
# This is the whole safety of nested differentiation, and there are just two places for it. In
# [jvp.py](../tinyjax/transform/jvp.py), the methods of `JVPTrace`:
#
# 1. `primal_and_tangent` asks whose tracer it is. What is not its own is a constant, whose tangent is a
#    [Zero](glossary.md#zero).
# 2. `process_primitive` calls the rule with the parent as the current trace, so that everything which is
#    left to do is done one step further out.
#
# If *no* operand is its own, `process_primitive` looks for no rule: the primitive is not its
# business, and goes to the parent as it is. So a primitive costs next to nothing in a trace that it
# does not concern.
#
# What if `process_primitive` made `EvalTrace` the current trace, instead of the parent? As long as nothing is
# nested, `EvalTrace` is the parent. But here a tracer of the outer trace would arrive at NumPy, which can't
# compute with it:

# %%
import textwrap


def attempt(function, *args):
    try:
        print(function(*args))
    except Exception as error:
        print(textwrap.fill(f"{type(error).__name__}: {error}", 96))


class HastyTrace(CarefulTrace):
    def __init__(self, parent):
        self.parent = core.EvalTrace()


attempt(push, lambda x: outer_pushed(x, HastyTrace), 1.0, CarefulTrace)

# %% [markdown]
# ## Leaks
#
# The message names a tracer that *leaked*. Usually that happens in another way: a function that is
# transformed stores its argument somewhere, and it is used there later.

# %%
found = []


def careless(x):
    found.append(x)
    return f(x)


derivative(careless)(3.0)
attempt(jnp.sin, found[0])

# %% [markdown]
# When the transformation is over, its trace is gone, and nobody can say what `sin` of its tracer should
# be. A **[leaked tracer](glossary.md#leaked-tracer)** is an error for that reason, at the first
# operation that touches it. The remedy is in the message: let the function *return* what it has to say.
#
# ## Python's `if`
#
# In lesson 2 there was a Python loop in the function. Branches work too. `jvp` carries real values, so
# Python can look at them, however deeply they are packed:
#
# <details><summary><code>bend</code> is <code>x * x</code> to the right of 0, and <code>2 * x</code> to
# the left. What is its second derivative at 3 and at -3: can Python's <code>if</code> look through two
# tracers?</summary>
#
# 2 and 0. Behind both tracers there is a number, and Python is shown that.
# </details>


# %%
def bend(x):
    return x * x if x > 0.0 else 2.0 * x


for x in (3.0, -3.0):
    print("at", x, ":", derivative(bend)(x), "and", derivative(derivative(bend))(x))

# %% [markdown]
# `x > 0.0` binds a primitive, `gt`. A comparison does not move, and so its result needs no tracer: it
# is an ordinary `Array`, which Python can ask whether it is true. But Python can also ask a tracer
# itself, as `while x:` does. The method `concrete` returns the value behind a tracer: its primal; or if that
# is a tracer, the value behind that one, and so on. Some tracers have no value behind them: `jit` runs a
# function once, for all values at the same time, and so there is no 3.0 in its tracers. There, `if` and
# `while` are errors (lesson 6).
#
# ## What nesting costs
#
# Each derivative makes several primitives of one. How many are there?
#
# <details><summary><code>f</code> has two primitives. About how many has its fifth derivative, and how
# many of them are different?</summary>
#
# Over three hundred, and eight. Nearly all of them compute again what others have computed: sine, cosine
# and x are all that there is.
# </details>

# %%
function = f
for order in range(6):
    jaxpr = jax.make_jaxpr(function)(3.0)
    # What jit's compiler makes of it (lesson 11):
    simplified = jax.jit(function).lower(3.0).compiler_ir("simplified")
    print(f"derivative {order}: {len(jaxpr.eqns):3} primitives, {len(simplified.eqns)} different")
    function = derivative(function)

# %% [markdown]
# The number doubles and more with each order. Many of them compute the same: sine and cosine of 3 over
# and over. The compiler of `jit` finds such repetitions, and computes nothing twice (second column).
# For the tenth derivative there is a better way than nesting, which carries all orders at once:
# `jax.experimental.jet`. For a few orders nesting does: exercise 03.3 makes a polynomial of a function, by
# its derivatives at one point.
#
# ## Any transformation in any other
#
# Nothing in this lesson was about `jvp` alone. Each transformation is a trace, each trace has a parent,
# and each knows its own tracers. So all of them can be nested, in any order:

# %%
x = jnp.array([0.0, 1.0, 2.0, 3.0])
second = derivative(derivative(f))
print("vmap(second)   ", jax.vmap(second)(x))
print("jit(vmap(...)) ", jax.jit(jax.vmap(second))(x))
print("derivative of a vmap:", derivative(lambda t: jax.vmap(f)(t * x)[3])(1.0))

# %% [markdown]
# ## Where tinyjax differs from JAX
#
# JAX asks the same question in slightly other words. A JAX tracer knows its trace as well, but
# `JVPTrace` compares a *tag*, an object that one call of `jvp` gives to all traces that work for it. In
# tinyjax, one trace works for a call, and so the trace is its own tag.
#
# Until the end of 2024 JAX kept an explicit stack of traces, each with a number, its level; many
# explanations that you will find on the web, autodidax among them, still show that. What you have seen
# here is how it works today.
#
# And as a picture: forward mode through the derivative of `f`, which is itself forward mode through `f`.
# Primal and tangent at the end are first and second derivative. Nothing uses the box on the left: that is
# the value of `f`, which `derivative` does not ask for.

# %%
viz.jvp(derivative(f), 3.0)

# %% [markdown]
# ## Summary
#
# - Traces form a stairway: a rule's primitives go to the parent, the trace that was current before.
# - Each trace treats its own tracers alone as moving; all else is constant, and so no tangents are
#   confused.
# - A tracer is of no use once its trace is over; a value behind it can be seen, if it has one.
#
# ## Do you know?
#
# <details><summary>How does a trace know which tracers are its own?</summary>
#
# Each tracer keeps its trace, and the two are compared by identity. To a trace, a tracer of any other is
# a constant.
# </details>
#
# <details><summary>Two <code>jvp</code> are nested. Which trace gets what the inner one's rules
# bind?</summary>
#
# The outer one: it was current before the inner one, and is its parent.
# </details>
#
# <details><summary>Let <code>d</code> be the derivative of <code>x + y</code> with respect to
# <code>y</code>. What is the derivative of <code>x * d</code> with respect to <code>x</code>?</summary>
#
# 1. The inner derivative is 1, whatever `x` is. An answer of 2 takes the outer tangent of `x` for an
# inner one: perturbation confusion.
# </details>
#
# ## Exercises
#
# Write the methods of `JVPTrace` that keep tangents apart, and then use nesting:
# `python -m tinyjax learn start 03`.
#
# ## Where this lives in JAX
#
# - `jax/_src/interpreters/ad.py`: `JVPTrace.to_primal_tangent_pair` asks the question;
#   `process_primitive` goes one step out.
# - `jax/_src/core.py`: `TraceTag`, `set_current_trace`, `escaped_tracer_error`, `concrete_or_error`.
# - Siskind and Pearlmutter, *Perturbation confusion and referential transparency* (2005), named the
#   mistake.
