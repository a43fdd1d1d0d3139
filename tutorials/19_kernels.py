from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 19. The kernel lab
#
# The compiler decides which loops run, and in which pieces. Sometimes you know better: attention, say, that
# never stores its matrix. With `jax.experimental.pallas` you write the kernel yourself, in `jax.numpy`. After
# this lesson you can
#
# - say what a grid, a program and a block are, and write a kernel with them;
# - add up over many programs, and say which of them may write to the same block;
# - handle the last block, which reaches beyond the end;
# - give a kernel a derivative, and train with it.
#
# You need [lesson 9](09_custom_rules.py) and [lesson 12](12_fusion.py). What you learn here is Pallas as JAX
# has it; here the kernels become OpenCL C. Where there is a question, answer it before you open it.

# %%
import timeit

import numpy as np
from practice import kernel_networks, kernel_tiles, kernels

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz
from tinyjax.experimental import pallas as pl

x = jnp.arange(12.0)

# %% [markdown]
# ## One kernel, many programs
#
# A [kernel](glossary.md#pallas) is a function that gets a [Ref](glossary.md#ref) for each array, reads with
# `ref[...]`, writes with `ref[...] = ...`, and returns nothing. It runs once for each
# [program](glossary.md#program-of-a-grid) of the [grid](glossary.md#grid), and each one knows its number:

# %%


def wave_kernel(x_ref, o_ref):
    i = pl.program_id(0)
    o_ref[i] = jnp.sin(x_ref[i]) * x_ref[i]


wave = pl.pallas_call(wave_kernel, jax.ShapeDtypeStruct((12,), jnp.float32), grid=12)
print(np.round(wave(x), 2))

# %% [markdown]
# Twelve programs, each with all of `x` and all of the result, and each sets one element. `out_shape` says
# what the result is, since a kernel returns nothing that could.
#
# ## Blocks
#
# A program seldom needs all. A [BlockSpec](glossary.md#block-spec) gives it one [block](glossary.md#block) of
# an array: it has the block's shape, and an [index map](glossary.md#index-map) from the program's numbers to
# the number of the block. The Refs then hold that block, and the kernel can't reach the rest:

# %%


def wave_of_block(x_ref, o_ref):
    o_ref[...] = jnp.sin(x_ref[...]) * x_ref[...]


def show_kernel(x_ref, o_ref):
    print(f"program {pl.program_id(0)} has {np.asarray(x_ref[...])}")
    wave_of_block(x_ref, o_ref)


def in_blocks(kernel, size, **options):
    spec = pl.BlockSpec((size,), lambda i: (i,))
    struct = jax.ShapeDtypeStruct((12,), jnp.float32)
    grid = pl.cdiv(12, size)  # 12 / size, rounded up
    return pl.pallas_call(kernel, struct, grid=grid, in_specs=[spec], out_specs=spec, **options)


print(np.round(in_blocks(show_kernel, 4, interpret=True)(x), 2))

# %% [markdown]
# With `interpret=True` the Python function itself runs, program after program: `print` and `breakpoint()`
# work. Without it, the kernel is traced and compiled.
#
# <details><summary>Twelve elements in blocks of five: what does the last program have?</summary>
#
# Two elements, and NaN where there are none: so that you notice. What it writes there is dropped.
# </details>

# %%
print(np.round(in_blocks(show_kernel, 5, interpret=True)(x), 2))

# %% [markdown]
# For a map that is all right. For a sum it is not: one NaN, and the sum is NaN. There you mask, by
# `jnp.where(is_there, x, 0)`. (`x * is_there` won't do: 0 times NaN is NaN.)
#
# ## Who writes to what
#
# Several programs may have the same block of the *result*: the index map gives the same numbers. The last
# axis of the grid runs fastest, so with `(i, k)` the programs `(0, 0)`, `(0, 1)`, ... follow each other, and
# add to what the one before them left. The first one must set it: an output begins with NaN.

# %%


def row_sums_kernel(x_ref, o_ref):
    @pl.when(pl.program_id(1) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...].sum(axis=1)


def row_sums(table, grid, block_of_x, block_of_result):
    return pl.pallas_call(
        row_sums_kernel,
        jax.ShapeDtypeStruct(table.shape[:1], table.dtype),
        grid=grid,
        in_specs=[pl.BlockSpec((2, 4), block_of_x)],
        out_specs=pl.BlockSpec((2,), block_of_result),
    )(table)


table = jnp.arange(48.0).reshape(4, 12)
print(row_sums(table, (2, 3), lambda i, k: (i, k), lambda i, k: (i,)))
print(table.sum(axis=1))

# %% [markdown]
# Rows of blocks need nothing of each other, so they run in parallel.
#
# <details><summary>And with the axes of the grid the other way around, <code>(k, i)</code>?</summary>
#
# Then the programs of one block no longer follow each other: those between them have another. On a device
# that runs them in parallel this is a [race](glossary.md#race). Nothing has to be run to know that, so it is
# refused.
# </details>

# %%
try:
    print(row_sums(table, (3, 2), lambda k, i: (i, k), lambda k, i: (i,)))
except ValueError as error:
    print(f"ValueError: {error}")

