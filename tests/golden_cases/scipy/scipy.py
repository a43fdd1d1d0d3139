"""Recorded cases of ndimage, interpolate, integrate, cluster.vq."""

import importlib

import numpy as np
from golden_cases.codec import Group


def names(jax, jnp, lax):
    def module(name):
        return importlib.import_module(f"{jax.__name__}.scipy.{name}")

    image = jnp.array(np.arange(12, dtype=np.float32).reshape(3, 4) ** 2)
    grid = (jnp.array([0.0, 1.0, 2.5]), jnp.array([-1.0, 0.0, 1.0, 3.0]))
    RegularGridInterpolator = module("interpolate").RegularGridInterpolator
    return {
        "map_coordinates": module("ndimage").map_coordinates,
        "RegularGridInterpolator": RegularGridInterpolator,
        "trapezoid": module("integrate").trapezoid,
        "vq": module("cluster.vq").vq,
        "image": image,
        "at": [
            jnp.array([-2.5, -1, -0.5, 0, 0.25, 1.5, 2, 2.5, 3, 7.25, np.nan], jnp.float32),
            jnp.array([0.5, 1, 1.5, 3, 2.75, 3, 3.5, -0.25, 0, -9, 1], jnp.float32),
        ],
        "grid": grid,
        "interpolator": RegularGridInterpolator(grid, image),
        "points": jnp.array([[0.5, 0.5], [1, 3], [2.25, -1], [0, 1.5], [3, 0], [np.nan, 0]]),
        "observations": jnp.array([[1.9, 2.3], [0.8, 0.6], [-1, 4]]),
        "codes": jnp.array([[1.0, 1], [2, 2], [0, 5], [2, 2]]),
    }


def jaxprs(jax, jnp, lax):
    map_coordinates = importlib.import_module(f"{jax.__name__}.scipy.ndimage").map_coordinates
    image, x = np.ones((3, 4), np.float32), np.ones(2, np.float32)
    return {
        f"map_coordinates, order {order}": lambda order=order, mode=mode: jax.make_jaxpr(
            lambda a, b, c: map_coordinates(a, [b, c], order, mode)
        )(image, x, x)
        for order, mode in ((0, "reflect"), (1, "constant"))
    }


