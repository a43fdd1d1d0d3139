from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 18. Many devices
#
# After this lesson you can
#
# - say which part of an array each of eight devices has, and draw it;
# - say how the result of an operation is split, and why no value depends on that;
# - write the program of *one* device, and say what is left of it on a single machine: a `vmap`;
# - count the bytes that devices send each other, and say what `grad` makes of what they send;
# - train a network on all devices, cut in three ways, with the result of one.
#
# You need [vmap](05_vmap.py), [jit](10_jit.py) and [training](16_training.py). This machine acts as eight
# devices. That makes nothing faster; the programs are those of a machine that has eight.

# %%
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax, random, viz
from tinyjax.many_devices.sharding.step_time import Network, step_seconds
from tinyjax.many_devices.sharding.traffic import traffic_of
from tinyjax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from tinyjax.sharding import PartitionSpec as P
from tinyjax.studio.data import digits

jax.config.update("jax_num_cpu_devices", 8)  # must come before any work


def f(x):
    return jnp.sin(x) * x


# %% [markdown]
# ## Why many?
#
# A network with seven billion parameters takes 28 GB as float32. To train it, there is a gradient for each of
# them, and two means for [Adam](16_training.py): 112 GB, before the first image is looked at. Few devices
# have that much memory. And those that have would need years. So the work must be shared out. There are three
# questions, for any number of devices. Who has which part of which array? Who computes what? Who must send
# what to whom?
#
# ## A mesh
#
# A **[mesh](glossary.md#mesh)** is an array of devices whose axes have names:

# %%
mesh = Mesh(np.array(jax.devices("cpu")).reshape(4, 2), ("x", "y"))
print(mesh)
print(np.vectorize(lambda device: device.id)(mesh.devices))

# %% [markdown]
# Four times two, because then an array can be cut along two of its axes. (`jax.make_mesh((4, 2), ("x", "y"))`
# makes one too, and sees to it that devices that are near each other are neighbours.)
#
# ## Which part of an array?
#
# A **[PartitionSpec](glossary.md#partition-spec)** has an entry for each axis of an array: the axis of the
# mesh over which it is cut. Mesh and spec together are a **[sharding](glossary.md#sharding)**, and
# `device_put` spreads an array so:

# %%
table = jnp.arange(48.0).reshape(8, 6)
x = jax.device_put(table, NamedSharding(mesh, P("x", "y")))
viz.sharding(x)

# %% [markdown]
# Eight rows over the four places of `x`, six columns over the two of `y`: each device has a block of 2 by 3,
# a **[shard](glossary.md#shard)**. (`jax.debug.visualize_array_sharding(x)` prints this picture as text, also
# in JAX.)
#
# <details><summary>Device 5 is at x=2, y=1. Which rows and columns does it have?</summary>
#
# Rows 4 and 5, columns 3 to 5.
# </details>

# %%
shard = x.addressable_shards[5]
print(shard.device.id, shard.index)
print(shard.data)

# %% [markdown]
# An entry may be left out, or be None: then the axis is whole. And it may be two names, a tuple. Here are
# four other specs:

# %%
specs = [P("x"), P(None, "y"), P(("x", "y")), P()]
viz.sharding({f"{spec}:": jax.device_put(table, NamedSharding(mesh, spec)) for spec in specs})

# %% [markdown]
# By `P("x")`, the devices 0 and 1 have the same rows, as nothing is cut over `y`: they are
# **[replicas](glossary.md#replica)**. `P(("x", "y"))` cuts the rows over both, first over `x`, then each part
# over `y`. By `P()`, all have all, which is drawn grey.
#
# ### Cutting is a reshape
#
# Nobody has to look for blocks. Eight rows are four times two, six columns two times three. Split both axes,
# and the axes of the mesh become axes of the array. Bring them to the front:

# %%
parts = table.reshape(4, 2, 2, 3).transpose(0, 2, 1, 3)
print(parts.shape)
print(parts[2, 1])  # of the device at x=2, y=1

