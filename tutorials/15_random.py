from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 15. Random keys
#
# After this lesson you can use `jax.random` without surprises, say why it wants a key for every draw, and
# follow the bits: from a seed to a key, from a key and a counter to random bits by a cipher, from bits to
# floats.

# %%
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import random, viz
from tinyjax.random.threefry import PARITY, ROTATIONS, threefry2x32


def f(x):
    return jnp.sin(x) * x


# %% [markdown]
# ## What is wrong with a hidden state
#
# NumPy's generators have a state. Each draw reads it and changes it. That is a side effect, and
# [tracing](06_jaxprs.py) runs side effects once. So a function under `jit` that asks NumPy for a random
# number gets one, at the first call, and keeps it for good:

# %%
numpy_generator = np.random.default_rng(0)
noisy = jax.jit(lambda x: f(x) + numpy_generator.normal())
print(noisy(3.0), noisy(3.0), noisy(3.0))

# %% [markdown]
# There is more. With a state, draws depend on their order, so they cannot be made in parallel: not by the
# elements of an array, not by the examples of a batch, not by two devices.
#
# ## Keys
#
# `jax.random` has no state. A draw is a pure function of a **[key](glossary.md#key)**, and equal keys give
# equal draws.

# %%
key = random.key(0)
print(key)
print(random.normal(key), random.normal(key))

# %% [markdown]
# For different numbers, make different keys. **[`split`](glossary.md#split)** makes new keys of
# one key, as many as you like. What is drawn with them is, for all that anyone can tell,
# independent.

# %%
first, second = random.split(key)
print(random.normal(first), random.normal(second))

# %% [markdown]
# From this follows the one rule: **use each key once**. A key that was split or drawn with is used up, and
# you go on with its children. If you need a key for each step of a loop, `fold_in` makes one of a key and a
# number. (With two numbers, a step and a layer, fold in one after the other, as exercise 15.4 does. Their sum
# would give step 1 of layer 0 the key of step 0 of layer 1.)
#
# <details><summary>Four new numbers. Or have you seen some of them before?</summary>
#
# The first two came of the two keys of `split(key)`. It will turn out that the same bits make both, which
# is why the rule is what it is.
# </details>

# %%
print([f"{random.normal(random.fold_in(key, step)):.4f}" for step in range(4)])

# %% [markdown]
# A key is an array of dtype `key<fry>`. It is indexed, stacked and mapped over like any array, and a
# primitive is all that is needed to make one of another:


# %%
def noisy_f(key, x):
    where, how_much = random.split(key)
    return f(x + 0.01 * random.normal(where)) + 0.01 * random.normal(how_much)


print(jax.make_jaxpr(random.split)(key))
print(jax.make_jaxpr(lambda key: random.bits(key, (3,)))(key))

# %% [markdown]
# ## The words of a key
#
# Inside, a key is two **words**: unsigned integers of 32 bits. The key of a seed holds the seed itself.

# %%
print(random.key_data(random.key(42)), random.key_data(random.split(random.key(42))))

# %% [markdown]
# A key of `[0, 42]` does not look random. It doesn't have to: randomness comes from what is done with it.
#
# ## A cipher makes the bits
#
# A good cipher turns a text into something in which no pattern is left, whatever the text, as long as
# nobody knows the key. So encrypt the simplest of texts: 0, 1, 2, 3, ... This is a **[counter-based
# generator](glossary.md#counter-based)**. Element number i of an array is the number i, encrypted
# with the key. It needs no other element, and no state.
#
# JAX's cipher is **[Threefry](glossary.md#threefry)**. It encrypts two words with a key of two words. Its
# heart is a *round*, which mixes the two words by the three operations that processors do fastest: an
# addition, a rotation, an exclusive or. (Words have 32 bits: what an addition carries beyond them is lost.
# A rotation moves the bits to the left; those that fall out come back at the right.) The first word becomes
# the sum of both. The second is rotated, and then combined with that sum by the exclusive or. Here are words
# of four bits, which can be followed by eye:

# %%
from practice.small_words import one_round, undo_round

