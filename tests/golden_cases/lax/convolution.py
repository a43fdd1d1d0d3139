"""Recorded cases of lax.conv_general_dilated and what is made of it."""

import numpy as np
from golden_cases.codec import Group


def jaxprs(jax, jnp, lax):
    image, kernel = jnp.ones((2, 3, 8, 9)), jnp.ones((4, 3, 3, 3))
    channels_last, its_kernel = jnp.ones((2, 8, 9, 3)), jnp.ones((3, 3, 3, 4))
    half, half_kernel = jnp.ones((1, 2, 4), jnp.float16), jnp.ones((3, 2, 2), jnp.float16)

    def plain(x, w):
        return lax.conv(x, w, (1, 1), "SAME")

    def exact(x, w):
        return lax.conv(x, w, (2, 1), "VALID", "highest", jnp.float32)

    def last(x, w):
        layout = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(
            x, w, (2, 1), ((1, 2), (0, 1)), (1, 2), (2, 1), layout, feature_group_count=1
        )

    def wide(x, w):
        return lax.conv(x, w, (1,), "VALID", preferred_element_type=jnp.float32)

    def batch_groups(x, w):
        return lax.conv_general_dilated(x, w, (1,), "VALID", batch_group_count=2)

    def feature_groups(x, w):
        return lax.conv_general_dilated(x, w, (1,), "VALID", feature_group_count=2)

    def both_grads(f):
        return jax.grad(lambda x, w: f(x, w).sum(), (0, 1))

    def of(f, *args):
        return lambda: jax.make_jaxpr(f)(*args)

    images, kernels = image[None].repeat(5, 0), kernel[None].repeat(5, 0)
    signal, grouped = jnp.ones((4, 6, 8)), jnp.ones((4, 3, 3))
    return {
        "conv": of(plain, image, kernel),
        "conv, highest precision": of(exact, image, kernel),
        "conv_general_dilated": of(last, channels_last, its_kernel),
        "grad of conv": of(both_grads(plain), image, kernel),
        "grad of conv_general_dilated": of(both_grads(last), channels_last, its_kernel),
        "grad of conv in a preferred dtype": of(both_grads(wide), half, half_kernel),
        "jvp of conv": of(lambda x, w: jax.jvp(plain, (x, w), (x, w)), image[:, :, :3, :3], kernel),
        "vmap of conv, images": of(jax.vmap(plain, (0, None)), images, kernel),
        "vmap of conv, kernels": of(jax.vmap(plain, (None, 0)), image, kernels),
        "vmap of conv, both": of(jax.vmap(plain), images, kernels),
        "vmap of conv in feature groups, kernels": of(
            jax.vmap(feature_groups, (None, 0)), signal, grouped[None]
        ),
        "grad of conv in feature groups": of(both_grads(feature_groups), signal, grouped),
        "grad of conv in batch groups": of(both_grads(batch_groups), signal, jnp.ones((4, 6, 3))),
        "conv_transpose": of(
            lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), channels_last, its_kernel
        ),
        "conv_transpose, transposed kernel": of(
            lambda x, w: lax.conv_transpose(x, w, (2, 2), "VALID", transpose_kernel=True),
            *(channels_last, its_kernel.swapaxes(2, 3)),
        ),
        "conv_general_dilated_patches": of(
            lambda x: lax.conv_general_dilated_patches(
                x, (2, 3), (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
            ),
            channels_last,
        ),
        "conv_general_dilated_local": of(
            lambda x, w: lax.conv_general_dilated_local(x, w, (1, 1), "VALID", (3, 3)),
            *(image, jnp.ones((5, 27, 6, 7))),
        ),
    }


