from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 16. Training for real
#
# After this lesson you can write an optimizer and a training loop; train a network on handwritten digits,
# on one device and on two; and train a graph network that finds out who is friends with whom. Everything of
# the lessons before comes together: `grad`, `vmap`, `jit`, `scan`, keys, and, new here, `shard_map`.

# %%
import inspect
import time

import graphviz
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax, random, viz
from tinyjax.example_libraries import optimizers
from tinyjax.sharding import Mesh
from tinyjax.sharding import PartitionSpec as P
from tinyjax.studio.data import digits, karate_club

jax.config.update("jax_num_cpu_devices", 2)  # for the end of the lesson; must come before any work


def f(x):
    return jnp.sin(x) * x


# %% [markdown]
# ## Downhill
#
# Training is this: there is a number that should be small, the **[loss](glossary.md#loss)**. It depends
# on **[parameters](glossary.md#parameters)**, numbers that may change (not those of a primitive). Its
# gradient says in which direction it grows, so go a small step in the other. Do that many times. Let the
# loss be `f`, and the parameter `x`, from 3.0 on:

# %%
x = 3.0
for step in range(21):
    if step % 5 == 0:
        print(f"step {step:2}   x = {x:.4f}   f(x) = {f(x):.4f}")
    x = x - 0.1 * jax.grad(f)(x)

# %% [markdown]
# This is **[gradient descent](glossary.md#gradient-descent)**. The 0.1 is the **step size**. It
# found a place where `f` is smaller than anywhere near.
#
# ## Optimizers
#
# There are better ways to use a gradient. They have in common that they remember something from step to
# step. An **[optimizer](glossary.md#optimizer)** is three functions: `init(params)` gives a state,
# `update(i, grads, state)` the next state, and `get_params(state)` the parameters in it. The state is a
# value that goes in and comes out. Nothing is hidden, and so `jit`, `vmap` and `scan` can take a training
# step as they take anything else. Here is the simplest one, whose state is the parameter itself:

# %%
print(inspect.getsource(optimizers.sgd))

# %% [markdown]
# These functions are written for one array. The decorator `optimizer` makes them work for any
# [pytree](04_pytrees.py) of parameters: it flattens the parameters, and keeps a state for each leaf. A step
# size may also be a **[schedule](glossary.md#schedule)**, a function of the step's number; `make_schedule`
# makes one of a number. (Exercise 16.1 writes the schedule of most large networks, 16.5 AdamW.)
#
# **Momentum** remembers a velocity v. At each step v becomes mass * v + g, where g is the gradient, and x
# moves by -step_size * v. So steps in one direction add up, and steps to and fro cancel. The state is (x,
# v), and v begins as zeros.
#
# **Adam** remembers two running means: m of the gradients, v of their squares. It moves x by -step_size * m
# / sqrt(v) (and a tiny eps is added to the root, which may be 0). Where gradients are always small, sqrt(v)
# is small too, so that each parameter moves at its own pace. Both means begin at 0, and so are too small at
# first; dividing them by 1 - b ** (i + 1) makes up for that, where b is the part that a mean keeps of
# itself at each step.
#
# <details><summary>At 3.0 the gradient is -2.83. How far does the first step of <code>sgd(0.02)</code>
# go, and that of <code>adam(0.1)</code>?</summary>
#
# By 0.057, which is 0.02 times 2.83; and by 0.1.
# </details>


# %%
def minimum(optimizer, steps):
    init, update, get_params = optimizer
    state = init(3.0)
    for i in range(steps):
        state = update(i, jax.grad(f)(get_params(state)), state)
    return get_params(state)


candidates = {
    "sgd(0.02)": optimizers.sgd(0.02),
    "momentum(0.02, 0.8)": optimizers.momentum(0.02, 0.8),
    "adam(0.1)": optimizers.adam(0.1),
}
for name, optimizer in candidates.items():
    print(f"{name:20}", *[f"{minimum(optimizer, steps):.3f}" for steps in (1, 10, 20, 40, 80)])

