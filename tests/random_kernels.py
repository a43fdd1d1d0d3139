"""Random kernels as source: grids, blocks, dtypes, masks, scratch arrays, aliases.

No tinyjax is needed here, so that JAX runs them, too.

Values are small integers, also those of floats, so that sums are exact in any order.
"""

import random

import numpy as np

DTYPES = ["float32", "int32", "float16", "uint8", "int16", "bfloat16"]


def source(seed):
    """A program as text: `call(interpret, *args)` is a pallas_call, and `args` are its arguments."""
    return _Writer(seed).text()


def load(seed, **modules):
    """The names of a program: call, args and is_race, whether other programs come between two that write to
    one block."""
    names = modules | {"np": np}
    exec(source(seed), names)
    return names


class _Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.dtype = self.random.choice(DTYPES)
        self.grid, self.names = [], []

    def text(self):
        r = self.random
        axes = self.out_axes(r.choice([1, 1, 2, 2, 3]))
        self.is_reduction = r.random() < 0.5
        is_race = False
        if self.is_reduction:  # one more axis, along which programs write to the same blocks
            at = len(self.grid) if r.random() < 0.85 else r.randrange(len(self.grid) + 1)
            size = r.choice([1, 2, 3])
            self.grid.insert(at, size)
            axes = [(a + (a >= at) if a is not None else None, *rest) for a, *rest in axes]
            self.reduced = at
            is_race = size > 1 and any(n > 1 for n in self.grid[at + 1 :])
        self.index_names = [f"i{n}" for n in range(len(self.grid))]
        out = self.out_spec(axes)
        self.out_ref = tuple(b for _, b, *_ in axes if b is not None)
        inputs = [self.input() for _ in range(r.choice([0, 1, 1, 2, 2, 3]))]
        self.is_aliased = r.random() < 0.15
        if self.is_aliased:
            inputs.insert(0, (self.out_shape, out, self.out_ref))
        self.has_scratch = bool(self.out_ref) and r.random() < 0.3
        return "\n".join(
            [
                *self.kernel([ref for *_, ref in inputs]),
                f"grid = {tuple(self.grid)}",
                f"is_race = {is_race}",
                f"args = [{', '.join(self.values(shape) for shape, *_ in inputs)}]",
                "def call(interpret, *args):",
                "    return pl.pallas_call(",
                f"        kernel, jax.ShapeDtypeStruct({self.out_shape}, jnp.{self.dtype}), grid=grid,",
                f"        in_specs=[{', '.join(spec for _, spec, _ in inputs)}],",
                f"        out_specs={out}, interpret=interpret,",
                *(
                    [f"        scratch_shapes=[pl.ANY({self.out_ref}, jnp.{self.dtype})],"]
                    * self.has_scratch
                ),
                *(["        input_output_aliases={0: 0},"] * self.is_aliased),
                "    )(*args)",
                "",
            ]
        )

    def out_axes(self, ndim):
        """(axis of the grid or None, size of blocks or None, number of blocks, elements missing in the last)
        for each axis of the output; gives the grid its axes, in any order."""
        r = self.random
        axes = []
        for _ in range(ndim):
            block = r.choice([None, 1, 2, 3, 4])
            count = r.choice([1, 2, 3])
            missing = r.randrange(block) if block and r.random() < 0.4 else 0
            axes.append([None, block, count, missing])
        order = r.sample(range(ndim), ndim)
        for dim in order:
            if axes[dim][2] > 1 or r.random() < 0.3:
                axes[dim][0] = len(self.grid)
                self.grid.append(axes[dim][2])
        return axes

    def out_spec(self, axes):
        r = self.random
        self.out_shape = tuple((b or 1) * n - missing for _, b, n, missing in axes)
        indices = []
        for axis, _, count, _ in axes:
            name = "0" if axis is None else self.index_names[axis]
            indices.append(
                f"{count - 1} - {name}" if axis is not None and r.random() < 0.2 else name
            )
        return self.spec([b for _, b, *_ in axes], indices)

    def spec(self, blocks, indices):
        comma = lambda xs: "".join(f"{x}, " for x in xs)  # noqa: E731
        return f"pl.BlockSpec(({comma(blocks)}), lambda {', '.join(self.index_names)}: ({comma(indices)}))"

    def input(self):
        """(shape, spec, shape of its Ref)"""
        r = self.random
        shape, blocks, indices = [], [], []
        for _ in range(r.choice([0, 1, 2, 2, 3])):
            block, index, count = r.choice([None, 1, 2, 3, 4]), "0", 1
            if self.grid and r.random() < 0.7:
                axis = r.randrange(len(self.grid))
                name, size = self.index_names[axis], self.grid[axis]
                index, count = r.choice(
                    [(name, size), (name, size), (name, size), (f"{size - 1} - {name}", size)]
                    + [(f"{name} // 2", (size + 1) // 2), (f"({name} + 1) % {size}", size)]
                )
                if r.random() < 0.15:
                    other = r.randrange(len(self.grid))
                    index, count = (
                        f"{index} + {self.index_names[other]}",
                        count + self.grid[other] - 1,
                    )
            dim, size = str(block), (block or 1) * (count + (r.random() < 0.1))
            if block and r.random() < 0.15:
                dim, index = f"pl.Element({block})", f"({index}) * {block}"
            elif block and r.random() < 0.3:
                size -= r.randrange(block)
            shape.append(size)
            blocks.append(dim)
            indices.append(index)
        return (
            tuple(shape),
            self.spec(blocks, indices),
            tuple(int("".join(filter(str.isdigit, b))) for b in blocks if b != "None"),
        )

    def values(self, shape):
        seed = self.random.randrange(1000)
        return f"np.random.default_rng({seed}).integers(0, 9, {shape}).astype(jnp.{self.dtype})"

    # ---- the kernel ----

    def kernel(self, refs):
        r = self.random
        names = [f"x{n}" for n in range(len(refs))]
        scratch = ["s"] * self.has_scratch
        yield f"def kernel({', '.join([*names, 'o', *scratch])}):"
        yield f"    v = jnp.zeros({self.out_ref}, jnp.{self.dtype})"
        for axis in range(len(self.grid)):
            if r.random() < 0.5:
                yield f"    v += (pl.program_id({axis}) * {r.randrange(1, 4)}).astype(v.dtype)"
        for name, shape in zip(names, refs):
            yield f"    v += {self.read(name, shape)}"
        if r.random() < 0.2 and self.grid:
            yield f"    v *= pl.num_programs({r.randrange(len(self.grid))})"
        yield from self.write("s" if self.has_scratch else "o")
        if self.has_scratch:
            last = (
                f"pl.program_id({self.reduced}) == {self.grid[self.reduced] - 1}"
                if self.is_reduction
                else "True"
            )
            yield f"    @pl.when({last})"
            yield "    def _(): o[...] = s[...]"

    def read(self, name, shape):
        r = self.random
        if shape == self.out_ref:
            return f"{name}[...]"
        if shape == self.out_ref[1:] or shape == self.out_ref[-1:]:
            return f"{name}[...]"
        if not shape:
            return f"{name}[...]"
        first = ", ".join(
            r.choice([str(r.randrange(n)), f"pl.program_id(0) % {n}" if self.grid else "0"])
            for n in shape
        )
        ones = ", ".join([":"] * (len(shape) - 1))
        total = (
            f"jnp.sum({name}[pl.ds(0, {r.randrange(1, shape[0] + 1)}){', ' if ones else ''}{ones}]"
        )
        return r.choice([f"{name}[{first}]", f"{total}, dtype=v.dtype)"])

    def write(self, ref):
        r = self.random
        if self.is_reduction and not self.is_aliased:
            yield f"    @pl.when(pl.program_id({self.reduced}) == 0)"
            yield f"    def _(): {ref}[...] = jnp.full({self.out_ref}, {r.randrange(5)}, jnp.{self.dtype})"
            if r.random() < 0.2 and self.out_ref:
                yield f"    mask = jnp.arange({self.out_ref[-1]}) < {r.randrange(1, 4)}"
                yield f"    {ref}[...] = jnp.where(mask, {ref}[...] + v, {ref}[...])"
            else:
                yield f"    {ref}[...] += v"
            return
        first = self.out_ref[0] if self.out_ref else 0
        if self.is_aliased and not self.has_scratch:
            yield f"    {ref}[...] += v"
        elif first and r.random() < 0.25:
            yield f"    {ref}[{r.randrange(first)}] = v[0]"
        elif first and r.random() < 0.3:
            yield f"    @pl.loop(0, {first})"
            yield f"    def _(i): {ref}[i] = v[i] + i.astype(v.dtype)"
        else:
            yield f"    {ref}[...] = v"
