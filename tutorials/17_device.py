from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 17. From text to device
#
# [Lesson 11b](11b_kernel_to_c.py) ended with a text in OpenCL C. Who runs it? After this lesson you can
#
# - build and launch a kernel by hand, in forty lines, and name each thing that takes part;
# - say what a work-item is, how many a kernel gets, and why 100 elements get one;
# - say when a call waits, and for what;
# - read a memory plan: which value lies in which memory, and when;
# - say how the rows of a softmax are shared out.
#
# You need [lesson 12](12_fusion.py). Everything here happens below the jaxpr, and nothing in the lessons
# after 12 needs it. Where there is a question, answer it before you open it.

# %%
import time

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz
from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.lowered import lower_jaxpr
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import make_plan
from tinyjax.compile.target import CPU, GPU
from tinyjax.runtime.memory import Pool
from tinyjax.runtime.queues import queue_of

jax.config.update("tinyjax_fast", False)  # no shortcuts: each kernel is launched by itself
cpu = jax.devices("cpu")[0]


def f(x):
    return jnp.sin(x) * x


# %% [markdown]
# ## Forty lines
#
# OpenCL is a library that every maker of devices brings for theirs: the *driver*. pyopencl makes its
# functions callable from Python. To it, a program is a text. This one has one kernel, the running example,
# for a *single* element:

# %%
text = """
kernel void wave(global const float *a_in, global float *c_out) {
  const int item = get_global_id(0);
  const float a = a_in[item];
  const float b = sin(a);
  const float c = b * a;
  c_out[item] = c;
}
"""

# %% [markdown]
# **A device, a context, a queue.** A *device* is what computes: here a CPU, with all of its cores. (The
# Device of JAX has the driver's own in `cl_device`.) A **[context](glossary.md#context)** is a circle of
# devices that share memory and programs. A **[queue](glossary.md#command-queue)** is where we put work for
# one device; it does it in order.

# %%
import pyopencl as cl

context = cl.Context([cpu.cl_device])
takes_times = cl.command_queue_properties.PROFILING_ENABLE
queue = cl.CommandQueue(context, properties=takes_times)

# %% [markdown]
# **Build.** The driver has a C compiler inside. It makes machine code of the text, for this device, while our
# program runs. That takes a tenth of a second or more, and is why a first call is slow.

# %%
program = cl.Program(context, text).build()
kernel = program.wave
print("kernel:", kernel.function_name, "with", kernel.num_args, "parameters")

# %% [markdown]
# **[Buffers](glossary.md#buffer).** A kernel can't see NumPy's arrays. It works in memory that belongs to the
# context: a number of bytes, with neither shape nor dtype. One is made of the bytes of `x`, the other is only
# room:

# %%
x = np.arange(100, dtype=np.float32)
flags = cl.mem_flags
a_in = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x)
c_out = cl.Buffer(context, flags.WRITE_ONLY, size=x.nbytes)
print("bytes:", a_in.size, c_out.size)

# %% [markdown]
# **Launch.** The arguments are set, then the kernel is *enqueued*: put into the queue, to be run 100 times.
# Each run is a **[work-item](glossary.md#work-item)**, and all that tells one from another is its number,
# `get_global_id(0)`. That is how each of them finds its element. (The last argument is how many of them are
# a *group*: on a CPU, one.) What we get is an **[event](glossary.md#event)**, which knows how far this launch
# is.

# %%
kernel.set_args(a_in, c_out)
event = cl.enqueue_nd_range_kernel(queue, kernel, (100,), (1,))

# %% [markdown]
# **Wait, and read.** The launch did not wait. To read the result, we must; `enqueue_copy` to a NumPy array
# waits by itself.

# %%
event.wait()
y = np.empty_like(x)
cl.enqueue_copy(queue, y, c_out)
print("as NumPy says:", np.allclose(y, np.sin(x) * x, atol=1e-4))

# %% varies
print(f"the device computed for {(event.profile.end - event.profile.start) / 1000:.1f} us")