# %% [markdown]
# The same backwards puts the parts together. Exercise 18.1 does both, for any spec.
#
# ## jit follows the data
#
# Spread arrays can be computed with as if they were not. Only, where are the results?
#
# <details><summary><code>x</code> is split as <code>P('x', 'y')</code>. How will <code>x.T</code> be? And
# <code>x.sum(0)</code>, and <code>x @ x.T</code>, whose rows and columns are both the rows of
# x?</summary>
#
# `x.T` is `P('y', 'x')`: each axis takes along what it is split over. In the sum, axis 0 is gone, and what it
# was split over with it. Both axes of the product would like to be split over `x`, and can't. The first
# claim wins.
# </details>

# %%
programs = {
    "f(x)": f,
    "x.T": lambda x: x.T,
    "x.sum(0)": lambda x: x.sum(0),
    "x @ x.T": lambda x: x @ x.T,
    "x[:, None]": lambda x: x[:, None],
    "x.reshape(48)": lambda x: x.reshape(48),
}
for name, program in programs.items():
    y = jax.jit(program)(x)
    same = np.allclose(y, program(table), rtol=1e-6)
    print(f"{name:13} {y.shape!s:10} {y.sharding.spec!s:20} the same values: {same}")

# %% [markdown]
# The rule is short. **An axis that survives keeps what it is split over; the first claim wins.** Which axes
# survive is written in [one table](../tinyjax/many_devices/sharding/propagation.py), an entry a primitive
# (exercise 18.2). A primitive that is not in it has results that are whole on every device. That may be
# slow. It is never wrong, since *how an array is split never changes a value*: a sharding says where
# numbers are, and not which.
#
# But someone must do the work: in `x.sum(0)`, the rows to be added lie on four devices. The compiler sees to
# it. In JAX that is XLA, which makes a program for each device and puts in what they have to send. If you
# know better how something should be split, tell it, by `in_shardings` and `out_shardings` of `jit`, or in
# the middle of a program by `lax.with_sharding_constraint`.
#
# That was [Auto](glossary.md#axis-type). In a mesh made by `jax.make_mesh` axes are *Explicit*: shardings are
# part of types, which are printed as `f32[8@x,6@y]`, and follow the same table while the function is traced.
# Where Auto would have to guess, as in the product above, Explicit raises an error and asks you to say it.
#
# ## shard_map: the program of one device
#
# The other way is to write down what a *single* device does, with its part of the array.
# **[`shard_map`](glossary.md#shard-map)** runs it on all. In it, names of mesh axes are names of
# [collectives](glossary.md#collective), such as `lax.psum`. Here each row of blocks is divided by the sum
# over all of them:
#
# <details><summary>There are eight devices. How often does <code>share</code> print, and what?</summary>
#
# Once, and a part of 2 by 3, which stands for eight.
# </details>


# %%
def share(part):
    total = lax.psum(part, "x")
    print("part: ", part)
    print("total:", total)
    return part / total


shared = jax.shard_map(share, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))(x)
print(shared.sharding.spec, np.allclose(shared[0], table[0] / table[::2].sum(0)))

# %% [markdown]
# `in_specs` say how the arguments are cut, `out_specs` how the parts of results are put together. The types
# know more than shapes: by `{V:(x,y)}` the values of `part` *[vary](glossary.md#vary)* along both axes
# of the mesh. The sum varies over `y` alone: all devices along `x` have the same. If an out_spec leaves out
# an axis of the mesh, it promises that the result is the same along it, and the types prove it, or there is
# an error.
#
# A function of one, which runs once and stands for all? That was [lesson 5](05_vmap.py). **`shard_map` is
# `vmap`**, once for each axis of the mesh, under its name:


# %%
def share_by_hand(table):
    parts = table.reshape(4, 2, 2, 3).transpose(0, 2, 1, 3)
    along_y = jax.vmap(lambda part: part / lax.psum(part, "x"), axis_name="y")
    parts = jax.vmap(along_y, axis_name="x")(parts)
    return parts.transpose(0, 2, 1, 3).reshape(8, 6)


