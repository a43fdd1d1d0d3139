from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 12. Fusion, and measuring honestly
#
# Why is compiled code faster than NumPy? Not because it is C: NumPy is C too. It is because of
# what is *not* done: arrays that are never written to memory. This lesson is about who decides
# that, and about how to find out whether it was worth it. After this lesson you can
#
# - say how many kernels a function becomes, and why each stored value is stored;
# - count the bytes that a program moves, before it runs;
# - measure transfer, compilation and run time apart, and say which mistake makes a time
#   meaningless;
# - compare with NumPy honestly, and say where there is nothing to gain;
# - find the slow step of a program, and write or search for a faster schedule.
#
# What is timed on this page was timed on one machine. Your times differ; the counts do not.

# %%
import contextlib
import io
import statistics
import tempfile
import time
import timeit

import numpy as np
from practice.schedules import cycles, scaled_rows

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz
from tinyjax.compile.cost import cost_lines, plan_cost
from tinyjax.compile.fusion import cost_model
from tinyjax.compile.fusion.cost_record import jaxpr_cost
from tinyjax.compile.kernel.rules import lowering_rules
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import groups_lines, make_plan
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.compile.target import CPU
from tinyjax.studio.tune import tune

# %% [markdown]
# ## Memory is slow
#
# Here is the running example once more, for a million numbers. What does NumPy do for `np.sin(x) *
# x`? It reads `x`, and writes the sines to memory. Then it reads the sines, reads `x` again, and
# writes the products. Five arrays of four million bytes pass between the processor and memory, to
# compute two operations for each element. One kernel for both reads `x`, writes the result, and
# that is all: two arrays. The compiler counts the same, if each equation runs by itself, and as it
# is planned:


# %%
def f(x):
    return jnp.sin(x) * x


def planned(function, *args):
    """The plan of a function for a CPU; no device is needed for it."""
    return make_plan(simplify(jax.make_jaxpr(function)(*args)), CPU)


x = jnp.linspace(0, 10, 1_000_000)
print("by itself:", jaxpr_cost(jax.make_jaxpr(f)(x).jaxpr).as_dict())
print("planned:  ", plan_cost(planned(f, x)).as_dict())

# %% [markdown]
# A core can do dozens of operations in the time in which one number comes from memory. So for most
# programs of NumPy's kind it is the bytes that count, not the arithmetic.
# **[Fusion](glossary.md#fusion)** is to compute several equations in one kernel, so that what they
# hand to each other stays in registers.
#
# ## What is stored?
#
# A kernel can compute each element of its result from the elements that it needs, back through all
# equations. It could go on to the arguments, always. So the question is not what to fuse. It is
# where to stop: which values are **[stored](glossary.md#stored-value)** in memory. Let us try some
# programs. `groups_lines` prints a line for each [kernel](glossary.md#kernel), with the equations
# inside, and why something is stored that the program does not return.
#
# <details><summary>How many kernels will these be: <code>f</code>, its sum, <code>f</code> divided by its
# sum, and the softmax of 300 rows?</summary>
#
# One each.
# </details>


# %%
def show(function, *args):
    print(*groups_lines(planned(function, *args)), sep="\n")


x = jnp.linspace(0, 10, 1000)
show(f, x)
show(lambda x: jnp.sum(f(x)), x)
show(lambda x: f(x) / jnp.sum(f(x)), x)
show(jax.nn.softmax, jnp.ones((300, 200)))

# %% [markdown]
# One kernel each. The sum joins what it adds up. And what follows a sum joins too, as long as it
# is for the same row: a row of softmax is read once, and stays with the core that works on it
# (`rows`). The next one is not one kernel:
#
# <details><summary>Which value is stored between the two kernels, and how many elements has it?</summary>
#
# The thousand sines, times x: a million readers would compute each of them a thousand times.
# </details>

# %%
show(lambda x: x[:, None] + f(x)[None, :], x)

# %% [markdown]
# The result has a million elements, and each needs one of a thousand sines. Computed where it is
# read, each sine would be computed a thousand times over. So it is stored. But not everything that
# is repeated is worth a place in memory:

# %%
show(lambda x: x[:, None] + (2 * x)[None, :], x)

