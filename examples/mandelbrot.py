"""The Mandelbrot set: a `while_loop` for one point, and `vmap` for all points of a picture.

A point c belongs to the set if z = 0, z * z + c, ... stays near 0 for ever. The loop ends when |z| exceeds
2, from where it only grows. `vmap` of a `while_loop` goes on until the last point is done, and leaves
those alone that were done before.
"""

import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

AREA = (-2.2, 0.8, -1.2, 1.2)  # left, right, bottom, top


def steps_until_far(x, y, limit):
    """After how many steps z is further than 2 from 0, for the point c = x + iy; at most `limit`."""

    def near(state):
        zx, zy, steps = state
        return (zx * zx + zy * zy <= 4) & (steps < limit)

    def step(state):
        zx, zy, steps = state
        return zx * zx - zy * zy + x, 2 * zx * zy + y, steps + 1

    return lax.while_loop(near, step, (0.0, 0.0, 0))[2]


@partial(jax.jit, static_argnames=("width", "height"))
def mandelbrot(width, height, limit):
    """The steps of each pixel, int32[height, width], the top row first."""
    left, right, bottom, top = AREA
    xs = jnp.linspace(left, right, width)
    ys = jnp.linspace(top, bottom, height)
    of_row = jax.vmap(steps_until_far, in_axes=(0, None, None))
    return jax.vmap(of_row, in_axes=(None, 0, None))(xs, ys, limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=750)
    parser.add_argument("--height", type=int, default=600)
    parser.add_argument(
        "--limit", type=int, default=200, help="steps after which a point counts as in"
    )
    parser.add_argument("--picture", metavar="FILE", help="draw the result there")
    options = parser.parse_args()

    steps = mandelbrot(options.width, options.height, options.limit)
    print(f"steps of a point: {jnp.mean(steps):.4f} on average")
    left, right, bottom, top = AREA
    inside = jnp.mean(steps == options.limit)
    area = float(inside * (right - left) * (top - bottom))
    print(f"result: the set has an area of {area:.2f} (known: 1.5066)")
    if options.picture:
        draw(options.picture, np.asarray(steps), options.limit)


def draw(file, steps, limit):
    """Black where the set is; around it from dark blue to white to red, by how long it took."""
    from picture import plt, save

    shades = plt.get_cmap("twilight_shifted", 16)
    shades.set_bad("black")  # nan
    shown = np.where(steps == limit, np.nan, np.log1p(steps))
    figure, axes = plt.subplots(figsize=(6.4, 5.2))
    axes.imshow(shown, cmap=shades, extent=AREA, interpolation="none")
    axes.set(title="Steps until z is far", xlabel="real part of c", ylabel="imaginary part")
    axes.grid(False)
    save(figure, file)


if __name__ == "__main__":
    main()
