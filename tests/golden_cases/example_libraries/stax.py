"""Recorded cases of jax.example_libraries.stax."""

import importlib

from golden_cases.codec import Group

LAYERS = [  # a layer, and the shape of its inputs
    ("stax.Dense(3)", "(2, 4)"),
    ("stax.Dense(2, stax.randn(0.5), stax.ones)", "(2, 3, 4)"),
    ("stax.Conv(2, (2, 3))", "(1, 4, 5, 2)"),
    ("stax.Conv(2, (3, 2), (2, 1), 'SAME')", "(2, 4, 3, 1)"),
    ("stax.GeneralConv(('NCH', 'HIO', 'NHC'), 2, (2,), padding=[(1, 0)])", "(1, 3, 4)"),
    ("stax.ConvTranspose(2, (2, 2), (2, 1), 'SAME')", "(1, 2, 3, 2)"),
    ("stax.Conv1DTranspose(2, (3,), (2,))", "(1, 3, 2)"),
    ("stax.BatchNorm()", "(2, 2, 3, 2)"),
    ("stax.BatchNorm((0, 2), 1e-3, gamma_init=stax.randn(1.0))", "(3, 2, 3)"),
    ("stax.BatchNorm(0, center=False)", "(4, 2)"),
    ("stax.BatchNorm(1, center=False, scale=False)", "(2, 4)"),
    ("stax.MaxPool((2, 2))", "(1, 3, 4, 2)"),
    ("stax.MaxPool((2, 3), (1, 2), 'SAME')", "(1, 3, 4, 2)"),
    ("stax.SumPool((2,), (2,), spec='NCH')", "(2, 2, 5)"),
    ("stax.AvgPool((2, 2))", "(1, 3, 3, 1)"),
    ("stax.AvgPool((2, 2), (2, 1), 'SAME', 'CHNW')", "(2, 3, 1, 3)"),
    ("stax.Flatten", "(2, 2, 3)"),
    ("stax.Dropout(0.6)", "(3, 4)"),
    ("stax.Dropout(0.6, 'test')", "(3, 4)"),
    ("stax.FanOut(2)", "(2, 3)"),
    ("stax.FanInSum", "[(2, 3), (2, 3)]"),
    ("stax.FanInConcat()", "[(2, 3), (2, 1)]"),
    ("stax.FanInConcat(0)", "[(2, 3), (1, 3)]"),
    ("stax.elementwise(jnp.clip, min=0.1)", "(3,)"),
    ("stax.serial(stax.Dense(3), stax.Dropout(0.5), stax.Relu, stax.Dense(1))", "(2, 4)"),
    ("stax.parallel(stax.Dense(2), stax.Dropout(0.7))", "[(2, 3), (3, 4)]"),
    ("residual", "(2, 3)"),
    ("stax.shape_dependent(lambda shape: stax.Dense(shape[-1] + 1))", "(2, 2)"),
    ("cnn", "(2, 6, 6, 1)"),
    *(
        (f"stax.{name}", "(2, 3)")
        for name in (
            "Tanh Relu Exp LogSoftmax Softmax Softplus Sigmoid Elu LeakyRelu Selu Gelu Identity"
        ).split()
    ),
]
WITHOUT_BATCH = [
    "stax.Dense(3)[0](key, (-1, 5))[0]",
    "shape_of(stax.Conv(3, (2, 2)), (-1, 4, 5, 3))",
    "shape_of(stax.ConvTranspose(3, (2, 2), (2, 2)), (-1, 4, 4, 3))",
    "stax.MaxPool((2, 2))[0](key, (-1, 4, 4, 3))",
    "stax.Flatten[0](key, (-1, 4, 4, 3))",
    "stax.BatchNorm()[0](key, (-1, 4, 4, 3))",
]

GROUPS = [
    Group(
        "stax: first parameters",
        [f"made({layer}, {shape})" for layer, shape in LAYERS],
        ulps=4,
        scaled=True,
    ),
    Group("stax: shapes", WITHOUT_BATCH),
    Group(
        "stax: results",
        [f"applied({layer}, {shape})" for layer, shape in LAYERS],
        ulps=16,
        scaled=True,
    ),
    Group(
        "stax: gradients",
        [f"gradients({layer}, {shape})" for layer, shape in LAYERS[:15]]
        + ["gradients(cnn, (2, 6, 6, 1))", "trained(cnn, (3, 6, 6, 1))"],
        ulps=64,
        scaled=True,
    ),
]