after = one_round(0b0111, 0b1100, distance=1, bits=4)
print(f"{after[0]:04b} {after[1]:04b}")
before = undo_round(*after, distance=1, bits=4)
print(f"{before[0]:04b} {before[1]:04b}")

# %% [markdown]
# The sum is 10011, of which 0011 is left. 1100, rotated, is 1001, and the exclusive or with 0011 makes 1010.
# A round can be undone: nothing is lost in it, and so two different texts never become the same. (Exercise
# 15.1 writes the round, and the way back.)
#
# A single round mixes little; twenty are enough. Take two texts that differ in one bit. Below, a `#` is a
# bit of the two words in which the results differ, after each round. (The distances of the rotations
# change from round to round, in a fixed order.)
#
# <details><summary>Two texts of 64 bits differ in one. In about how many do the results differ after one
# round, and after four?</summary>
#
# In nine, and in 32: half of them, as many as in two texts that have nothing to do with each other.
# </details>

# %%
distances = [*ROTATIONS[0], *ROTATIONS[1]]
a, b = (7, 0), (7, 1)
for round in range(13):
    if round in (0, 1, 2, 3, 4, 6, 8, 12):
        different = f"{a[0] ^ b[0]:032b} {a[1] ^ b[1]:032b}".replace("0", ".").replace("1", "#")
        print(f"{round:2} rounds  {different}  {different.count('#'):2}")
    a, b = (one_round(*pair, distances[round % 8]) for pair in (a, b))

# %% [markdown]
# So far no key. The key comes in from outside, between groups of rounds. Here is the whole cipher, as a
# recipe:
#
# 1. There are three key words: the two of the key, k0 and k1, and a third, k2 = k0 ^ k1 ^ PARITY, where
#    PARITY is a constant. Add k0 to x1, and k1 to x2.
# 2. Do five groups of four rounds, groups 0 to 4. The distances of groups 0, 2 and 4 are `ROTATIONS[0]`, of
#    groups 1 and 3 `ROTATIONS[1]`.
# 3. After group g, add two key words, taken in turn from the three: to x1 the word number g + 1, to x2 the
#    word number g + 2 (both modulo 3). And add the number g + 1 to x2.

# %%
print(ROTATIONS, hex(PARITY))

# %% [markdown]
# The cipher in the package is a function of NumPy arrays, so it encrypts all counters at once. The counter
# has 64 bits: its high word is 0 here. The two words that come out are folded into one.

# %%
k1, k2 = np.asarray(random.key_data(key))
count = np.arange(3, dtype=np.uint32)
high, low = threefry2x32(k1, k2, np.zeros_like(count), count)
print(high ^ low)
print(random.bits(key, (3,)))

# %% [markdown]
# And `split`? The same again, but both words are kept: each pair is a new key. `fold_in(key, n)` encrypts
# the number n, and the pair is the key. Every key and every draw is made by this one function.

# %%
print(np.stack([high, low], axis=1))
print(random.key_data(random.split(key, 3)))

# %% [markdown]
# So `split(key)` and `bits(key)` encrypt the same counters with the same key, and `fold_in(key, 0)` is the
# first key of `split(key)`. (You may have noticed that two numbers came up twice above.) This is why each
# key must be used for one thing only.
#
# ## From bits to floats
#
# How do 32 random bits become a number between 0 and 1? Dividing by 2**32 would round. Instead, look at how
# a float32 is stored: one bit for the sign, 8 for the exponent, 23 for the fraction. All floats from 1 up
# to 2 have the same exponent, and every fraction stands for one of them, at equal distances. So: 23 random
# bits as the fraction, the exponent of 1.0, and subtract 1.

# %%
bits = np.asarray(random.bits(key, (3,)))
one = np.float32(1).view(np.uint32)
print(f"{one:032b}  1.0")
for word in bits:
    chosen = one | (word >> np.uint32(9))
    print(f"{chosen:032b}  {chosen.view(np.float32):.6f}")
print(random.uniform(key, (3,)))

# %% [markdown]
# Other distributions are made of uniform numbers. A normal number is `sqrt(2) * erf_inv(u)` of a uniform u
# between -1 and 1. In the jaxpr of `uniform` you can find every step of the way:

# %%
print(jax.make_jaxpr(random.uniform)(key))

# %% [markdown]
# ## Under transformations
#
# `vmap` over keys: a batch of independent experiments. Here is `f` at 3.0, measured by 1,000 instruments
# that are noisy in two ways.
#
# <details><summary><code>noisy_f</code> adds noise of 0.01 to <code>x</code>, and again to the result.
# How large is the deviation of what is measured?</summary>
#
# 0.03: the slope of `f` at 3 is -2.83, so that the first noise counts nearly three times as much as the
# second.
# </details>

# %%
keys = random.split(key, 1000)
measured = jax.vmap(noisy_f, in_axes=(0, None))(keys, 3.0)
print(
    f"mean {measured.mean():.2f}, standard deviation {measured.std():.2f}, true value {f(3.0):.2f}"
)

# %% [markdown]
# With `in_axes=None` for the key, all examples would share it, and make the same error. That may be what
# you want (the same noise for all), or the mistake that you are looking for.
#
# `grad` takes draws as constants: a draw does not depend on anything that has a derivative. What is
# computed *from* them has one. Here is how the average of `f` over a range changes with the range:
#
# <details><summary>A draw has no derivative. Has the average of <code>f</code> at a thousand random
# places between 0 and <code>width</code>?</summary>
#
# Yes. The thousand draws are constants; where `f` is asked moves with `width`.
# </details>


# %%
def average_of_f(width):
    return f(width * random.uniform(key, (1000,))).mean()


print(average_of_f(3.0), jax.grad(average_of_f)(3.0))

# %% [markdown]
# And draws do not depend on how much is drawn, or where. The first three of 300 are those of 3; under
# `jit`, the cipher becomes a part of the kernel that uses its numbers, and gives the same bits.

# %%
print(random.bits(key, (300,))[:3])
print(jax.jit(lambda key: random.bits(key, (3,)))(key))

# %% [markdown]
# ## Where tinyjax differs from JAX
#
# The bits are JAX's: the same key gives the same numbers in both, for all of `jax.random` that tinyjax has.
# JAX has more generators to choose from (`impl="rbg"` is faster on TPUs); tinyjax has Threefry.
# `jax.random.PRNGKey`, the older form of a key, works in both. With
# `jax.config.update("jax_debug_key_reuse", True)`, a key that is used twice raises `KeyReuseError` in both.
#
# ## The picture
#
# The graph of `f` at a random place: from a key to bits, from bits to a float, and on through `f`.


# %%
def f_somewhere(key):
    return f(random.uniform(key))


viz.dot(jax.make_jaxpr(f_somewhere)(key))

# %% [markdown]
# ## Summary
#
# - A draw is a pure function of a key. Use each key once: split it, or fold a number in, for more.
# - Random bits are a counter, encrypted with the key by Threefry: each element by itself, in any order, on
#   any device.
# - A uniform float is random bits as the fraction of a number between 1 and 2, minus 1; others are made of
#   that.
#
# ## Do you know?
#
# <details><summary>Two arrays of one shape are drawn with the same key. How do they differ?</summary>
#
# Not at all: a draw is a pure function of its key.
# </details>
#
# <details><summary>Can the last of a million random numbers be computed without the others?</summary>
#
# Yes. Its bits are its own number, encrypted with the key.
# </details>
#
# <details><summary>Why is a uniform float made of a number between 1 and 2?</summary>
#
# Between 1 and 2 all floats are equally far apart, so random bits as the fraction are uniform. Then 1 is
# subtracted.
# </details>
#
# ## Exercises
#
# Write the cipher, what is made of it, and keys for a training run: `python -m tinyjax learn start 15`
#
# ## Where this lives in JAX
#
# - `jax/_src/random/threefry2x32.py`: `threefry_2x32`, `threefry_seed`, `threefry_split`,
#   `threefry_fold_in`
# - `jax/_src/random/prng.py`: arrays of keys; `jax/_src/random/core.py`: `uniform`, `normal` and all other
#   draws
