from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 4. Pytrees
#
# After this lesson you can hand dicts, lists and classes of arrays to any transformation; say how they
# get through, although no rule knows them; and teach tinyjax your own class.
#
# You need lesson 2 (`jvp`). Nothing here is difficult, and all that follows uses it.
#
# ## Arguments are seldom one array
#
# A model has weights, biases, perhaps several layers of them. Nobody wants to write a function of forty
# arguments. So put them into a dict:

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def f(x):
    return jnp.sin(x) * x


def model(params, x):
    """f, stretched and moved."""
    return params["scale"] * f(x) + params["shift"]


params = {"scale": 2.0, "shift": 1.0}
print("value and tangent:", jax.jvp(model, (params, 3.0), ({"scale": 1.0, "shift": 0.0}, 0.0)))
print("gradient:         ", jax.grad(model)(params, 3.0))

# %% [markdown]
# The tangents come in a dict of the same form, and the gradient leaves in one: for each parameter, how
# much the result moves with it. But in lessons 1 to 3 we saw all of the machinery, and there was no
# dict. Primitives take arrays, rules take arrays, and a tracer stands for one array.
#
# The answer is a piece of packing. On the way in, the containers are taken apart into a flat list; on the
# way out, they are put together again. In between, everything is flat.
#
# ## Flatten and unflatten
#
# A **[pytree](glossary.md#pytree)** is any nesting of Python containers. `tree_flatten` gives two
# things: the **[leaves](glossary.md#leaf)**, in a list, and the **[treedef](glossary.md#treedef)**, the
# structure that is left when the leaves are gone.
#
# <details><summary>In which order will the five leaves of this dict come out?</summary>
#
# 5.0 first: the keys of a dict are sorted, and "bias" comes before "layers".
# </details>

# %%
from tinyjax.tree_util import tree_flatten, tree_leaves, tree_map, tree_unflatten

leaves, treedef = tree_flatten({"layers": [(1.0, 2.0), (3.0, 4.0)], "bias": 5.0})
print(leaves)
print(treedef)

# %% [markdown]
# Each `*` is the place of a leaf. Leaves and structure together are all that there was. So they can be
# put together again, with the same leaves or with others:

# %%
print(tree_unflatten(treedef, leaves))
print(tree_unflatten(treedef, "abcde"))

# %% [markdown]
# What is taken apart, and what is a leaf? Here are some answers, some of which surprise:
#
# <details><summary>Which of these have one leaf, which is the thing itself: <code>3.0</code>,
# <code>None</code>, a text, a NumPy array, an instance of a subclass of <code>dict</code>?</summary>
#
# All but `None`, which has none. The subclass too: it is no dict to tinyjax, until someone registers how it
# is built.
# </details>

# %%
import collections

import numpy as np

Point = collections.namedtuple("Point", "x y")


class MyDict(dict):
    pass


for tree in [
    3.0,
    (1.0, [2.0, (3.0,)]),
    {"b": 1.0, "a": 2.0},
    Point(1.0, 2.0),
    (1.0, None, ()),
    "text",
    np.zeros(2),
    MyDict(a=1.0),
]:
    leaves, treedef = tree_flatten(tree)
    print(f"{tree!r:24} leaves: {len(leaves)}  {treedef}")

# %% [markdown]
# - Tuples, lists, dicts, namedtuples and a few more are **[nodes](glossary.md#node)**. Everything else
#   is a leaf, be it an array, a number or a text. Whether a leaf makes sense is not decided here:
#   `tree_flatten` never looks into one.
# - A dict's leaves are in the order of its *sorted keys*, not in that of insertion. Two dicts that are
#   equal have equal structures, however they were made.
# - `None` is a node without children. It vanishes from the leaves, and is there again after unflattening.
# - A subclass of `dict` is a leaf. Nobody knows how to build it again, so it is not guessed.
# - `CustomNode` in print is any node but a tuple, list, dict or None, with the name of its type.
#
# ## The walk
#
# The leaves alone are easy to find, with a function that calls itself:


# %%
def find_leaves(tree):
    if isinstance(tree, list | tuple):
        for child in tree:
            yield from find_leaves(child)
    elif isinstance(tree, dict):
        for key in sorted(tree):
            yield from find_leaves(tree[key])
    else:
        yield tree


print(list(find_leaves({"layers": [(1.0, 2.0), (3.0, 4.0)], "bias": 5.0})))

# %% [markdown]
# The real one differs in two ways. It writes down, at each node, what is needed to build it again. And it
# has no `isinstance` for each type: a table has for each type how it is taken apart and put together. An
# entry is a `Kind`:

# %%
import inspect

from tinyjax.core.tree_util import pytrees

print(inspect.getsource(pytrees.Kind))
print([node_type.__name__ for node_type in pytrees.registry][:6])