# %% [markdown]
# To double a number is cheaper than to fetch it. Where is the border? The compiler guesses the
# **[work](glossary.md#work)** of a value: the number of simple operations for one element, with all
# that is recomputed for it. Up to `CHEAP_WORK` operations, a value is recomputed without further
# thought. All numbers of that kind stand in one file,
# [cost_model.py](../tinyjax/compile/fusion/cost_model.py), with the measurements that they are from.
#
# <details><summary>A product is one operation. From how many products in a row on will the chain be
# stored?</summary>
#
# From seven on, as six are cheap.
# </details>

# %%
for name in ("mul", "div", "sin"):
    rule = next(rule for p, rule in lowering_rules.items() if p.name == name)
    print(f"{name}: {rule.cost}")
print("CHEAP_WORK:", cost_model.CHEAP_WORK)


def chain(count):
    """A function that multiplies `count` times, and then is repeated."""

    def repeated(x):
        y = x
        for _ in range(count):
            y = y * 1.5
        return x[:, None] + y[None, :]

    return repeated


for count in (5, 6, 7, 8):
    print(count, "products:", len(planned(chain(count), x).groups), "kernels")

# %% [markdown]
# What if a costly value has two readers? If both take the element at their own place, they share
# it, in a register. If one takes it from somewhere else, the value is stored:
#
# <details><summary><code>f(x)</code> is used three times in the first program, and twice in the second.
# In which of them is it stored?</summary>
#
# In the second: there, its readers need it at different places.
# </details>

# %%
show(lambda x: f(x) + f(x) * f(x), x)
show(lambda x: f(x) + f(x)[::-1], x)

# %% [markdown]
# And there are values of which there is no choice: those that the program returns, and what a
# [host step](glossary.md#host-step) or a loop reads or makes. Products of matrices are a kind of
# their own. Each element of an operand is needed for a whole row of results, so what a product
# reads is stored if it is costly. What follows a product, elementwise, is computed before the
# result is written:

# %%
a, b = jnp.ones((300, 200)), jnp.ones((200, 100))
show(lambda a, b: jnp.maximum(a @ b, 0), a, b)
show(lambda a, b: f(a) @ b, a, b)

# %% [markdown]
# That is what decides for most values. It is one method of [fuse.py](../tinyjax/compile/fusion/fuse.py),
# `_reason_to_store`, whose last two points are half of exercise 12.4. To put it in words:
#
# - what the host reads is stored;
# - what is cheap is not;
# - what is costly is stored if one reader asks for more elements than there are, or if several
#   readers ask for it at different places.
#
# Around it stand a few more reasons. What leaves a reduction's kernel is stored, and what a product reads, as
# seen above. A value is also stored if a kernel would get too many equations, or index maps upon index maps,
# and on some devices if it is a sum. `as_text("groups")` always shows which it was.
#
# Several results of the same shape then share a kernel, where that is possible: none of them may
# need an element of another that another work-item makes, for nobody knows whether it is there
# yet. (`_why_not_read`, the other half.)
#
# ## A layer
#
# Now a program with two kernels: a product, the running example as its activation, and a softmax.


# %%
def layer(x, w):
    return jax.nn.softmax(f(x @ w))


x, w = jnp.ones((256, 64)), jnp.ones((64, 128))
plan = planned(layer, x, w)
print(*groups_lines(plan), "", *cost_lines(plan), sep="\n")

# %% [markdown]
# (Why did `f` not join the product, as `maximum` did? The kernel of the softmax took it, for it
# reads the same rows.)
#
# The last table is a prediction. `flops` are simple operations, `functions` are `sin` and `exp`,
# and `per byte` is how many of both there are for a byte that is read or written. A kernel with
# few of them waits for memory; one with many (the product of matrices, as ever) keeps the cores
# busy.

# %%
cpu = jax.devices("cpu")[0]
x, w = jax.device_put(x, cpu), jax.device_put(w, cpu)
viz.kernels(jax.jit(layer).lower(x, w))

# %% [markdown]
# ## Four ways to measure nothing
#
# A prediction must be checked. That is easy to get wrong, in one of four ways. (By default,
# tinyjax answers the first calls by NumPy, while a driver builds the kernels. For measurements, we
# want to wait for them.)

# %%
jax.config.update("tinyjax_background_build", False)
rng = np.random.default_rng(0)
numbers = rng.standard_normal(4_000_000).astype(np.float32)

# %% [markdown]
# **The first: to stop the clock before the work is done.** A call launches kernels and comes back
# at once; the result is an array that is still being computed. That is on purpose: Python can
# prepare the next call meanwhile. It is called **[asynchronous
# dispatch](glossary.md#asynchronous-dispatch)**. Who reads the array waits. To wait without
# reading, call `block_until_ready`. (Where the kernel takes the very core that Python runs on, the
# call is late to come back, and both times are alike. Then try again.)