print("the same:", np.array_equal(share_by_hand(table), shared))

# %% [markdown]
# That is no likeness. [nested_vmap.py](../tinyjax/many_devices/shard_map/nested_vmap.py) computes it so: our
# eight devices are one processor, so their parts are a batch. What is not split over an axis is [not
# mapped](glossary.md#not-mapped), and computed once. Here is the program that is compiled. No device is
# left in it, and no name:

# %%
lowered = jax.jit(share_by_hand).lower(table)
for eqn in lowered.compiler_ir("simplified").eqns:
    kept = {k: v for k, v in eqn.params.items() if k in ("new_sizes", "permutation", "axes")}
    print(f"{eqn.primitive.name:16} -> {eqn.outvars[0].aval.str_short():16}", *kept.values())

# %% [markdown]
# ## What devices send each other
#
# Four collectives do nearly all of the work. Let eight devices stand in a line, each with one number. This is
# what the device with the 3 gets:

# %%
line = Mesh(np.array(jax.devices("cpu")), ("d",))
to_the_next = [(i, (i + 1) % 8) for i in range(8)]
collectives = {
    "psum": lambda x: lax.psum(x, "d"),
    "all_gather": lambda x: lax.all_gather(x, "d", tiled=True),
    "psum_scatter": lambda x: lax.psum_scatter(jnp.repeat(x, 8), "d", tiled=True),
    "ppermute": lambda x: lax.ppermute(x, "d", to_the_next),
}
for name, collective in collectives.items():
    each = jax.shard_map(collective, mesh=line, in_specs=P("d"), out_specs=P("d"), check_vma=False)
    print(f"{name:12}", each(jnp.arange(8.0)).reshape(8, -1)[3])

# %% [markdown]
# `psum_scatter` is a sum of which each device keeps its part: here each had its number eight times, and gets
# one of eight sums. With an `all_gather` behind it, all have all sums, and that is a `psum`. It is also how
# one is done. In a *ring*, each device sends a part to the next, and adds what comes from the one before;
# after seven rounds, each part's sum is complete somewhere. In seven more, all parts go around.
#
# For n devices and an array of B bytes:
#
# | | before, a device has | afterwards | it sends |
# |---|---|---|---|
# | `all_gather` | its part, B / n | all parts, B | B (n - 1) / n |
# | `psum_scatter` | a summand, B | its part of the sum, B / n | B (n - 1) / n |
# | `psum` | a summand, B | the sum, B | 2 B (n - 1) / n |
# | `ppermute` | B | another one's B | B |
#
# Note that n hardly matters: twice as many devices send as much each. What matters is B, and how fast the
# lines are.
#
# <details><summary>Eight devices add up the gradients of seven billion parameters (28 GB), and send 50 GB a
# second. How long does that take?</summary>
#
# About a second, in each step.
# </details>


# %%
def bytes_of_psum(size, n):
    return 2 * size * (n - 1) / n


print(f"{bytes_of_psum(28e9, 8) / 50e9:.2f} s")

# %% [markdown]
# And what does `vmap` make of them? The rule of `psum` was [lesson 16's](16_training.py): the sum over a
# batch is one over an axis of it. For `all_gather`, there is nothing to do at all. All that must be gathered
# is in the batch: its batch dim *becomes* the axis of the result (exercise 18.3).
#
# ## Backwards
#
# Each device has a part of the data, and all have the same weight `w`. The loss is one number, a sum over
# all devices. What is its gradient by `w`?


# %%
def loss_of_all(w, part):
    return lax.psum(jnp.sum(f(w * part)), "d")


def gradient(w, part):
    return jax.grad(loss_of_all)(w, part)