# %% [markdown]
# Taking a node apart gives its children, and what is called **[aux data](glossary.md#aux-data)**: all
# else that must be known to build it again. For a dict these are its keys:

# %%
kind = pytrees.registry[dict]
children, aux = kind.flatten({"b": 1.0, "a": [2.0, 3.0]})
print("children:", children, "  aux data:", aux)
print("built again:", kind.unflatten(aux, ("new", "leaves")))

# %% [markdown]
# So a treedef is itself a small tree: at each node its type, its aux data, and the treedefs of its
# children. Treedefs can be compared, and be the keys of dicts. `jit` uses that to say whether it has seen
# arguments of this structure before (lesson 10).
#
# ## tree_map
#
# Flatten, do something to each leaf, unflatten: that is so common that it has a name.

# %%
print(tree_map(f, {"a": 3.0, "b": [0.0, 1.0]}))

# %% [markdown]
# With several trees, the function is given the values that stand at the same place. A step of gradient
# descent on any model whatever is one line:

# %%
gradient = jax.grad(model)(params, 3.0)
print(tree_map(lambda param, slope: param - 0.1 * slope, params, gradient))

# %% [markdown]
# If the trees do not match, the message says where. In it, `tree_map tree` is the first of the trees, and
# `['a']` the place in it:

# %%
import textwrap


def attempt(function, *args):
    try:
        print(function(*args))
    except Exception as error:
        lines = [textwrap.fill(line, 92) for line in str(error).splitlines()]
        print(f"{type(error).__name__}:\n" + textwrap.indent("\n".join(lines), "  "))


attempt(tree_map, max, {"a": (1, 2), "b": 3}, {"a": (4, 5, 6), "b": 7})

# %% [markdown]
# ## How jvp uses it
#
# Now we can say what `jax.jvp` does around the trace of lesson 2. From the outside to the inside:
#
# 1. Flatten the primals, and flatten the tangents. The two structures must be equal; if not, it is an
#    error.
# 2. Make a tracer of each pair of leaves.
# 3. Unflatten the tracers. Now there is a dict of tracers, and the user's function can be called with
#    it: it gets the containers that it expects.
# 4. Flatten what the function returns, and take primal and tangent out of each leaf.
# 5. Unflatten the primals, and unflatten the tangents, both with the structure of the *result*.
#
# All transformations have this form. What is inside never sees a container. A jaxpr shows it best: its
# inputs are the leaves, `scale`, `shift` and `x`, in order.

# %%
print(jax.make_jaxpr(model)(params, 3.0))

attempt(lambda: jax.jvp(model, (params, 3.0), ({"scale": 1.0}, 0.0)))

# %% [markdown]
# ## Your own class
#
# For tinyjax your classes are leaves, until you say how to take one apart. For a dataclass it suffices
# to say that it is one:
#
# <details><summary>A <code>Wave</code> has two numbers and a name. What type has its gradient, and what
# becomes of the name?</summary>
#
# It is a `Wave`, of the same name. Its numbers say how much the result moves with `scale` and with
# `shift`.
# </details>

# %%
import dataclasses


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Wave:
    scale: float
    shift: float
    name: str = dataclasses.field(metadata={"static": True}, default="wave")

    def __call__(self, x):
        return self.scale * f(x) + self.shift


wave = Wave(2.0, 1.0)
print(tree_flatten(wave))
print(jax.grad(lambda wave: wave(3.0))(wave))

# %% [markdown]
# The gradient is a `Wave` again. Its `name` is no number that could be differentiated: it was marked as
# *static*, and so is aux data. If it differs, the structure differs.
#
# For any other class, `register_pytree_node` takes the two functions of a `Kind`:


# %%
class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high


jax.tree_util.register_pytree_node(
    Interval,
    lambda interval: ((interval.low, interval.high), None),  # children, aux data
    lambda aux, children: Interval(*children),
)

out = tree_map(f, Interval(1.0, 3.0))
print(type(out).__name__, out.low, out.high)

# %% [markdown]
# One piece of advice: let `__init__` of such a class not check or convert its arguments. It will be
# called with tracers, with `None`, with whatever a transformation happens to put into the leaves'
# places. What if `__init__` takes something else, such as the sizes of arrays that it makes? That is
# exercise 04.7.
#
# ## One value for many leaves
#
# Often one wants to say one thing about a whole part of the arguments: "all parameters stay as they
# are, and `x` has a batch axis". `vmap` (the next lesson) takes such remarks as `in_axes`, and a short
# one is enough. Here the first argument is a whole dict, and the one `None` speaks for all of it:

# %%
x = jnp.array([0.0, 1.0, 2.0, 3.0])
print(jax.vmap(model, in_axes=(None, 0))(params, x))

# %% [markdown]
# `(None, 0)` is a **[prefix](glossary.md#prefix)** of the arguments' structure: it is the same tree,
# cut off earlier. Each of its leaves stands for the whole subtree below. `broadcast_prefix` repeats it
# accordingly, once for each leaf of the full tree:

# %%
from tinyjax.tree_util import broadcast_prefix

arguments = ({"scale": 2.0, "shift": [1.0, 1.0]}, 3.0)
print(broadcast_prefix(("params", "x"), arguments))
print(broadcast_prefix(({"scale": "A", "shift": "B"}, "x"), arguments))
attempt(broadcast_prefix, ("params", "x", "more"), arguments)

# %% [markdown]
# In exercise 04.4 you write this for nested lists, and then, in 04.5, the real one.
#
# (There is one difficulty: `None` is a node without leaves, but in `in_axes` it has to be a value. So
# `in_axes` is flattened with `is_leaf=lambda x: x is None`. Wherever there is `is_leaf`, it is asked at
# each subtree whether to stop there.)
#
# ## Three things that go wrong
#
# A list of numbers is not an array, it is a node with many leaves. It works, and is slow: each number
# gets its own tracer and its own operations.
#
# <details><summary>A list of three numbers, and an array of three: how many equations does <code>f</code>
# of all, added up, take in each case?</summary>
#
# Nine, and three: for the list, each number has its own sine, product and addition (Python's `sum` begins
# with 0). For a thousand numbers it would be three thousand, and still three.
# </details>

# %%
print(jax.make_jaxpr(lambda xs: sum(f(x) for x in xs))([1.0, 2.0, 3.0]))
print(jax.make_jaxpr(lambda xs: jnp.sum(f(xs)))(jnp.array([1.0, 2.0, 3.0])))

# %% [markdown]
# A tuple that you mean as *one* value, such as a shape, is taken apart. Say where to stop:
#
# <details><summary>How many leaves has a dict of two shapes?</summary>
#
# Three, numbers all of them, as a shape is a tuple; two, if `is_leaf` makes tuples leaves.
# </details>

# %%
shapes = {"weight": (2, 3), "bias": (3,)}
print(tree_leaves(shapes))
print(tree_leaves(shapes, is_leaf=lambda x: isinstance(x, tuple)))

# %% [markdown]
# And `None` where a value was meant disappears without a word. `tree_leaves([1.0, None])` has one leaf.
#
# ## Where tinyjax differs from JAX
#
# In what comes out, nowhere that we know of, down to the printed treedefs. JAX's pytrees are written in
# C++, to be fast; tinyjax's are 350 lines of Python, and you can read them:
# [pytrees.py](../tinyjax/core/tree_util/pytrees.py). In JAX `broadcast_prefix` is private;
# `jax.tree.broadcast` gives the same, as a tree. Other functions have short names in `jax.tree` too:
# `jax.tree.map`, `jax.tree.leaves`, `jax.tree.flatten`.
#
# As a picture: `jvp` of the model. What comes in are three leaves; the dict is gone. Where a leaf was in its
# tree is its *key path*: the picture shows it, and `tree_leaves_with_path` gives it.

# %%
from tinyjax import viz
from tinyjax.tree_util import keystr, tree_leaves_with_path

for path, leaf in tree_leaves_with_path((params, 3.0)):
    print(keystr(path), leaf)

viz.jvp(model, params, 3.0)

# %% [markdown]
# ## Summary
#
# - A pytree is taken apart into a list of leaves and a treedef, and put together again.
# - Every transformation flattens on the way in and unflattens on the way out; in between all is flat.
# - Your classes take part once they are registered; a prefix says one thing about a whole subtree.
#
# Questions people ask: [how do I jit a method](questions.md#how-do-i-jit-a-method).
#
# ## Do you know?
#
# <details><summary>How many leaves has <code>[1.0, None]</code>?</summary>
#
# One: `None` is a tree without leaves.
# </details>
#
# <details><summary>In which order are the leaves of <code>{"b": 1, "a": 2}</code>?</summary>
#
# 2, then 1: a dict's leaves are in the order of its sorted keys. An `OrderedDict` keeps its own order.
# </details>
#
# <details><summary>What does <code>in_axes=(0, None)</code> say where the first argument is a dict of
# arrays?</summary>
#
# It is a prefix: 0 holds for every array in the dict, and the second argument is the same for all
# examples.
# </details>
#
# ## Exercises
#
# Write the walk, the way back and what is made of them, up to `jvp` itself; and then your own class:
# `python -m tinyjax learn start 04`.
#
# ## Where this lives in JAX
#
# - `jax/_src/tree_util.py`: `tree_flatten`, `tree_map`, `register_pytree_node`, `register_dataclass`,
#   `broadcast_prefix`.
# - `jaxlib/pytree.cc`: the registry, the walk and `PyTreeDef`, in C++.
# - `jax/_src/api_util.py`: `flatten_fun`, `flatten_axes`, used by every transformation.