MODES = ["constant", "nearest", "wrap", "mirror", "reflect"]
CALLS = [
    *[f"map_coordinates(image, at, {order}, {m!r}, -1.0)" for order in (0, 1) for m in MODES],
    "map_coordinates(image, at, 1)",
    "map_coordinates(image, [f32([0.5, 1]), f32([[1], [2]])], 1)",
    "map_coordinates(image, f32([0.5, 1]), order=1)",
    "map_coordinates(image, [[0.5, 1], [1, 1.5]], 1)",
    "map_coordinates(image, [i32([0, 1, 5]), i32([1, 1, 1])], 0, cval=2)",
    "map_coordinates(im, [f32([0.5, 0.25]), f32([0.5, 1])], 1, 'nearest')",
    "map_coordinates(im.astype('uint8'), [f32([0.5, 0.25, -5]), f32([0.5, 1, 0])], 1)",
    "map_coordinates(hm, [f32([0.5, 0.25]), f32([0.5, 1])], 1)",
    "map_coordinates(bm, [f32([0.5, 0.25]), f32([0.5, 1])], 0)",
    "map_coordinates(image + 1j, [f32([0.5, 0.25]), f32([0.5, 1])], 1)",
    "map_coordinates(t, [f32([0.5, 1]), f32([0.5, 1.25]), f32([2, 2.5])], 1)",
    "map_coordinates(f32([5]), [f32([-1, 0, 0.5, 3])], 1, 'mirror')",
    "map_coordinates([1.0, 2.0], [f32([0.5])], 1)",
    "jax.jit(lambda a, at: map_coordinates(a, at, 1))(image, at)",
    "jax.vmap(lambda x: map_coordinates(image, [x, x], 1, 'wrap'))(f32([[0.5], [2.75]]))",
    "jax.grad(lambda x: map_coordinates(image, [x, 2 * x], 1))(0.75)",
    "jax.grad(lambda x: map_coordinates(image, [x, 2 * x], 1))(1.0)",
    "jax.grad(lambda a: map_coordinates(a, at, 1, 'reflect')[:-1].sum())(image)",
    "jax.jvp(lambda a: map_coordinates(a, at, 1), (image,), (image * 0 + 1,))[1]",
    "interpolator(points)",
    "interpolator(points, method='nearest')",
    "RegularGridInterpolator(grid, image, 'nearest')(points)",
    "RegularGridInterpolator(grid, image, fill_value=None)(points)",
    "RegularGridInterpolator(grid, image, fill_value=-1)(points)",
    "RegularGridInterpolator(grid, image[:, :, None] * v)(points)",
    "RegularGridInterpolator(grid, image.astype('int32'))(points[:1])",
    "RegularGridInterpolator((i32([0, 1, 2]),), v)(f32([0.5, 1.75, 2]))",
    "RegularGridInterpolator((v,), w)((f32([1.5, 2.5]),))",
    "interpolator(f32([0.5, 0.25]))",
    "interpolator((f32([0.5, 0.25]), f32([[0.5], [0]])))",
    "interpolator(points[None])",
    "interpolator(i32([[1, 0], [2, 2]]))",
    "jax.jit(interpolator)(points)",
    "jax.vmap(interpolator)(points)",
    "jax.grad(lambda x: interpolator(x).sum())(points[:4])",
    "jax.grad(lambda a: RegularGridInterpolator(grid, a)(points[:4]).sum())(image)",
    "trapezoid(w)",
    "trapezoid(i32([1, 2, 3]), dx=0.5)",
    "trapezoid(m, v, axis=1)",
    "trapezoid(m, axis=0)",
    "jax.grad(lambda x: trapezoid(w, x))(v)",
    "vq(observations, codes)",
    "vq(v, w)",
    "vq(im, im[:1])",
    "vq(observations, codes, check_finite=False)",
    "jax.jit(vq)(observations, codes)",
    "jax.grad(lambda c: vq(observations, c)[1].sum())(codes)",
]

GROUPS = [Group("interpolation", CALLS, ulps=8, scaled=True)]

ERRORS = {
    "interpolation": [
        ("map_coordinates(image, at, 2)", ["order<=1", "2"]),
        ("map_coordinates(image, at[:1], 1)", ["coordinates", "1 != 2"]),
        ("map_coordinates(image, at, 1, 'grid')", ["mode", "grid"]),
        ("map_coordinates(image, [v, v[:2]], 1)", ["incompatible shapes", "(3,), (2,)"]),
        ("map_coordinates(image, [v, v[:2]], 1, 'wrap')", ["shapes", "(3,), (2,)"]),
        ("map_coordinates(image, at, 1, cval=f32(1))", []),
        ("map_coordinates(f32(3), [], 1)", []),
        ("map_coordinates(image, [1j, 1], 1)", ["floor", "complex64"]),
        ("RegularGridInterpolator(grid, image, 'cubic')", ["method", "cubic"]),
        ("interpolator(points, 'cubic')", ["method", "cubic"]),
        ("RegularGridInterpolator(grid, image, bounds_error=True)", ["bounds_error"]),
        ("RegularGridInterpolator(grid, v)", ["2 point arrays", "1 dimensions"]),
        ("RegularGridInterpolator(grid, image, fill_value=1j)", ["fill_value"]),
        ("RegularGridInterpolator(grid, [[1.0]])", ["list"]),
        ("RegularGridInterpolator(([0, 1, 2],), v)", ["list"]),
        ("interpolator([[0.5, 0.5]])", ["list"]),
        ("interpolator(m)", ["xi", "dimension 3", "dimension 2"]),
        ("vq(observations[0], codes)", ["code_book", "same rank"]),
        ("vq(observations, m)", ["shapes"]),
        ("vq(t, t)", ["ndim"]),
        ("vq([[1.0]], codes)", ["list"]),
        ("trapezoid([1, 2])", ["list"]),
    ],
}