data = jnp.linspace(0.0, 2.0, 16)
specs = {"mesh": line, "in_specs": (P(), P("d")), "out_specs": P()}
print("of eight:", jax.shard_map(gradient, **specs)(0.5, data))
print("of one:  ", jax.grad(lambda w: jnp.sum(f(w * data)))(0.5))

# %% [markdown]
# The sum of what all devices contribute. Who added it up? `loss_of_all` sums up *values*, and nobody wrote a
# sum of gradients. The jaxpr tells. These are its equations that do nothing but change over which axes a
# value varies:

# %%
(mapped,) = jax.make_jaxpr(jax.shard_map(gradient, **specs))(0.5, data).eqns
for eqn in mapped.params["jaxpr"].eqns:
    if eqn.primitive.name in ("pvary", "psum_invariant"):
        before, after = eqn.invars[0].aval.str_short(), eqn.outvars[0].aval.str_short()
        print(f"{eqn.primitive.name:14} {before:14} -> {after}")

# %% [markdown]
# `w` is the same everywhere, its product with `part` is not. So, where they meet, a `pvary` was put in: it
# hands one value to all devices, and changes nothing but its type. A `psum` is the opposite: of different
# values, it makes one for all. (With types it is called `psum_invariant`.) They are each other's
# [transposes](08_grad.py):
#
# | forwards | backwards |
# |---|---|
# | `psum`: each device's value goes into one sum | `pvary`: each gets the cotangent of that sum |
# | `pvary`: one value is used by all devices | `psum`: the cotangents of all uses add up |
# | `all_gather`: each sees the parts of all | `psum_scatter`: what all made of its part adds up |
# | `psum_scatter` | `all_gather` |
# | `ppermute`: to the next | `ppermute`: to the one before |
#
# So the first `pvary` is the one of `w`, and the last `psum` its transpose: the sum over devices, which is
# what data parallel training is about. Under plain `vmap` types don't vary. There each example has its own
# result, and a psum is its own transpose. Exercise 18.4 has both.
#
# ## Training on eight devices
#
# The network for digits of [lesson 16](16_training.py), and a step on one device:

# %%
images, labels = (jnp.asarray(a[:128]) for a in digits())


def predict(params, images):
    return jnp.tanh(images @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def cross_entropy(scores, labels):
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, 10) * jax.nn.log_softmax(scores), axis=1))


def loss(params, images, labels):
    return cross_entropy(predict(params, images), labels)


def down(params, grads):
    return jax.tree.map(lambda p, g: p - 0.5 * g, params, grads)


@jax.jit
def step_alone(params, images, labels):
    value, grads = jax.value_and_grad(loss)(params, images, labels)
    return down(params, grads), value


# %% [markdown]
# **[Data parallel](glossary.md#data-parallel)**: all devices have all parameters, each has an eighth of the
# images. In ten lines:


# %%
def mean_loss(params, images, labels):
    return lax.pmean(loss(params, images, labels), "d")


def step_of_device(params, images, labels):
    value, grads = jax.value_and_grad(mean_loss)(params, images, labels)
    return down(params, grads), value


specs = {"in_specs": (P(), P("d"), P("d")), "out_specs": (P(), P())}
step_together = jax.jit(jax.shard_map(step_of_device, mesh=line, **specs))

# %% [markdown]
# <details><summary>After 20 steps: do eight devices have the parameters of one that has seen all
# images?</summary>
#
# Yes, up to rounding: sums are added up in another order.
# </details>

# %%
keys = random.split(random.key(0))
first = {
    "w1": random.normal(keys[0], (64, 32)) / 8,
    "b1": jnp.zeros(32),
    "w2": random.normal(keys[1], (32, 10)) / 6,
    "b2": jnp.zeros(10),
}


def after_20(step, params=first):
    for _ in range(20):
        params, value = step(params, images, labels)
    return params, float(value)


def compare(params, value):
    differences = jax.tree.map(lambda a, b: float(jnp.max(jnp.abs(a - b))), params, alone)
    print(f"loss {value:.4f}; the same parameters: {max(jax.tree.leaves(differences)) < 1e-4}")