# %% varies
x = jax.device_put(numbers, cpu).block_until_ready()
fast_f = jax.jit(f)
fast_f(x).block_until_ready()

start = time.perf_counter()
y = fast_f(x)
returned = time.perf_counter()
y.block_until_ready()
done = time.perf_counter()
print(f"the call came back after {1e3 * (returned - start):.2f} ms")
print(f"the result was there after {1e3 * (done - start):.2f} ms")

# %% [markdown]
# **The second: to measure the compiler.** The first call traces, lowers, builds. Here is what each
# of that takes, and then what a call takes:


# %% varies
def milliseconds(function, *args):
    """What a call takes that is waited for, and its result."""
    start = time.perf_counter()
    result = jax.block_until_ready(function(*args))
    return 1e3 * (time.perf_counter() - start), result


new = jax.jit(lambda x: jnp.cos(x) * x + 0.25)  # nobody has compiled this yet
time_to_trace, traced = milliseconds(new.trace, x)
time_to_lower, lowered = milliseconds(traced.lower)
time_to_build, compiled = milliseconds(lowered.compile)
print(f"trace {time_to_trace:8.2f} ms")
print(f"lower {time_to_lower:8.2f} ms")
print(f"build {time_to_build:8.2f} ms (less if the driver has built the same text before)")
for _ in range(3):
    print(f"call  {milliseconds(compiled, x)[0]:8.2f} ms")

# %% [markdown]
# (The first call of three takes longer: this driver puts off a part of its work until a kernel is
# launched. So do others.)
#
# **The third: to measure the way to the device.** A NumPy array must be brought to the device's
# memory, and the result back. On a CPU that is a copy; to a GPU it goes over a bus that is far
# slower than the memory on either side. In a real program, the data stay on the device from call
# to call. So measure them apart:

# %% varies
time_to_bring, x = milliseconds(jax.device_put, numbers, cpu)
time_to_run, y = milliseconds(fast_f, x)
time_to_read, _ = milliseconds(np.array, y)
print(
    f"to the device {time_to_bring:6.2f} ms, run {time_to_run:6.2f} ms, back {time_to_read:6.2f} ms"
)
print(f"a call with a NumPy array: {milliseconds(fast_f, numbers)[0]:.2f} ms")

# %% [markdown]
# **The fourth: to measure once.** Other programs run too, caches are cold or warm, clocks go up
# and down. Times are never too short by accident, only too long. So take several, and say what you
# took: the best one is what the program needs, the median what to expect.

# %% varies
times = [milliseconds(fast_f, x)[0] for _ in range(9)]
print("ms:", *(f"{t:.2f}" for t in times))
print(f"best {min(times):.2f}, median {statistics.median(times):.2f}, worst {max(times):.2f}")

# %% [markdown]
# ## SELU against NumPy
#
# SELU is an activation function: `x` where `x` is positive, and a multiple of `exp(x) - 1`
# elsewhere, all scaled. In NumPy one writes it like this. Before any clock is started: do both
# compute the same, in the same dtype? (NumPy likes to make float64 of things, which takes twice
# the time and would not be a fair race.)


# %%
def numpy_selu(x):
    alpha, scale = np.float32(1.6732632), np.float32(1.050701)
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


selu = jax.jit(jax.nn.selu)
sample = numbers[:1000]
print(numpy_selu(sample).dtype, selu(sample).dtype)
print("the same:", np.allclose(numpy_selu(sample), selu(sample), rtol=1e-5, atol=1e-6))
show(jax.nn.selu, x)

# %% [markdown]
# One kernel, which reads one array and writes one. NumPy has six operations, five of which write
# an array that only the next one reads.


# %% varies
def best(function, *args):
    """The best of the times that fit into 0.2 seconds (three at least), in microseconds a call. Each is of as
    many calls as take a millisecond: the clock of a browser has steps of 0.1."""
    timer = timeit.Timer(lambda: jax.block_until_ready(function(*args)))
    timer.timeit(1)  # traces and compiles
    calls = 1
    while (seconds := min(timer.repeat(3, calls))) < 0.001:
        calls *= 4
    return 1e6 / calls * min(timer.repeat(max(3, int(0.2 / seconds)), calls))


