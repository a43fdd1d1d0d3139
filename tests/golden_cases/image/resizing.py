"""Recorded cases of jax.image."""

import importlib

import numpy as np
from golden_cases.codec import Group


def names(jax, jnp, lax):
    image = importlib.import_module(f"{jax.__name__}.image")
    return {
        "resize": image.resize,
        "scale_and_translate": image.scale_and_translate,
        "ResizeMethod": image.ResizeMethod,
        "row": jnp.array([1.0, 4, 2, 8]),
        "picture": jnp.array(np.arange(12, dtype=np.float32).reshape(3, 4) ** 2),
    }


KERNELS = ["linear", "cubic", "lanczos3", "lanczos5", "cubic-pytorch", "area"]
CALLS = [
    *[f"resize(row, ({n},), {k!r})" for k in ["nearest", *KERNELS] for n in (2, 3, 7)],
    *[f"resize(row, (3,), {k!r}, antialias=False)" for k in KERNELS],
    *[f"resize(picture, (5, 2), {k!r})" for k in ("nearest", "bilinear", "bicubic")],
    *[f"resize(row, (6,), ResizeMethod.{k})" for k in ("LINEAR", "CUBIC_PYTORCH", "AREA")],
    "resize(picture[None, :, :, None], (1, 4, 4, 1), 'trilinear')",
    "resize(row, (4,), 'cubic')",
    "resize(row, (0,), 'linear')",
    "resize(i32([1, 4, 2, 8]), (2,), 'linear')",
    "resize(i32([1, 4, 2, 8]), (3,), 'nearest')",
    "resize(f16([1, 4, 2, 8]), (6,), 'linear')",
    "scale_and_translate(row, (6,), (0,), f32([2]), f32([-1]), 'linear')",
    "scale_and_translate(picture, (4, 4), (0, 1), f32([1.5, 0.5]), f32([0, 1]), 'cubic', antialias=False)",
    "scale_and_translate(picture, (4, 4), (0,), f32([1.5]), f32([0]), 'linear')",
    "scale_and_translate(picture, (3, 4), (-1,), f32([0.5]), f32([0.75]), 'lanczos3')",
    "jax.jit(lambda a: resize(a, (2, 6), 'cubic'))(picture)",
    "jax.vmap(lambda a: resize(a, (2,), 'linear'))(picture)",
    "jax.grad(lambda a: resize(a, (3,), 'cubic')[1])(row)",
    "jax.grad(lambda s: scale_and_translate(row, (6,), (0,), s, f32([-1]), 'linear')[2])(f32([2]))",
    "[method.name for method in ResizeMethod]",
    "ResizeMethod.from_string('triangle').name",
    "ResizeMethod.from_string('cubic-pytorch').name",
]

GROUPS = [Group("image", CALLS, ulps=32, scaled=True)]

ERRORS = {
    "image": [
        ("resize(picture, (5,), 'linear')", ["shape"]),
        ("resize(row, (5,), 'sharp')", ["sharp"]),
        ("resize(row, (2.5,), 'linear')", ["2.5"]),
        ("scale_and_translate(row, (6,), (0,), f32([2]), f32([0]), 'nearest')", ["earest"]),
        ("scale_and_translate(row, (6, 2), (0,), f32([2]), f32([0]), 'linear')", ["shape"]),
        ("ResizeMethod.from_string('sharp')", ["sharp"]),
    ],
}