# %% [markdown]
# The columns are after 1, 10, 20, 40 and 80 steps. The same small step size of 0.02 gets a long way with
# momentum. Adam's first step is 0.1, its step size, whatever the gradient.
#
# ## A network for digits
#
# 1,797 handwritten digits, 8 by 8 pixels each. `show` prints some of them.

# %%
images, labels = digits()


def show(indices):
    """Images side by side, as text."""
    for row in range(8):
        print(
            "   ".join(
                "".join(" .:-=+*%#@"[int(9 * v)] * 2 for v in images[i, 8 * row :][:8])
                for i in indices
            )
        )


show([0, 1, 2, 3])
print(labels[:4])

# %% [markdown]
# A **[multilayer perceptron](glossary.md#mlp)** (MLP): multiply by a matrix, add a bias, bend by `tanh`,
# and do so again without bending. Ten **scores** come out, one for each digit. We write it for *one* image.
# So is the loss: the **[cross entropy](glossary.md#cross-entropy)**, which is minus the logarithm of the
# probability that the network gives to the right digit. `log_softmax` makes such logarithms of scores.
#
# <details><summary>The network has learned nothing yet. How large will its loss be, about?</summary>
#
# As large as that of guessing one of ten, which is log(10); a little more, as it is wrong with some
# conviction.
# </details>


# %%
def predict(params, image):
    (w1, b1), (w2, b2) = params
    return jnp.tanh(image @ w1 + b1) @ w2 + b2


def loss_of_one(params, image, label):
    return -jax.nn.log_softmax(predict(params, image))[label]


def loss(params, images, labels):
    return jnp.mean(jax.vmap(loss_of_one, in_axes=(None, 0, 0))(params, images, labels))


def first_params(key, sizes=(64, 32, 10)):
    keys = random.split(key, len(sizes) - 1)
    return [
        (random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n))
        for k, m, n in zip(keys, sizes, sizes[1:])
    ]


params = first_params(random.key(0))
print(f"{loss(params, images, labels):.2f}, and guessing would be {np.log(10):.2f}")

# %% [markdown]
# A training step takes a state and a **[batch](glossary.md#batch)** of images: not all of them,
# which would take longer, and would not be better. The step is jitted. One call runs forward
# pass, backward pass and update.

# %%
init, update, get_params = optimizers.adam(0.01)


@jax.jit
def step(i, state, images, labels):
    value, grads = jax.value_and_grad(loss)(get_params(state), images, labels)
    return update(i, grads, state), value


def train(state, steps, batch=128, training=1437):
    """Random batches of the first 1,437 images; the others are for the test."""
    losses = []
    for i, key in enumerate(random.split(random.key(1), steps)):
        chosen = random.choice(key, training, (batch,), replace=False)
        state, value = step(i, state, images[chosen], labels[chosen])
        losses.append(value)
    return state, np.array(losses)


# %% [markdown]
# What can be seen of the training is the loss of each batch. `curve` draws it as text, a column for the
# mean of a few steps.


# %%
def curve(losses, rows=8, columns=60):
    means = np.array([part.mean() for part in np.array_split(losses, columns)])
    height = means / means.max() * rows
    for row in reversed(range(rows)):
        blocks = (np.clip(height - row, 0, 1) * 8).astype(int)
        print(f"{means.max() * (row + 1) / rows:5.2f} |" + "".join(" ▁▂▃▄▅▆▇█"[b] for b in blocks))
    print(f"      +{'-' * columns}  {len(losses)} steps")


# %% varies
began = time.perf_counter()
state, losses = train(init(params), 300)
curve(losses)
print(f"{time.perf_counter() - began:.1f} seconds, compilation included")

# %% [markdown]
# It ends after 300 steps, because we said so. In exercise 16.2 you write a training that ends when it gets no
# better, as one loop, which jit compiles whole.
#
# Does it work for images that it has not seen? That is the only thing that counts. Here is how many of the
# other 360 it reads rightly, and two that it does not:
#
# <details><summary>The loss is close to 0 by now. How many of the 360 images that it has not seen will it
# read rightly?</summary>
#
# About nine of ten. The loss is that of the other 1,437.
# </details>