# %% [markdown]
# That is all that a runtime does. Here is where tinyjax does it:
#
# | in pyopencl | in tinyjax |
# |---|---|
# | `cl.get_platforms()`, `get_devices()` | [devices.py](../tinyjax/runtime/devices.py): `jax.devices()` |
# | `cl.Context`, `cl.Program(...).build()` | [programs.py](../tinyjax/runtime/programs.py), once for all |
# | `cl.CommandQueue` | [queue.py](../tinyjax/runtime/queue.py), [queues.py](../tinyjax/runtime/queues.py) |
# | `cl.Buffer` | [memory.py](../tinyjax/runtime/memory.py): `Memory`, which also knows shape and dtype |
# | `set_args`, `enqueue_nd_range_kernel` | `Queue.launch` |
# | `event.wait()` | `Queue.wait`; `block_until_ready()` of an array |
# | `enqueue_copy` | `Queue.read`; `np.asarray` of an array |
#
# The same once more, with tinyjax's own names: a kernel that it has written, in a queue that it has opened.

# %%
lowered = lower_jaxpr(jax.make_jaxpr(f)(x), cpu, "f")
(launch,) = lowered.plan.launches
kernel = launch.kernel
print(kernel.name, [buffer.name for buffer in kernel.buffers], "work-items:", kernel.items)

our_queue = queue_of(cpu)
(built,) = our_queue.build(program_text([kernel]), [kernel.name])
memories = [our_queue.upload(x), our_queue.allocate(x.shape, x.dtype)]
our_queue.launch(built, kernel.items, 1, memories)
print("as by hand:   ", np.allclose(our_queue.read(memories[1]), y, atol=1e-4))

# %% [markdown]
# What `compile` makes of a program is a list of such launches, each a *step*. Every variable has a slot, a
# place in a list of `Memory`s. A step takes its arguments from there, and puts its results there
# ([step_program.py](../tinyjax/runtime/step_program.py)).
# A call walks through the steps: exercise 17.1, down to the launch.
#
# ## Work-items: who computes what?
#
# 100 elements, and one work-item? By hand, we took one for each element. It is our choice: a work-item can
# just as well have a loop. This kernel gives each of them a *run* of neighbours, and stores, for each
# element, which work-item was there:

# %%
runs = """
kernel void who(global int *out, int count, int run) {
  const int item = get_global_id(0);
  for (int i = item * run; i < min(item * run + run, count); ++i) out[i] = item;
}
"""
who = cl.Program(context, runs).build().who