print("   elements     NumPy us   tinyjax us   faster by   tinyjax GB/s")
for size in (10, 1000, 100_000, 1_000_000, 4_000_000):
    part = numbers[:size].copy()
    on_device = jax.device_put(part, cpu)
    numpy_us, tinyjax_us = best(numpy_selu, part), best(selu, on_device)
    speed = 2 * part.nbytes / tinyjax_us / 1e3
    row = f"{size:11,} {numpy_us:12,.1f} {tinyjax_us:12,.1f}"
    print(f"{row} {numpy_us / tinyjax_us:11.1f} {speed:14.2f}")

# %% [markdown]
# For ten numbers, NumPy is faster, or as fast. A call of a compiled function looks up its key and
# launches a kernel, which takes ten microseconds or more, whatever the size. Many small jitted calls
# make a slow program: put `jit` around the whole.
#
# For a million, the factor is large. Do not stop here: a factor that you cannot explain is a
# mistake that you have not found yet. NumPy's six operations move about twelve arrays, the
# kernel two. That explains a factor of six. Where is the rest? Take the operations one by one:

# %% varies
million = numbers[:1_000_000].copy()
negative, is_positive = np.minimum(million, 0), million > 0
scale = np.float32(1.050701)
for name, operation in {
    "x > 0": lambda: million > 0,
    "minimum": lambda: np.minimum(million, 0),
    "expm1": lambda: np.expm1(negative),
    "times alpha": lambda: scale * negative,
    "where": lambda: np.where(is_positive, million, negative),
    "times scale": lambda: scale * million,
    "(exp, in place of expm1)": lambda: np.exp(negative),
}.items():
    print(f"{best(operation):10,.1f} us  {name}")

# %% [markdown]
# So most of the time is spent in one or two of them, and in which depends on the processor. NumPy chooses the
# code of a function when it is loaded, by the vector instructions that there are. With AVX-512 its `expm1` is
# computed in vectors, and is as fast as `exp`; with less, one number after the other, and takes several times
# as long. `where` has another reason: half of the numbers are positive, in no order, and if NumPy's code
# jumps, the processor cannot guess where. The kernel computes `expm1` in vectors, and chooses without a jump.
# That has nothing to do with fusion. Besides, the kernel runs on all cores, and NumPy's operations on one.
# The running example is a better test of fusion: NumPy's `sin` is fast on most processors, and it moves five
# arrays in place of two.

# %% varies
on_device = jax.device_put(million, cpu)
numpy_us, tinyjax_us = best(lambda x: np.sin(x) * x, million), best(fast_f, on_device)
print(
    f"NumPy {numpy_us:,.1f} us, tinyjax {tinyjax_us:,.1f} us, a factor of {numpy_us / tinyjax_us:.1f}"
)

# %% [markdown]
# ## A product of matrices against NumPy
#
# NumPy hands a product of matrices to a library called BLAS, which experts have tuned for each
# processor for decades. There is little to gain. But a kernel can be fused with what follows, and
# shares its work with cores as they become free, while BLAS gives each thread its share before it
# begins. So tinyjax writes kernels for products, and hands only two kinds of large ones to BLAS:
# those of few rows, and those of a matrix with its transpose, of which BLAS computes a half. The
# groups say so:

# %%
square = jax.ShapeDtypeStruct((2048, 2048), jnp.float32)
show(jnp.matmul, square, square)
show(jnp.matmul, jax.ShapeDtypeStruct((64, 2048), jnp.float32), square)

# %% varies
print("   size     NumPy us   tinyjax us   tinyjax GFLOP/s")
product = jax.jit(jnp.matmul)
for size in (16, 64, 256, 512):
    m = numbers[: size * size].reshape(size, size).copy()
    on_device = jax.device_put(m, cpu)
    numpy_us, tinyjax_us = best(np.matmul, m, m), best(product, on_device, on_device)
    print(f"{size:7} {numpy_us:12,.1f} {tinyjax_us:12,.1f} {2 * size**3 / tinyjax_us / 1e3:17.1f}")

# %% [markdown]
# As fast as BLAS is what one can hope for. If, by a table like this one, you are ten times as
# fast, look for the mistake: another program was running, say, and BLAS waits for all of its
# threads.
#
# ## Which step is slow?
#
# For a program of several steps, one number is not enough. `jax.profiler.step_times` runs it a few
# times, and gives the microseconds of each step, by its number in the schedule. One of tinyjax's
# shortcuts launches neighbouring kernels as one; without it, each has its own time:

# %% varies
x, w = (
    jax.device_put(rng.standard_normal(s).astype(np.float32), cpu) for s in ((2048, 64), (64, 512))
)
jax.config.update("tinyjax_fast", False)
fast_layer = jax.jit(layer)
step_times = jax.profiler.step_times(lambda: fast_layer(x, w))
for steps, microseconds in step_times.items():
    print(f"{microseconds:10,.1f} us  step {', '.join(map(str, steps))}")

# %% [markdown]
# For a longer run, there is `jax.profiler.trace`: it records each launch within a block, and
# writes a file that [Perfetto](https://ui.perfetto.dev) shows on a time axis. `summary` prints a
# line for each kernel:

# %% varies
with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
    for _ in range(10):
        fast_layer(x, w).block_until_ready()
print(jax.profiler.summary())
jax.config.update("tinyjax_fast", True)

# %% [markdown]
# On the command line, `python -m tinyjax explain FILE:FUNCTION --args ...` shows all of this on
# one page.
#
# ## Your own schedule
#
# What can be done about a slow kernel? Fusion decides what a kernel computes: a naive loop nest, one element
# at a time, by one work-item. What makes it fast is its **[schedule](glossary.md#schedule-of-a-kernel)**: a
# list of [directives](glossary.md#directive), each of which rewrites one loop, named by its variable.

# %%
table, scale = jnp.ones((60, 100)), jnp.ones(60)
lowered = jax.jit(scaled_rows).lower(*(jax.device_put(x, cpu) for x in (table, scale)))
print(lowered.as_text("loop nests"))

# %% [markdown]
# `Vectorize("i2", 16)` makes two loops of one, and one iteration of the inner one's 16, in
# [vectors](glossary.md#vector); the last vector holds the four that are left. If the iterations add up,
# there are then 16 sums, which have to become one (12.3). `Split` is the first step alone: exercise 12.1 does
# it in the toy language of lesson 11, 12.2 is the real one. `Parallelize` shares a loop out among work-items.
# `with_schedule` takes any others:
#
# <details><summary>A processor that does one statement a cycle, with a number or a vector, has four cores.
# How many times as fast can a kernel become on it?</summary>
#
# At most 16 times 4. A row of 100 elements needs seven vectors of 16: that is 14 times, not 16. And tinyjax's
# own schedule makes two work-items of these 60 rows, as a smaller one isn't worth its launch: 14 times 2.
# </details>

# %%
own = lowered.with_schedule("k0", [Vectorize("i2", 4)])
(naive,) = (kernel.naive for kernel in lowered.compiler_ir("kernel"))
for name, program in {"vectors of 4": own, "tinyjax's own": lowered}.items():
    (kernel,) = program.compiler_ir("kernel")
    print(f"{name:14} {cycles(naive) / cycles(kernel):5.1f} times as fast, if cycles are counted")

# %% varies
table, scale = jax.device_put(numbers.reshape(2000, 2000), cpu), jax.device_put(numbers[:2000], cpu)
lowered = jax.jit(scaled_rows).lower(table, scale)
own = lowered.with_schedule("k0", [Vectorize("i2", 4)])
for name, program in {
    "naive": lowered.with_schedule("k0", []),
    "vectors of 4": own,
    "tinyjax's own": lowered,
}.items():
    print(f"{best(program.compile(), table, scale):10,.1f} us  {name}")

# %% [markdown]
# Time says more than a count does: here memory is the limit, and an OpenCL driver makes vectors by itself
# where it can. Exercise 12.6 asks for a schedule by count: a fortieth of the naive kernel's cycles.
#
# ## Let a search choose
#
# tinyjax chooses a schedule by rules, without running anything. Rules can be wrong for a program or a
# machine. `tune` measures instead: it begins with the naive nest and with tinyjax's own schedule, adds a
# directive to the few fastest ones, measures the results, and repeats that until nothing gets faster: a
# **[beam search](glossary.md#beam-search)**. It prints each schedule that it tries, with the time of a call,
# and at the end the result. Here are the first few lines and the last one:


# %% varies
def searched(function, *args, **how):
    """The schedules that tune finds."""
    with contextlib.redirect_stdout(io.StringIO()) as tried:
        found = tune(jax.jit(function), *args, **how)
    first, last = tried.getvalue().splitlines()[:9], tried.getvalue().splitlines()[9:]
    print(*first, f"... and {len(last[:-1])} more ...", *last[-1:], sep="\n")
    return found