ERRORS = {
    "stax": [
        ("stax.Dropout(0.5)[1]((), v)", ["Dropout", "key"]),
        ("stax.serial(stax.Dense)", ["function"]),
        ("stax.serial((1, 2, 3))", ["2|3"]),
        ("stax.serial()", ["at least one|0"]),
        ("stax.parallel()", ["at least one|0"]),
        ("stax.Conv(3, (2, 2))[0](key, (1, 4, 3))", ["(1, 4, 3)|index"]),
        ("stax.Conv(3, (2, 2), padding='NONE')[0](key, (1, 4, 4, 3))", ["NONE", "'SAME'"]),
        ("stax.MaxPool((2, 2))[0](key, (1, 4, 3))", ["(1, 4, 3)|longer"]),
        ("stax.MaxPool((2, 2))[1]((), t)", ["window_dimensions", "4", "3"]),
        ("stax.FanInSum[1]((), [v, x5])", ["(3,)", "(5,)"]),
        ("stax.Dense(3)[1]((m, v), m)", ["3", "2"]),
    ]
}


def jaxprs(jax, jnp, lax):
    used = names(jax, jnp, lax)
    stax, key = used["stax"], used["key"]

    def printed(layer, shape):
        _, params = layer[0](key, shape)
        return lambda: jax.make_jaxpr(layer[1])(params, jnp.ones(shape))

    return {
        "stax.Dense": printed(stax.Dense(3), (2, 5)),
        "stax.Conv": printed(stax.Conv(4, (3, 3)), (1, 8, 8, 2)),
        "stax.ConvTranspose": printed(stax.ConvTranspose(4, (3, 3)), (1, 8, 8, 2)),
        "stax.BatchNorm": printed(stax.BatchNorm(), (1, 8, 8, 2)),
        "stax.AvgPool": printed(stax.AvgPool((2, 2), padding="SAME"), (1, 8, 8, 2)),
        "stax.serial": printed(stax.serial(stax.Dense(3), stax.Relu), (2, 5)),
    }


def names(jax, jnp, lax):
    stax = importlib.import_module(f"{jax.__name__}.example_libraries.stax")
    key = jax.random.key(3)

    def numbers(shape):
        if isinstance(shape, list):
            return [numbers(s) for s in shape]
        size = jnp.zeros(shape).size
        return jnp.sin(0.7 * jnp.arange(1.0, size + 1) ** 2).reshape(shape)

    def shape_of(layer, shape):
        return [int(size) for size in layer[0](key, shape)[0]]

    def params_of(layer, shape):
        _, params = layer[0](key, shape)
        return params

    def made(layer, shape):
        params = params_of(layer, shape)
        return str(jax.tree.structure(params)), jax.tree.leaves(params)

    def applied(layer, shape):
        return layer[1](params_of(layer, shape), numbers(shape), rng=jax.random.key(5))

    def loss(layer):
        def total(params, inputs):
            out = layer[1](params, inputs, rng=jax.random.key(5))
            return jnp.sum(out * numbers(out.shape) ** 2)

        return total

    def gradients(layer, shape):
        params = params_of(layer, shape)
        return jax.tree.leaves(jax.grad(loss(layer), (0, 1))(params, numbers(shape)))

    def trained(layer, shape):
        """The last parameters after three steps."""
        params = params_of(layer, shape)

        @jax.jit
        def step(params):
            grads = jax.grad(loss(layer))(params, numbers(shape))
            return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)

        for _ in range(3):
            params = step(params)
        return jax.tree.leaves(params)[-2:]

    block = stax.serial(
        stax.FanOut(2),
        stax.parallel(stax.serial(stax.Dense(3), stax.Tanh), stax.Identity),
        stax.FanInSum,
    )
    cnn = stax.serial(
        stax.Conv(2, (3, 3), padding="SAME"),
        stax.Relu,
        stax.BatchNorm(),
        stax.MaxPool((2, 2), (2, 2)),
        stax.Conv(3, (2, 2), (1, 1)),
        stax.Gelu,
        stax.Flatten,
        stax.Dense(3),
        stax.LogSoftmax,
    )
    return {
        "stax": stax,
        "key": key,
        "shape_of": shape_of,
        "made": made,
        "applied": applied,
        "gradients": gradients,
        "trained": trained,
        "residual": block,
        "cnn": cnn,
    }