def launched(count, items):
    """Which work-item had each element, and the milliseconds that it took."""
    out = np.empty(count, np.int32)
    buffer = cl.Buffer(context, flags.WRITE_ONLY, size=out.nbytes)
    run = -(-count // items)  # rounded up
    who.set_args(buffer, np.int32(count), np.int32(run))
    done = cl.enqueue_nd_range_kernel(queue, who, (items,), (1,))
    cl.enqueue_copy(queue, out, buffer)
    return out, (done.profile.end - done.profile.start) / 1e6


print(launched(20, items=20)[0])
print(launched(20, items=4)[0])
print(launched(20, items=3)[0])

# %% [markdown]
# Which number is best depends on the device. On a CPU, a work-item is a call of a function, by one of as many
# threads as there are cores. More items than cores bring nothing but more calls, and neighbours within one
# loop can be computed together, in [vectors](glossary.md#vector). To wake a sleeping thread takes
# microseconds, in which it could have computed thousands of elements. A GPU has thousands of work-items under
# way, and changes to another one whenever one waits for memory: it wants one for every few elements.

# %% varies
for items in (1, 16, 1_000, 1_000_000):
    best = min(launched(1_000_000, items)[1] for _ in range(5))
    print(f"{items:9,} work-items: {best:8.3f} ms")


# %% [markdown]
# (Here nothing is computed, so all of it is memory and calls.) tinyjax's numbers stand in the
# [target](glossary.md#target): a work-item should have `grain` elements or more, and there should be at most
# `max_items`.
#
# <details><summary>With a grain of 4096, how many work-items do 100 elements get on a CPU? How many do 10,000
# get? And on a GPU?</summary>
#
# On a CPU, 100 elements get 1. 10,000 get 3: one for each 4096 that are begun; they share the elements
# evenly. A GPU's grain is 4, which makes 25 work-items for 100 elements. But they come in groups of 256, so
# it is 256: 100 of them have an element each, and 156 find nothing to do.
# </details>


# %%
def items_of(size, target):
    closed = simplify(jax.make_jaxpr(f)(jax.ShapeDtypeStruct((size,), jnp.float32)))
    (kernel,) = make_plan(closed, target).all_kernels()
    return kernel.items


for size in (100, 10_000, 1_000_000):
    print(f"{size:9,} elements: on a CPU {items_of(size, CPU):3}, on a GPU {items_of(size, GPU):,}")

# %% [markdown]
# The loop's iterations are shared out by one directive of the kernel's
# [schedule](glossary.md#schedule-of-a-kernel),
# [parallelize.py](../tinyjax/compile/schedules/parallelize.py): `for i in 0 .. 10000` becomes
# `for i in item * 3334 .. min(item * 3334 + 3334, 10000)`.
#
# Work-items run in any order, some of them at the same time, and **nobody knows which**. So there is one law:
# no work-item may read what another one of the same launch writes.
#
# <details><summary>A kernel computes <code>out[i] = out[i - 1] + a[i]</code>, the running sum, by the loop of
# <code>who</code>. Is it right with one work-item? With one for each of a million elements?</summary>
#
# With one work-item it is right: its loop runs in order. With a million, `out[i - 1]` may not be there yet.
# What comes out is another thing from run to run, and right by accident at best.
# </details>

# %% varies
sums = """
kernel void running_sum(global const float *a, global volatile float *out, int count, int run) {
  const int item = get_global_id(0);
  for (int i = item * run; i < min(item * run + run, count); ++i)
    out[i] = (i == 0 ? 0.0f : out[i - 1]) + a[i];
}
"""
running_sum = cl.Program(context, sums).build().running_sum
count = 1_000_000
ones = cl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=np.ones(count, np.float32))
for items in (1, count):
    total = np.zeros(count, np.float32)
    out = cl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=total)
    running_sum.set_args(ones, out, np.int32(count), np.int32(count // items))
    cl.enqueue_nd_range_kernel(queue, running_sum, (items,), (1,))
    cl.enqueue_copy(queue, total, out)
    print(f"{items:9,} work-items: the last element is {total[-1]:,.0f}")

# %% [markdown]
# Right would also be two launches, the first of which sums up runs. A queue begins a launch when the one
# before is done: that is where tinyjax cuts a program into kernels, if something has to wait for all of
# something else. (There is one exception to the law. Work-items of a [work-group](glossary.md#work-group) can
# wait for each other at a *barrier*, and share *local memory*, which is fast on GPUs: sums are added up so.)
#
# ## Nobody waits
#
# `enqueue` comes back at once. A call of a jitted function enqueues all its steps, and gives arrays whose
# elements are not there yet. `event.command_execution_status` is how far a launch is: 3 is queued, 2 handed
# over, 1 running, 0 done. Read from a queue that is busy, and you wait; that is when errors of the device
# come up, too.

# %% varies
busy = jax.jit(lambda x: f(f(f(f(f(f(f(f(x)))))))))
big = jax.device_put(np.ones(8_000_000, np.float32), cpu)
busy(big).block_until_ready()  # what is compiled is there now
start = time.perf_counter()
result = busy(big)
print(f"after {time.perf_counter() - start:.4f} s the call is back; done: {result.is_ready()}")
result.block_until_ready()
print(f"after {time.perf_counter() - start:.4f} s the result is there; done: {result.is_ready()}")

# %% [markdown]
# Who makes things and does not wait must not throw away what they need: the queue keeps the arrays of each
# call until its event is over (`Queue.keep`), and lets at most eight calls be under way.
#
# ## The memory plan
#
# Here is a program of five kernels. Each reads an array from both ends, so that array must be
# [stored](glossary.md#stored-value) before. (From here on the target is named, so that what is shown is a
# CPU's with OpenCL wherever this runs: in a browser, kernels are WebAssembly.)


# %%
def there_and_back(x):
    for _ in range(4):
        y = f(x)
        x = y + y[::-1]
    return x


x = jnp.arange(100.0)
lowered = lower_jaxpr(jax.make_jaxpr(there_and_back)(x), cpu, "there_and_back", target=CPU)
print(lowered.as_text("groups"))

# %% [markdown]
# The argument and five arrays that kernels make: six times 400 bytes. But `c` is not read after kernel 1,
# and so its memory is free for what comes later. A value is **[live](glossary.md#live)** from the kernel that
# makes it to the last one that reads it. Two values that are never live together can have the same memory,
# and all that can be planned before anything runs:


# %%
def toy_memory_plan(groups, results):
    """For each value the buffer that it gets. A group is (what it reads, what it makes)."""
    last_reader = {v: n for n, (reads, _) in enumerate(groups) for v in reads}
    buffer_of, free = {}, []
    for n, (reads, makes) in enumerate(groups):
        for v in makes:
            buffer_of[v] = free.pop(0) if free else f"m{len(set(buffer_of.values()))}"
        for v in reads:
            if v in buffer_of and last_reader[v] == n and v not in results:
                free.append(buffer_of[v])
    return buffer_of


names = lowered.plan.names
groups = [
    ([names[v] for v in g.inputs], [names[v] for v in g.outputs]) for g in lowered.plan.groups
]
results = [names[v] for v in lowered.plan.closed.jaxpr.outvars]
buffer_of = toy_memory_plan(groups, results)
print(buffer_of)

# %% [markdown]
# <details><summary>Draw a table before you look: a row for each buffer, a column for each kernel. Which value
# is in which buffer, when?</summary>
#
# Two buffers do for five values: they take turns.
# </details>

# %%
print("kernel  ", *range(len(groups)))
for buffer in sorted(set(buffer_of.values())):
    row, inside = [], "."
    for _reads, makes in groups:
        inside = next((v for v in makes if buffer_of[v] == buffer), inside)
        row.append(inside)
    print(f"{buffer:8}", *row)

# %% [markdown]
# The argument's memory is not ours to write to: whoever called may still need it. (`jit(f, donate_argnums=0)`
# gives it away.) The **[memory plan](glossary.md#memory-plan)** of tinyjax is made the same way, in
# [memory_plan.py](../tinyjax/compile/memory_plan.py) (exercise 17.4), and counts bytes:

# %%
print(lowered.as_text("memory"))

# %% [markdown]
# There is a better case. If a kernel reads each element of an array only where it then writes one, and before
# it does, *one* buffer will do for both: it works **[in place](glossary.md#in-place)**. Here the host sorts,
# so `f(x)` has to be stored; then a kernel adds it up with what comes back:

# %%
sorted_waves = jax.make_jaxpr(lambda x: jax.lax.sort(f(x)) + f(x))(x)
in_place = lower_jaxpr(sorted_waves, cpu, "sorted_waves", target=CPU)
print(in_place.as_text("memory"))
print(in_place.plan.all_kernels()[-1])

# %% [markdown]
# `e_out` is read and written. Why was that not allowed in the program of five kernels? `y[::-1]` reads an
# element from the other end, over which another iteration may have written already.
#
# **Between calls** memory is used again, too. New memory of the system does not exist before it is first
# written to, page by page, and that takes longer than to compute a simple kernel. So a
# [pool](../tinyjax/runtime/memory.py) keeps what results leave behind. It *lends* memory to an array, and has
# a weak reference to it, which tells when the array and all its views are gone:

# %%
pool = Pool(register=lambda host: None)  # a driver would get new memory here
first, _ = pool.array((100,), np.dtype(np.float32))
address = first.ctypes.data
part = first[::2]
del first
again, _ = pool.array((100,), np.dtype(np.float32))
print("used again while there is a view:   ", again.ctypes.data == address)
del part
again, _ = pool.array((100,), np.dtype(np.float32))
print("used again when that is gone as well:", again.ctypes.data == address)

# %% [markdown]
# ## The rows of a softmax
#
# Softmax is five operations, and two of them are reductions. Each needs *all* of what the one before has
# made: the greatest element before the first exponential, the sum before the first division. By the law of
# work-items that would be three launches. But "all" means all of one *row*.
#
# <details><summary>How many kernels will it be, and how many work-items for 300 rows of 200
# elements?</summary>
#
# One kernel. 300 * 200 elements, about 4096 for each work-item, make 15 of them, with 20 whole rows each.
# </details>

# %%
table = jnp.ones((300, 200))
lowered = lower_jaxpr(jax.make_jaxpr(jax.nn.softmax)(table), cpu, "softmax", target=CPU)
print(lowered.as_text("groups"))
print(lowered.as_text("loop nests"))

# %% [markdown]
# Three loops, one after the other, in a loop over rows. A row needs no other. So whole rows are shared out
# among work-items, and within one of them everything happens in the order of the text: a `rows` kernel. The
# second loop keeps a row's exponentials, about 800 bytes, for the third, which would else compute them again.
# This is the naive nest, as anyone would write it. What makes it fast is the
# [schedule](glossary.md#schedule-of-a-kernel), a list of directives, each with its reason:

# %%
print(lowered.as_text("schedule of k0"))

# %% [markdown]
# Read it with what you know. `Vectorize` makes vectors of sixteen neighbours. `Partition` sets a
# row's last vector apart, which is half empty. `Parallelize` shares 300 rows out: 15 work-items of 20.
# `UnrollAndJam` takes four rows at once, since adding up waits for the addition before, and four sums can
# wait together.
#
# When does that not work? Without rows that are independent:

# %%
over_all = jax.make_jaxpr(lambda x: jax.nn.softmax(x, axis=None))(table)
whole = lower_jaxpr(over_all, cpu, "whole", target=CPU)
print(whole.as_text("groups"))

# %% [markdown]
# One row of 60,000 elements. One work-item for all of it would leave the other cores idle.
#
# ## Where tinyjax differs from JAX
#
# JAX's runtime is PJRT, in C++: the same things under other names. A *client* has devices; a *buffer* has a
# shape and a layout; an *executable* is run on buffers, and its results are futures. XLA's *buffer
# assignment* is the memory plan. It puts many values into few large allocations, at offsets. On a GPU, a
# queue is a *stream*.
#
# ## The picture
#
# The program of five kernels. A thick arrow is an array in memory.

# %%
viz.kernels(jax.jit(there_and_back).lower(jax.device_put(x, cpu)))

# %% [markdown]
# ## Summary
#
# - A text is built for a context, and launched in a queue on buffers; an event says when it is done, and
#   only reading waits.
# - Work-items run in any order and see nothing of each other; how many there are is chosen for the device.
# - Values that are never live together share memory, and rows that do not need each other share a launch.
#
# ## Do you know?
#
# <details><summary>A call has launched a kernel, and returns. Is the result there?</summary>
#
# Not necessarily. The kernel is in the queue, and an event says when it is done. Whoever reads the result
# waits for that.
# </details>
#
# <details><summary>When can two values share a buffer?</summary>
#
# If they are never live together: the one is read for the last time before the other is written.
# </details>
#
# <details><summary>Why is one work-item enough for 100 elements on a CPU?</summary>
#
# To begin a work-item takes time as well. With a grain of 4096, a second one begins to pay after 4096
# elements.
# </details>
#
# ## Exercises
#
# `python -m tinyjax learn start 17` makes a folder in which these functions are empty, for you to write
# again.
#
# ## Where this lives in JAX
#
# - `jax/_src/interpreters/pxla.py`: `ExecuteReplicated`, which runs an executable on devices' buffers
# - `jax/_src/array.py`: `ArrayImpl`, `block_until_ready`
# - `jax/_src/xla_bridge.py`: clients and devices
# - XLA itself: `xla/pjrt/`, and `xla/service/buffer_assignment.cc`