def names(jax, jnp, lax):
    def draws(*shape, dtype=np.float32):
        count = int(np.prod(shape))
        return jnp.asarray(np.sin(1 + 0.7 * np.arange(count) ** 2).reshape(shape).astype(dtype))

    def whole(*shape, dtype=np.int32):
        return jnp.asarray((np.arange(int(np.prod(shape))) * 7 % 11 - 5).reshape(shape), dtype)

    def grads(f, *args):
        """The gradients of a sum with unequal weights, so that each element has its own."""

        def loss(*args):
            out = f(*args)
            return jnp.sum(out * draws(*out.shape, dtype=out.dtype))

        return jax.grad(loss, tuple(range(len(args))))(*args)

    def second(f, x, w):
        """A derivative of the squared gradient by the kernel."""
        by_image = jax.grad(lambda x, w: jnp.sum(jnp.sin(f(x, w))))
        return jax.grad(lambda w: jnp.sum(by_image(x, w) ** 2))(w)

    def to_ints(sizes):
        return [int(size) for size in sizes]

    general = lax.conv_general_dilated
    return {
        "draws": draws,
        "whole": whole,
        "grads": grads,
        "second": second,
        "to_ints": to_ints,
        "image": draws(2, 3, 5, 6),
        "kernel": draws(4, 3, 2, 3),
        "last": draws(2, 5, 6, 3),
        "last_kernel": draws(2, 3, 3, 4),
        "signal": draws(2, 4, 7),
        "same": lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
        "strided": lambda x, w: lax.conv(x, w, (2, 3), "SAME"),
        "spread": lambda x, w: general(
            x, w, (2, 1), ((1, 2), (0, 3)), (2, 3), (2, 1), ("NHWC", "HWIO", "NHWC")
        ),
        "cropped": lambda x, w: general(x, w, (1, 1), ((-1, 0), (1, -2))),
        "turned": lambda x, w: general(
            x, w, (1, 1), "SAME", None, (1, 2), ("CWNH", "WOHI", "HCWN")
        ),
        "in_feature_groups": lambda x, w: general(x, w, (1,), "SAME", feature_group_count=2),
        "depthwise": lambda x, w: general(x, w, (2,), "SAME", feature_group_count=4),
        "in_batch_groups": lambda x, w: general(x, w, (1,), "VALID", batch_group_count=2),
        "larger": lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"),
        "larger_turned": lambda x, w: lax.conv_transpose(
            x, w, (2, 3), "VALID", transpose_kernel=True
        ),
    }