alone, value = after_20(step_alone)
print(f"loss {value:.4f}, alone")
compare(*after_20(step_together))

# %% [markdown]
# The sums that nobody wrote are in the program, and so they can be counted before it runs. Below a program's
# schedule is what its devices send each other, were each of them a machine. (`python -m tinyjax explain` and
# `graph` say the same beside the equations.)

# %%
schedule = step_together.lower(first, images, labels).as_text("schedule")
print(schedule[schedule.index("collectives") :])

# %% [markdown]
# Two numbers of a network, what a message takes however short it is, and the bytes a second, turn that into
# time. With no machine but this one, we can ask what a thousand would do. Let each compute for a millisecond.
# ([step_time.py](../tinyjax/many_devices/sharding/step_time.py) has the formulas, and
# [scaling.py](../benchmarks/scaling.py) compares them with what is measured.)

# %%
ethernet = Network(latency=50e-6, bandwidth=0.125e9)
for machines in (8, 1024):
    mesh_of_all = AbstractMesh((machines,), ("d",), AxisType.Auto)
    step = jax.shard_map(step_of_device, mesh=mesh_of_all, **specs)
    types = [jax.ShapeDtypeStruct((16 * machines, *a.shape[1:]), a.dtype) for a in (images, labels)]
    exchanges = traffic_of(jax.make_jaxpr(step)(first, *types)).exchanges
    print(f"{machines:4} machines: {1e3 * step_seconds(1e-3, exchanges, ethernet):.2f} ms a step")

# %% [markdown]
# Or leave it to `jit`, which follows the data. Spread the images, and call the step of one device:

# %%
images, labels = jax.device_put((images, labels), NamedSharding(line, P("d")))
compare(*after_20(step_alone))

# %% [markdown]
# ## Two other cuts
#
# Data parallel training needs a device that can hold all parameters. **[Tensor
# parallel](glossary.md#tensor-parallel)**, the matrices themselves are cut: each device has four of the 32
# hidden units, that is, four *columns* of `w1`, and the four *rows* of `w2` that belong to them. What a
# device computes from its units is a summand of the scores. One psum a layer:


# %%
def tensor_parallel_loss(params, images, labels):
    hidden = jnp.tanh(images @ params["w1"] + params["b1"])  # of this device's units
    scores = lax.psum(hidden @ params["w2"], "d") + params["b2"]
    return cross_entropy(scores, labels)


def tensor_parallel(params, images, labels):
    value, grads = jax.value_and_grad(tensor_parallel_loss)(params, images, labels)
    return down(params, grads), value


cut = {"w1": P(None, "d"), "b1": P("d"), "w2": P("d"), "b2": P()}
specs = {"in_specs": (cut, P(), P()), "out_specs": (cut, P())}
compare(*after_20(jax.jit(jax.shard_map(tensor_parallel, mesh=line, **specs))))