# %% varies
scores = jax.vmap(predict, in_axes=(None, 0))(get_params(state), images)
answers = np.asarray(scores).argmax(axis=1)
wrong = [i for i in range(1437, len(images)) if answers[i] != labels[i]]
print(f"{360 - len(wrong)} of 360 are right")
show(wrong[:2])
print(f"said {answers[wrong[:2]]}, but it is {labels[wrong[:2]]}")

# %% [markdown]
# ## Two devices
#
# `vmap` maps a function over an axis by changing the function: every operation works on the whole batch.
# **[`shard_map`](glossary.md#shard-map)** cuts arrays along an axis and runs the function on several
# **devices** at once, one block on each. (A machine with one CPU can act as several: that is the
# `jax_num_cpu_devices` above. It makes nothing faster here; the program is that of a machine with many.)
# A **[mesh](glossary.md#mesh)** gives the devices' axis a name, and `P("device")` means that an argument's
# first axis is cut along it. `P()` cuts nothing: every device gets the whole.

# %% varies
print(jax.devices())

# %%
mesh = Mesh(np.array(jax.devices("cpu")), ("device",))
cut = P("device")
print(jax.shard_map(f, mesh=mesh, in_specs=cut, out_specs=cut)(jnp.array([3.0, 0.5])))

# %% [markdown]
# To train on two devices, give each half of the batch. The loss of the whole batch is the mean of both
# losses, and so is its gradient; each device has only its own, and they must be brought together, or the
# devices would learn different things. That takes an operation of all devices: a
# **[collective](glossary.md#collective)**. `lax.pmean(value, "device")` is the mean of all devices' values,
# and every device gets it. It can be differentiated as any other operation: `grad` of a mean loss is the mean
# of the gradients, on every device.
#
# <details><summary>Two devices take a step together, each with half a batch. Do they come to the same
# parameters as one device with all of it?</summary>
#
# Yes, up to rounding: the mean of two means of 64 is the mean of 128.
# </details>


# %%
def mean_loss(params, images, labels):
    return lax.pmean(loss(params, images, labels), "device")


def step_together(i, state, images, labels):
    value, grads = jax.value_and_grad(mean_loss)(get_params(state), images, labels)
    return update(i, grads, state), value


specs = {"in_specs": (P(), P(), cut, cut), "out_specs": P()}
parallel_step = jax.jit(jax.shard_map(step_together, mesh=mesh, **specs))
together, value = parallel_step(0, init(params), images[:128], labels[:128])
alone, same_value = step(0, init(params), images[:128], labels[:128])
differences = jax.tree.map(
    lambda a, b: float(abs(a - b).max()), get_params(together), get_params(alone)
)
print(f"loss {value:.4f} and {same_value:.4f}")
print("equal parameters:", max(jax.tree.leaves(differences)) < 1e-4)

# %% [markdown]
# One device can do the same, half after half, if the whole batch is too large for its memory: exercise 16.3.
#
# ## What a collective is
#
# `pmean` is a sum, divided by the number of devices, and the sum is the primitive `psum`. Traced, it keeps
# the name of the axis:


# %%
def share(x):
    return x / lax.psum(x, "i")


print(jax.make_jaxpr(share, axis_env=[("i", 3)])(1.0))

# %% [markdown]
# `vmap` can have an `axis_name` too, and then collectives work among the examples of a batch. In a batch, a
# sum over all examples is a sum over an axis, and `vmap` knows which one. So its rule for `psum` puts the
# *position* of the batch dim in place of the *name*. The result is one number for all; it is not batched
# any more.

# %%
print(jax.vmap(share, axis_name="i")(jnp.array([1.0, 2.0, 5.0])))
print(jax.make_jaxpr(jax.vmap(share, axis_name="i"))(jnp.array([1.0, 2.0, 5.0])))

# %% [markdown]
# That is all that tinyjax needs for `shard_map` also: devices of one machine share its memory, so their
# blocks are a batch, and one program computes it. In the picture each device has a lane, and the collective
# stands between them:


# %%
def share_of_f(x):
    y = f(x)
    return y / lax.psum(y, "device")


viz.pmap(share_of_f, jnp.array([3.0, 0.5]), axis_name="device")

# %% [markdown]
# Three cases are left for the rule. An operand that is not batched is the same for each example, so its sum
# is itself, times the number of examples. A `psum` over *another* name is not ours to do: it stays, and the
# operand stays batched. And a `psum` may have positions among its axes already (an outer `vmap` had its
# turn). Our batch dim goes to the front, and so those move up by one.
#
# ## A network for a graph
#
# In the 1970s, Wayne Zachary watched a karate club of 34 people for three years. He wrote down who met whom
# outside of the club: 78 pairs. Then the club split in two over a quarrel between the instructor (member 0)
# and the administrator (member 33). Can we tell from the friendships alone who went with whom?

# %%
edges, clubs = karate_club()
print(edges[:5].tolist(), "...")
print(clubs)

# %% [markdown]
# A **[graph convolution](glossary.md#graph-convolution)** ([Kipf and Welling,
# 2017](https://arxiv.org/abs/1609.02907)) gives each member numbers, and replaces them by a mean over the
# member's friends and itself. As an operation on all members, this is one product with a matrix. Take the
# **adjacency matrix** (1 where two are friends, 0 elsewhere), with 1 on the diagonal, so that each is its
# own friend. Divide each entry by the roots of how many friends both have: else the popular would be
# heard more than the others.

# %%
adjacency = np.eye(34, dtype=np.float32)
adjacency[edges[:, 0], edges[:, 1]] = adjacency[edges[:, 1], edges[:, 0]] = 1
friends = adjacency.sum(axis=1)
mixing = jnp.asarray(adjacency / np.sqrt(friends[:, None] * friends[None, :]))


def club_scores(params):
    """For each member a score for going with the instructor, and one for going with the administrator."""
    w1, w2 = params
    hidden = jnp.tanh(mixing @ w1)  # 16 numbers a member, mixed among friends
    return mixing @ hidden @ w2  # mixed again: of friends of friends


# %% [markdown]
# We tell the network about two members only: that the instructor goes with the instructor, and the
# administrator with the administrator. The other 32 have no say in the loss, but are tied to these two by
# the graph. The second term of the loss is **[weight decay](glossary.md#weight-decay)**. Two examples are
# easily learned by heart; keeping the weights small makes the network learn what is common to all that
# are near.


# %%
def club_loss(params):
    log_probabilities = jax.nn.log_softmax(club_scores(params))
    told = log_probabilities[0, 0] + log_probabilities[33, 1]
    return -told / 2 + 5e-4 * sum(jnp.sum(w**2) for w in params)


# %% [markdown]
# This time the whole training is one function of a key: a [scan](14_scan.py) over 100 steps, whose carry is
# the optimizer's state. `jit` makes one program of it.


# %%
def train_on_club(key):
    """The scores after training, and the loss at each step."""
    init, update, get_params = optimizers.adam(0.01)
    k1, k2 = random.split(key)
    params = 0.1 * random.normal(k1, (34, 16)), 0.1 * random.normal(k2, (16, 2))

    def step(state, i):
        value, grads = jax.value_and_grad(club_loss)(get_params(state))
        return update(i, grads, state), value

    state, losses = lax.scan(step, init(params), jnp.arange(100))
    return club_scores(get_params(state)), losses


scores, losses = jax.jit(train_on_club)(random.key(0))
print(f"loss {losses[0]:.2f} to {losses[-1]:.2f}")
print("right about", np.sum(np.asarray(scores).argmax(axis=1) == clubs), "of 34")

# %% [markdown]
# ## All of it at once
#
# Was that luck? Train eight networks from different first weights: `vmap` over four keys, on each of two
# devices by `shard_map`. Nothing in `train_on_club` has to change.