# %% [markdown]
# ## Loops, slices, scratch
#
# Within a program there are `lax.fori_loop` and `pl.ds(start, size)`, a slice that begins anywhere. A
# [scratch](glossary.md#scratch) array is kept from program to program. One trap:
#
# <details><summary>What do four elements from number 10 on give, of twelve?</summary>
#
# The last four, from 8 on. Where the start is known only when it runs, a slice that would reach beyond the
# end is moved until it fits, as `lax.dynamic_slice` does it. No NaN warns you. (Where it is known while
# tracing, it is an error.)
# </details>

# %%


def slice_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[pl.ds(pl.program_id(0) + 10, 4)]


print(pl.pallas_call(slice_kernel, jax.ShapeDtypeStruct((4,), jnp.float32), grid=1)(x))

# %% [markdown]
# ## What becomes of it
#
# To tracing, a call is one equation, whose parameter is the kernel as a [jaxpr](glossary.md#jaxpr):

# %%
print(jax.make_jaxpr(in_blocks(wave_of_block, 4))(x))

# %% [markdown]
# The compiler replaces the call by its programs, as loops over blocks, and compiles these as any other loops.
# `viz.kernel` plays both: first which blocks each program is given, then which elements each step of the
# compiled kernel loads and stores, on four cores that have vectors of four. In a notebook it is a page with a
# slider; here it is tables, and three steps of each. A digit is the program, or the core:

# %%
print(viz.kernel(kernels.double, jnp.arange(40.0)))

# %% [markdown]
# ## A derivative
#
# `jvp` and `vmap` go through a kernel: a batch is one more axis of the grid. Reverse mode doesn't, here as in
# JAX: several programs may read one element, and their cotangents must be added up, which takes another
# kernel. So you write that kernel too, and attach it by `custom_vjp`:

# %%


def square_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] ** 2


square = in_blocks(square_kernel, 4)
print(jax.jvp(square, (x,), (jnp.ones(12),))[1])
try:
    jax.grad(lambda x: square(x).sum())(x)
except Exception as error:
    print(f"{type(error).__name__}: {str(error).splitlines()[0]}")

# %% [markdown]
# The last exercise does that for a layer, and trains a network of it.
#
# ## Is it fast?
#
# A custom kernel pays where it saves memory, such as attention's matrix. Where the compiler has a
# schedule for an operation, it is hard to beat, with blocks of eight anyway: those of the lab are small, to
# be looked at. Measure it, when nothing else runs; in microseconds:

# %% varies
rng = np.random.default_rng(0)


def floats(*shape):
    return jnp.asarray(rng.standard_normal(shape), jnp.float32)


def attention(q, k, v):
    return jax.nn.softmax(q @ k.T / q.shape[1] ** 0.5) @ v


def microseconds(f, *args):
    f = jax.jit(f)
    f(*args).block_until_ready()
    return min(timeit.repeat(lambda: f(*args).block_until_ready(), number=5, repeat=5)) / 5e-6


for name, kernel, by_numpy, args in (
    ("double", kernels.double, lambda x: 2 * x, [floats(2**16)]),
    ("softmax", kernels.softmax, jax.nn.softmax, [floats(512, 128)]),
    ("matmul", kernel_tiles.matmul, jnp.matmul, [floats(128, 128), floats(128, 128)]),
    ("attention", kernel_networks.attention, attention, [floats(512, 32)] * 3),
):
    print(f"{name:10} {microseconds(kernel, *args):8.0f}  jnp {microseconds(by_numpy, *args):8.0f}")

# %% [markdown]
# ## Where tinyjax differs from JAX
#
# JAX runs Pallas on TPUs (Mosaic) and GPUs (Triton or Mosaic GPU); on a CPU it only interprets. Here kernels
# are compiled on CPUs and GPUs, and there is one kind of memory: names such as `pl.ANY` choose nothing, and
# semaphores, barriers and copies between memories are missing. On a GPU, JAX runs *all* programs in parallel,
# in any order: sums over programs as in this lesson are those of a TPU.
#
# ## Summary
#
# - A kernel runs once for each program of a grid, on the blocks that the index maps give it.
# - Programs that write to the same block must follow each other, and the first of them sets it.
# - Beyond the end lies NaN, which sums must mask; a slice is moved; and the derivative is yours to write.
#
# ## Exercises
#
# `python -m tinyjax learn start 19` makes a folder in which sixteen kernels are empty, or the calls that run
# them, from adding two vectors to attention without its matrix and a layer that trains.
# [kernel_specs.py](practice/kernel_specs.py) says in NumPy what each must give; `viz.kernel` plays what you
# wrote, and `interpret=True` lets you step through it. (The idea of such puzzles is
# that of Sasha Rush's [GPU Puzzles](https://github.com/srush/GPU-Puzzles) and
# [Triton Puzzles](https://github.com/srush/Triton-Puzzles).)
#
# ## Where this lives in JAX
#
# - `jax/_src/pallas/pallas_call.py`: `pallas_call`, its jvp and batching rules
# - `jax/_src/pallas/core.py`: `BlockSpec`, `GridSpec`, `GridMapping`
# - `jax/_src/pallas/hlo_interpreter.py`: what `interpret=True` runs