# %% [markdown]
# Gradients are not mentioned here, either. Those of `w1` and `w2` are of a device's own part. `b2` is one
# for all, and so are the scores that it is added to; no sum is needed, and none is there.
#
# **[Fully sharded](glossary.md#fully-sharded)**, each device keeps an eighth of every array, but only *keeps*
# it so: to compute, it gathers the others, and lets them go afterwards. The images are split as well. It is
# data parallel training for those who lack the memory, and exercise 18.5: the gradient of an `all_gather` is
# a `psum_scatter`, and that is nearly all of it.
#
# | | parameters on a device | images on a device | sent, in a step |
# |---|---|---|---|
# | data parallel | all | a part | psum of the gradients |
# | tensor parallel | a part | all | psum of each layer's results, and of their cotangents |
# | fully sharded | a part | a part | all_gather of parameters, psum_scatter of gradients |
#
# Large networks are trained with several of these, on a mesh with an axis for each. In
# [many_devices.py](../examples/many_devices.py) there is one more, the *pipeline*, in which each device has
# some of the layers, and hands on what it has computed by `ppermute`.
#
# ## From one process to many
#
# Our eight devices are one processor. More machines are more processes. Of the program above, three
# lines change:
#
# ```python
# jax.distributed.initialize()  # at the beginning
# line = Mesh(np.array(jax.devices()), ("d",))  # the devices of all processes
# ```
# ```sh
# mpiexec -n 4 python train.py                  # four processes, on this machine or on several
# ```
#
# Each of the four runs *the same* program, and computes its part of it: the same vmaps, over its own
# devices. Where a collective goes along an axis that belongs to several of them, they
# **[meet](glossary.md#meeting)**. That is a step of the compiled program, like a kernel's: each does its
# share (the sum of its examples), waits until all others are there, and then they exchange. Here that is
# done by MPI, a library by which programs have talked to each other since 1994.
#
# There is one law: *all processes have the same meetings, in the same order*. If `jax.process_index() == 0`
# guards a `print`, that is fine. If it guards a `psum`, one process goes to a meeting that the others never
# come to. tinyjax says who is where; plain MPI waits forever. And no process has an array of all: it may look
# at its own `addressable_shards`, and compute with the rest.
#
# ## Where tinyjax differs from JAX
#
# - Devices that are one processor compute a batch, in one program, and an array that is spread over them is
#   one buffer with a label. Real devices, such as two GPUs, have memory of their own, run a program each, and
#   meet as processes do. In JAX each device always has its own program.
# - Between processes JAX has Gloo, on GPUs NCCL, where tinyjax has MPI.
# - In Auto mode XLA decides how values are split without a sharding, and looks at the whole program.
#   tinyjax looks at one equation at a time.
#
# ## The picture
#
# The matrix `w1` in three ways; with it, for tensor parallel, the rows of `w2` that belong to its columns.

# %%
ways = {
    "data parallel": {"w1": P()},
    "fully sharded": {"w1": P("d")},
    "tensor parallel": {"w1": P(None, "d"), "w2": P("d")},
}
placed = {
    way: {
        name: jax.device_put(first[name], NamedSharding(line, spec)) for name, spec in cut.items()
    }
    for way, cut in ways.items()
}
viz.sharding(placed)

# %% [markdown]
# ## Summary
#
# - A mesh names the axes of an array of devices; a spec says over which of them each axis of an array is cut;
#   and no value depends on it.
# - `shard_map` runs the program of one device on all: it is a `vmap` for each axis of the mesh.
# - A psum makes one value of many, a pvary many of one; they are each other's transposes, and so gradients
#   are summed where parameters are shared.
#
# ## Do you know?
#
# <details><summary>What does <code>P('x', None)</code> say of a matrix?</summary>
#
# Its rows are cut over the axis `x` of the mesh, its columns are not cut. Devices that differ in another
# axis of the mesh have the same part.
# </details>
#
# <details><summary>Within <code>shard_map</code> each device has some rows of a matrix. How do they get
# the sum of all rows?</summary>
#
# Each sums its own, and `psum` over the axis that cuts the rows adds up these sums.
# </details>
#
# <details><summary>Does a result depend on how its operands are split?</summary>
#
# No, up to rounding: only where its parts are, and how long it takes.
# </details>
#
# ## Exercises
#
# Write what cuts arrays, the table's rules, what becomes of collectives under `vmap` and `grad`, and last a
# training step that is fully sharded: `python -m tinyjax learn start 18`
#
# ## Where this lives in JAX
#
# - `jax/_src/mesh.py`, `named_sharding.py`, `partition_spec.py`
# - `jax/_src/shard_map.py`: `shard_map`; `_unmatch_spec` and `_match_spec` cut and join
# - `jax/_src/lax/parallel.py`: the collectives, `_all_gather_batched_collective`,
#   `_psum_transpose_rule`
# - `jax/_src/lax/lax.py`: the rules for Explicit axes, such as `_dot_general_sharding_rule`; Auto mode is
#   XLA's (Shardy)