# %%
keys = random.split(random.key(1), 8)
train_four = jax.shard_map(jax.vmap(train_on_club), mesh=mesh, in_specs=cut, out_specs=cut)
scores, losses = jax.jit(train_four)(keys)
print("scores of", scores.shape)
right = np.sum(np.asarray(scores).argmax(axis=-1) == clubs, axis=-1)
print("right:", right.tolist())

# %% varies
curve(losses.mean(axis=0))

# %% [markdown]
# All eight agree, and all are wrong about the same member. So was Zachary, who had a method of his own.
# Member 8 was friends with both sides, more with the administrator's. But he was three weeks away from his
# test for the black belt, which he could only take with the instructor. Such things are not in the graph.
#
# Here is the club. Colours are what the networks say (blue: with the instructor), shapes what happened
# (circles: with the instructor). Member 8 stands out. The names of the two that we told the networks about
# are in bold.


# %%
def draw_club(probability):
    """The graph of the club; probability: how sure the networks are of the administrator's side."""
    club = graphviz.Graph(engine="neato", graph_attr={"overlap": "false", "bgcolor": "transparent"})
    club.attr(
        "node",
        fontname="Helvetica",
        style="filled",
        color="#767676",
        fixedsize="true",
        width="0.45",
    )
    club.attr("edge", color="#767676", penwidth="0.7")
    for i in range(34):
        administrator = probability[i] > 0.5
        right = administrator == clubs[i]
        club.node(
            str(i),
            label=f"<<b>{i}</b>>" if i in (0, 33) else str(i),
            shape="square" if clubs[i] else "circle",
            fillcolor="#f0b949" if administrator else "#8ccbf2",
            color="#767676" if right else "#d55e00",
            penwidth="1" if right else "4",
        )
    club.edges((str(a), str(b)) for a, b in edges)
    return club


votes = np.asarray(jax.nn.softmax(scores)).mean(axis=0)
draw_club(votes[:, 1])

# %% [markdown]
# ## Where tinyjax differs from JAX
#
# Take the pictures away and import `jax` in place of `tinyjax`, and JAX runs this lesson too. (The digits
# and the club are in `tinyjax.studio.data`.) It prints the same numbers, down to the curves.
# `example_libraries.optimizers` is in JAX under the same names; most people now use
# [Optax](https://optax.readthedocs.io), which has more.
#
# In JAX, each device runs its own part of a `shard_map`, and they exchange data while they compute; in
# tinyjax devices of one machine are computed together, as a batch. Older programs use `jax.pmap`, which maps
# over a leading axis of the devices' number; it is written with `shard_map`, here as there.
#
# ## The picture
#
# The graph network as a graph, from its weights to its scores:

# %%
viz.dot(jax.make_jaxpr(club_scores)((jnp.zeros((34, 16)), jnp.zeros((16, 2)))))

# %% [markdown]
# ## Summary
#
# - A training step is a pure function from a state and a batch to the next state; an optimizer is three
#   functions.
# - Write the model for one example. `vmap` makes the batch, `grad` the gradient, `jit` the program,
#   `shard_map` the devices.
# - A collective combines all blocks of a named axis. `vmap` turns the name into a position: a sum over
#   devices is one over an axis.
#
# ## Do you know?
#
# <details><summary>Where is the state of an optimizer kept?</summary>
#
# In a pytree that the step takes and returns. Nothing is changed in place.
# </details>
#
# <details><summary>Why is the model written for one example?</summary>
#
# `vmap` makes the batch of it, so no line of the model has to know which axis counts the examples.
# </details>
#
# <details><summary>Several devices have a part of the batch each. What must they exchange in a
# step?</summary>
#
# Their gradients: all of them take the mean over the named axis, and so come to the same parameters.
# </details>
#
# ## Exercises
#
# Write a schedule, an optimizer, a batch in pieces, and what `vmap` makes of a psum:
# `python -m tinyjax learn start 16`
#
# ## Where this lives in JAX
#
# - `jax/example_libraries/optimizers.py`
# - `jax/_src/shard_map.py`: `shard_map`
# - `jax/_src/lax/parallel.py`: `psum`, `pmean` and the other collectives; `_batched_reduction_collective`
#   puts the position in place of the name