CALLS = [
    "same(image, kernel)",
    "strided(image, kernel)",
    "lax.conv(image, kernel, [1, 2], 'VALID')",
    "lax.conv(image, kernel, (1, 1), 'same_lower')",
    "cropped(image, kernel)",
    "turned(draws(3, 6, 2, 5), draws(3, 4, 2, 3))",
    "spread(last, last_kernel)",
    "lax.conv_with_general_padding(image, kernel, (1, 2), ((1, 0), (2, 2)), (1, 2), (2, 1))",
    "lax.conv_with_general_padding(image, kernel, (1, 2), 'SAME', None, (2, 1))",
    "in_feature_groups(signal, draws(6, 2, 3))",
    "depthwise(signal, draws(8, 1, 3))",
    "in_batch_groups(signal, draws(6, 4, 3))",
    "lax.conv(draws(2, 3), draws(4, 3), (), 'VALID')",
    "lax.conv(draws(2, 3, 4, 3, 5), draws(2, 3, 2, 2, 3), (1, 1, 2), 'SAME')",
    "lax.conv(image, draws(4, 3, 9, 1), (1, 1), 'VALID')",
    "lax.conv(image[:0], kernel, (1, 1), 'VALID')",
    "lax.conv(image[:, :0], kernel[:, :0], (1, 1), 'VALID')",
    "lax.conv(np.asarray(image), kernel, (1, 1), 'VALID')",
    "larger(last, last_kernel)",
    "larger_turned(last, last_kernel.swapaxes(2, 3))",
    "lax.conv_transpose(last, last_kernel, (2, 1), [(1, 0), (2, 2)], (1, 2))",
    "lax.conv_transpose(last, last_kernel, (2, 1), [(1, 0), (2, 2)], use_consistent_padding=True)",
    "lax.conv_transpose(draws(2, 3), draws(3, 2), (), 'SAME')",
    "lax.conv_transpose(draws(1, 5, 2), draws(4, 2, 3), (3,), 'SAME', rhs_dilation=(2,))",
    "lax.conv_general_dilated_patches(image, (2, 3), (1, 2), 'SAME')",
    "lax.conv_general_dilated_patches(last, (2, 1), (1, 1), 'VALID', rhs_dilation=(2, 1), "
    "dimension_numbers=('NHWC', 'HWIO', 'NCHW'))",
    "lax.conv_general_dilated_local(image, draws(2, 9, 5, 3), (1, 2), 'SAME', (3, 1))",
    "lax.conv_general_dilated_local(last, draws(4, 5, 12, 2), (1, 1), 'VALID', (2, 2), "
    "dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
]
DTYPES = [
    "lax.conv(whole(1, 2, 5), whole(3, 2, 2), (1,), 'SAME')",
    "lax.conv(whole(1, 2, 5, dtype=jnp.int8), whole(3, 2, 2, dtype=jnp.int8) * 20, (1,), 'SAME')",
    "lax.conv(whole(1, 2, 5, dtype=jnp.int8), whole(3, 2, 2, dtype=jnp.int8) * 20, (1,), 'SAME', "
    "preferred_element_type=jnp.int32)",
    "lax.conv(whole(1, 2, 5) > 1, whole(3, 2, 2) > 1, (1,), 'SAME')",
    "lax.conv(draws(1, 2, 5, dtype=jnp.float16), draws(3, 2, 2, dtype=jnp.float16), (1,), 'SAME')",
    "lax.conv(draws(1, 2, 5).astype(jnp.bfloat16), draws(3, 2, 2).astype(jnp.bfloat16), (1,), 'SAME',"
    " preferred_element_type=jnp.float32)",
    "lax.conv(draws(1, 2, 5) + 1j, draws(3, 2, 2) - 2j, (1,), 'SAME')",
    "grads(lambda x, w: jnp.real(lax.conv(x + 1j, w - 2j, (1,), 'SAME')), draws(1, 2, 5), "
    "draws(3, 2, 2))",
]
DERIVATIVES = [
    f"{how}({call})"
    for how in ("grads", "second")
    for call in (
        "same, image, kernel",
        "strided, image, kernel",
        "cropped, image, kernel",
        "spread, last, last_kernel",
        "in_feature_groups, signal, draws(6, 2, 3)",
        "depthwise, signal, draws(8, 1, 3)",
        "in_batch_groups, signal, draws(6, 4, 3)",
        "larger_turned, last, last_kernel.swapaxes(2, 3)",
    )
] + [
    "jax.jvp(strided, (image, kernel), (image + 1, kernel - 1))",
    "jax.jit(jax.grad(lambda w: jnp.sum(strided(image, w) ** 2)))(kernel)",
    "jax.linear_transpose(lambda x: same(x, kernel), image)(same(image, kernel))",
]
BATCHES = [
    f"jax.vmap({f}, {axes})({x}, {w})"
    for f, x, w in (
        ("same", "draws(3, 2, 3, 4, 4)", "draws(3, 2, 3, 2, 2)"),
        ("in_feature_groups", "draws(3, 2, 4, 5)", "draws(3, 4, 2, 3)"),
        ("in_batch_groups", "draws(3, 2, 4, 5)", "draws(3, 4, 4, 3)"),
    )
    for axes, x, w in (
        ("(0, 0)", x, w),
        ("(-1, 1)", f"jnp.moveaxis({x}, 0, -1)", f"jnp.moveaxis({w}, 0, 1)"),
        ("(1, None)", f"jnp.moveaxis({x}, 0, 1)", f"{w}[0]"),
        ("(None, 2)", f"{x}[0]", f"jnp.moveaxis({w}, 0, 2)"),
    )
] + [
    "jax.vmap(jax.grad(lambda x, w: jnp.sum(same(x, w) ** 2), 1), (0, None))(image[:, None], kernel)",
    "jax.jit(jax.vmap(strided, (None, 0)))(image, draws(2, 4, 3, 2, 3))",
]
SHAPES = [
    "to_ints(lax.conv_shape_tuple((2, 6, 8, 9), (4, 6, 3, 3), (1, 2), 'SAME'))",
    "to_ints(lax.conv_shape_tuple((2, 6, 8, 9), (4, 6, 3, 3), (1, 2), ((1, 1), (0, 3)), 2))",
    "to_ints(lax.conv_general_shape_tuple((2, 8, 9, 6), (3, 3, 6, 4), (1, 2), 'VALID', "
    "('NHWC', 'HWIO', 'NCHW')))",
    "to_ints(lax.conv_transpose_shape_tuple((2, 8, 9, 6), (3, 3, 6, 4), (1, 2), 'SAME', "
    "('NHWC', 'HWIO', 'NHWC')))",
    "lax.conv_general_permutations(('NHWC', 'HWIO', 'NCWH'))",
    "repr(lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), None))",
    "repr(lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), ('NWHC', 'HWIO', 'NHWC')))",
]