def scaled_powers(x):
    """The exponentials of each row, times its first element."""
    return jnp.exp(x) * x[:, :1]


rows = jax.device_put(numbers[:64_000].reshape(64, 1000), cpu)
found = searched(scaled_powers, rows, seconds=5)

# %% [markdown]
# To keep what was found, give it to the lowered program. What `compile` returns is called like the jitted
# function, with arrays of these shapes:

# %% varies
lowered = jax.jit(scaled_powers).lower(rows)
for kernel, schedule in found.items():
    lowered = lowered.with_schedule(kernel, schedule)
tuned = lowered.compile()
print(lowered.as_text("schedule of k0"))
print("the same:", np.allclose(tuned(rows), scaled_powers(rows), rtol=1e-5))

# %% [markdown]
# What a search finds depends on the clock, and on where it begins. Instead of a clock, `tune` takes any
# function of the lowered program, so it can count cycles too. Does it find the best schedule for
# `scaled_rows`? Two directives, vectors and four work-items, take a 56th of the naive kernel's cycles.


# %% varies
def count(lowered, *args):
    """The cycles of a program of one kernel, in millions."""
    (kernel,) = lowered.compiler_ir("kernel")
    return cycles(kernel) / 1e6


searched(scaled_rows, jnp.ones((60, 100)), jnp.ones(60), seconds=4, timer=count)
print(f"naive: {cycles(naive):,}, a 56th of it: {cycles(naive) // 56:,}")

# %% [markdown]
# It doesn't. Vectors alone are slower than tinyjax's own schedule, and so are many work-items alone. The few
# schedules that are extended are all longer ones of tinyjax's own, with its two work-items. If you understand
# the kernel, you can beat both the rules and the search: exercise 12.6. The search itself is exercise 12.7.
#
# ## Where tinyjax differs from JAX
#
# - The four mistakes are the same, and so are `block_until_ready`, `jax.profiler.trace`,
#   `cost_analysis` and what it counts. `step_times`, `summary` and the stage `groups` are
#   tinyjax's own.
# - In JAX, schedules are XLA's alone. On a GPU it measures a few of them too, for products and
#   convolutions (`--xla_gpu_autotune_level`). TVM searches as `tune` does, with a cost model that learns
#   from the measurements.
# - XLA fuses by rules of the same kind, with a far larger cost model. On a CPU, it writes kernels
#   for products too, and calls libraries for the large ones.
# - JAX compiles at the first call, and waits. tinyjax answers by NumPy meanwhile, unless told
#   otherwise.
#
# ## The picture
#
# The layer with its times. A frame is a step, and its border is the thicker, the longer it takes.
# A thick arrow is an array in memory; a thin one never leaves registers.

# %% varies
viz.kernels(fast_layer.lower(x, w), step_times)

# %% [markdown]
# ## Summary
#
# - Fusion chooses which values are stored: those that are costly and would be computed again, and
#   those that it must.
# - Wait for the result, leave compilation and transfer out, repeat, and compare the same
#   computation.
# - Explain each factor before you believe it: bytes, instructions, cores, or a mistake.
#
# ## Do you know?
#
# <details><summary>A cheap value is read by two kernels. Is it stored?</summary>
#
# No. Each of them computes it again, which takes less time than to write it to memory and to read it.
# </details>
#
# <details><summary>Why isn't the first call of a jitted function measured?</summary>
#
# It traces and compiles. And of any call, wait for the result: it returns before its kernels have run.
# </details>
#
# <details><summary>A kernel reads 16 MB, and the memory gives 16 GB a second. How fast can it
# be?</summary>
#
# It takes a millisecond at least, however little it computes.
# </details>
#
# ## Exercises
#
# `python -m tinyjax learn start 12` makes a folder in which these functions are empty, for you to
# write again.
#
# ## Where this lives in JAX
#
# - Fusion is XLA's: `xla/service/instruction_fusion.cc`, `xla/service/cpu/`,
#   `xla/service/gpu/transforms/priority_fusion.cc`
# - `xla/service/hlo_cost_analysis.cc`: the counts of `cost_analysis`
# - `jax/_src/profiler.py`: traces; `jax/_src/array.py`: `block_until_ready`
# - JAX's own page on measuring: <https://docs.jax.dev/en/latest/benchmarking.html>