GROUPS = [
    Group("convolution", CALLS, ulps=4, scaled=True),
    Group("convolution: dtypes", DTYPES, ulps=2, scaled=True),
    Group("convolution: derivatives", DERIVATIVES, ulps=16, scaled=True),
    Group("convolution: batches", BATCHES, ulps=8, scaled=True),
    Group("convolution: shapes", SHAPES),
]

ERRORS = {
    "convolution": [
        ("lax.conv(image, kernel, (1,), 'SAME')", ["window_strides", "2"]),
        ("lax.conv(image, kernel, 1, 'SAME')", ["window_strides|int"]),
        ("lax.conv(image, kernel, (1.5, 1), 'SAME')", ["window_strides|float"]),
        ("lax.conv(image, kernel, (0, 1), 'SAME')", ["window_strides", "positive"]),
        ("lax.conv(image, kernel, (1, 1), 'NONE')", ["'NONE'", "'VALID'"]),
        ("lax.conv(image, kernel[:, :2], (1, 1), 'SAME')", ["3", "2", "feature"]),
        ("lax.conv(image[0], kernel, (1, 1), 'SAME')", ["3", "4"]),
        ("lax.conv(image[0, 0, 0], kernel[0, 0, 0], (), 'SAME')", ["feature axis"]),
        ("lax.conv(image, kernel.astype(jnp.float16), (1, 1), 'SAME')", ["float32", "float16"]),
        ("lax.conv(image, kernel[:, :, :0], (1, 1), 'SAME')", ["window", "0"]),
        ("lax.conv_general_dilated(image, kernel, (1, 1), (1, 1))", ["padding", "(low, high)"]),
        ("lax.conv_general_dilated(image, kernel, (1, 1), ((1, 1),))", ["pads", "2", "1"]),
        (
            "lax.conv_general_dilated(image, kernel, (1, 1), 'SAME', (2, 2))",
            ["padding", "(2, 2)", "conv_transpose"],
        ),
        (
            "lax.conv_general_dilated(image, kernel, (1, 1), 'SAME', None, (0, 1))",
            ["rhs_dilation", "(0, 1)"],
        ),
        (
            "lax.conv_general_dilated(image, kernel, (1, 1), 'SAME', feature_group_count=2)",
            ["feature_group_count", "2", "3"],
        ),
        (
            "lax.conv_general_dilated(image, kernel, (1, 1), 'SAME', feature_group_count=0)",
            ["feature_group_count", "0"],
        ),
        (
            "lax.conv_general_dilated(image, kernel, (1, 1), 'SAME', batch_group_count=3)",
            ["batch_group_count", "3", "2"],
        ),
        (
            "lax.conv_general_dilated(signal, draws(3, 2, 3), (1,), 'SAME', feature_group_count=2)",
            ["feature_group_count", "output", "2", "3"],
        ),
        (
            "lax.conv(image, kernel, (1, 1), 'SAME', preferred_element_type=jnp.float16)",
            ["preferred_element_type", "narrower"],
        ),
        ("lax.conv(image, kernel, (1, 1), 'SAME', precision=3)", ["precision", "3"]),
        ("lax.conv_transpose(last, last_kernel, (2, 2), 'NONE')", ["padding"]),
        (
            "lax.conv_transpose(draws(*[1] * 6), draws(*[1] * 6), (1,) * 4, 'SAME')",
            ["6", "dimension"],
        ),
        *(
            (f"lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), {numbers})", named)
            for numbers, named in (
                ("3", ["dimension_numbers", "3"]),
                ("('NHC', 'HIO')", ["dimension_numbers", "3", "2"]),
                ("('NHC', 'HIO', 'NHWC')", ["dimension_numbers[2]", "NHWC"]),
                ("('NHC', 'HIO', 'NHX')", ["dimension_numbers[2]", "NHX", "'C'"]),
                ("('NHC', 'HII', 'NHC')", ["dimension_numbers[1]", "HII", "duplicate"]),
                ("('NHC', 'WIO', 'NHC')", ["NHC", "W"]),
                ("((0, 1, 2),) * 3", ["dimension_numbers", "strings", "tuple"]),
            )
        ),
    ],
}
