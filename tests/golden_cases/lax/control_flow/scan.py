"""Recorded cases of scan."""

import numpy as np
from golden_cases.codec import Group


def recurrent_network(jnp, lax):
    def rnn(w, h, xs):
        def step(h, x):
            h = jnp.tanh(w @ h + x)
            return h, h

        return lax.scan(step, h, xs)

    return rnn


def jaxprs(jax, jnp, lax):
    jaxpr, grad, vmap, jit = jax.make_jaxpr, jax.grad, jax.vmap, jax.jit
    x, v, m = np.float32(2), np.ones(4, np.float32), np.ones((4, 3), np.float32)
    w, h = np.ones((3, 3), np.float32), np.ones(3, np.float32)

    def cumsum(c, xs):
        return lax.scan(lambda c, x: (c + x, c), c, xs)

    def product(c, xs):
        """All of the forms in which a value goes in: a const, a carry, an x."""
        return lax.scan(lambda c, x: (jnp.sin(c) * x, c), c, xs)

    def polynomial(x, coefficients):
        return lax.scan(lambda c, a: (c * x + a, None), 0.0, coefficients)[0]

    rnn = recurrent_network(jnp, lax)

    def loss(w, h, xs):
        return jnp.sum(rnn(w, h, xs)[1] ** 2)

    def hoisting(w, h, xs):
        """What depends on w alone is the same at each step."""

        def step(h, x):
            return jnp.sin(w) @ h * jnp.exp(x), None

        return jnp.sum(lax.scan(step, h, xs)[0])

    def from_zero(x, xs):
        """The first carry has no tangent; the second one has after a step, the third after two."""

        def step(c, y):
            count, a, b = c
            return (count + 1, a * x + y, b + a), count

        (_, a, b), counts = lax.scan(step, (0, 0.0, 0.0), xs)
        return a * b

    def tree(carry, xs):
        def step(carry, x):
            total = carry["a"] + x["u"] * x["v"][0]
            return {"a": total, "b": (carry["b"][1], carry["b"][0])}, {"total": total}

        return lax.scan(step, carry, xs)

    def passes_through(c, xs):
        """A carry that stays and ys that are xs are not of the loop."""
        return lax.scan(lambda c, x: ((c[0], c[1] + x * c[0]), (x, c[1], c[0])), c, xs)

    def no_input(c):
        return lax.scan(lambda c, _: (c * 2, c), c, None, length=5)

    def matrix(c, xs):
        return lax.scan(lambda c, row: cumsum(c, row), c, xs)

    def deep(c, xs):
        def step(c, row):
            c, _ = lax.scan(lambda c, x: (jnp.sin(c * x), None), c, row)
            return c, c

        return jnp.sum(lax.scan(step, c, xs)[1])

    @jit
    def layer(c, x):
        return jnp.tanh(c * x)

    def of_jit(c, xs):
        return lax.scan(lambda c, x: (layer(c, x), None), c, xs)[0]

    def branch(c, xs):
        def step(c, x):
            return lax.cond(x > 0, lambda c: jnp.sin(c) * x, lambda c: c, c), None

        return lax.scan(step, c, xs)[0]

    def with_array(c, xs):
        table = np.arange(3, dtype=np.float32)
        made = jnp.arange(3.0)
        return lax.scan(lambda c, x: (c * table + x * made, None), c, xs)[0]

    def unused(c, xs):
        """Of two carries and two ys, only one is used."""
        (a, _), (y, _) = lax.scan(lambda c, x: ((c[0] * x, c[1] + c[0]), (x * x, c[1])), c, xs)
        return a

    def twice(w, c, xs):
        """A const used twice in the body: its cotangents are added up."""
        return lax.scan(lambda c, x: (jnp.sin(w) * c + w * x, c * w), c, xs)

    def jvp(f, *args):
        return jaxpr(lambda primals, tangents: jax.jvp(f, primals, tangents))(args, args)

    def backwards(c, xs):
        return lax.scan(lambda c, x: (jnp.sin(c) * x, c), c, xs, reverse=True)

    def last(f):
        return lambda *args: f(*args)[0]

    return {
        "scan": lambda: jaxpr(cumsum)(x, v),
        "scan of weak type": lambda: jaxpr(product)(1.0, v),
        "scan from an int that becomes a float": lambda: jaxpr(lambda xs: cumsum(0, xs))(v),
        "scan from an int tracer that becomes a float": lambda: jaxpr(cumsum)(0, v),
        "scan with a closure": lambda: jaxpr(polynomial)(x, v),
        "scan with a closed-over array": lambda: jaxpr(with_array)(h, v),
        "scan of trees": lambda: jaxpr(tree)(
            {"a": h, "b": (x, x)}, {"u": m, "v": [v, np.ones((4, 2), np.float32)]}
        ),
        "scan with a carry and ys that pass through": lambda: jaxpr(passes_through)((x, x), v),
        "scan in reverse": lambda: jaxpr(backwards)(x, v),
        "scan without xs": lambda: jaxpr(no_input)(x),
        "scan of length 0": lambda: jaxpr(cumsum)(x, np.ones(0, np.float32)),
        "scan with unroll": lambda: jaxpr(
            lambda c, xs: lax.scan(lambda c, x: (c + x, None), c, xs, unroll=2)
        )(x, v),
        "scan with unroll=True": lambda: jaxpr(
            lambda c, xs: lax.scan(lambda c, x: (c + x, None), c, xs, unroll=True)
        )(x, v),
        "scan of scan": lambda: jaxpr(matrix)(x, m),
        "scan of jit": lambda: jaxpr(of_jit)(x, v),
        "scan of cond": lambda: jaxpr(branch)(x, v),
        "jit of scan": lambda: jaxpr(jit(cumsum))(x, v),
        "rnn": lambda: jaxpr(rnn)(w, h, m),
        "jvp of scan": lambda: jvp(product, x, v),
        "jvp of scan by xs": lambda: jaxpr(
            lambda c, xs: jax.jvp(lambda xs: product(c, xs), (xs,), (xs,))
        )(x, v),
        "jvp of scan by its closure": lambda: jaxpr(
            lambda x, xs: jax.jvp(lambda x: polynomial(x, xs), (x,), (x,))
        )(x, v),
        "jvp of scan, carries that get a tangent": lambda: jvp(from_zero, x, v),
        "jvp of rnn": lambda: jvp(rnn, w, h, m),
        "jvp of scan of scan": lambda: jvp(deep, x, m),
        "jvp of scan of jit": lambda: jvp(of_jit, x, v),
        "jvp of jvp of scan": lambda: jaxpr(
            lambda c, xs: jax.jvp(
                lambda c: jax.jvp(lambda c: of_jit(c, xs), (c,), (c,)), (c,), (c,)
            )
        )(x, v),
        "linearize of scan": lambda: jaxpr(jax.linearize(last(product), x, jnp.ones(4))[1])(x, v),
        "linearize of rnn by weights": lambda: jaxpr(
            jax.linearize(lambda w: loss(w, jnp.ones(3), jnp.ones((4, 3))), w)[1]
        )(w),
        "grad of scan": lambda: jaxpr(grad(last(product)))(x, v),
        "grad of scan by xs": lambda: jaxpr(grad(last(product), 1))(x, v),
        "grad of scan by all": lambda: jaxpr(grad(last(product), (0, 1)))(x, v),
        "grad of scan by its closure": lambda: jaxpr(grad(polynomial))(x, v),
        "grad of linear scan": lambda: jaxpr(grad(last(cumsum), (0, 1)))(x, v),
        "grad of scan in reverse": lambda: jaxpr(grad(last(backwards), (0, 1)))(x, v),
        "grad of scan without xs": lambda: jaxpr(grad(last(no_input)))(x),
        "grad of scan with unroll": lambda: jaxpr(
            grad(lambda c, xs: lax.scan(lambda c, x: (c * x, None), c, xs, unroll=2)[0])
        )(x, v),
        "grad of scan, ys alone": lambda: jaxpr(grad(lambda c, xs: product(c, xs)[1].sum()))(x, v),
        "grad of scan, carries that get a tangent": lambda: jaxpr(grad(from_zero, (0, 1)))(x, v),
        "grad of scan with a const used twice": lambda: jaxpr(
            grad(lambda *a: twice(*a)[0], (0, 1))
        )(x, x, v),
        "grad of rnn by weights": lambda: jaxpr(grad(loss))(w, h, m),
        "grad of rnn by the first state": lambda: jaxpr(grad(loss, 1))(w, h, m),
        "grad of rnn by inputs": lambda: jaxpr(grad(loss, 2))(w, h, m),
        "grad of rnn by all": lambda: jaxpr(grad(loss, (0, 1, 2)))(w, h, m),
        "value_and_grad of rnn": lambda: jaxpr(jax.value_and_grad(loss))(w, h, m),
        "grad of scan, hoisted residuals": lambda: jaxpr(grad(hoisting))(w, h, m),
        "grad of scan, hoisted residuals, by all": lambda: jaxpr(grad(hoisting, (0, 1, 2)))(
            w, h, m
        ),
        "grad of scan of trees": lambda: jaxpr(
            grad(lambda c, xs: jnp.sum(tree(c, xs)[1]["total"]), (0, 1))
        )({"a": h, "b": (x, x)}, {"u": m, "v": [v, np.ones((4, 2), np.float32)]}),
        "grad of scan, a carry that passes through": lambda: jaxpr(
            grad(lambda c, xs: passes_through(c, xs)[0][1])
        )((x, x), v),
        "grad of scan, unused results": lambda: jaxpr(grad(unused))((x, x), v),
        "grad of scan with a closed-over array": lambda: jaxpr(
            grad(lambda *args: jnp.sum(with_array(*args)))
        )(h, v),
        "grad of scan of scan": lambda: jaxpr(grad(deep, (0, 1)))(x, m),
        "grad of scan of jit": lambda: jaxpr(grad(of_jit, (0, 1)))(x, v),
        "grad of scan of cond": lambda: jaxpr(grad(branch))(x, v),
        "grad of jit of scan": lambda: jaxpr(grad(jit(last(product)), (0, 1)))(x, v),
        "grad of jit of rnn by weights": lambda: jaxpr(grad(jit(loss)))(w, h, m),
        "jit of grad of rnn": lambda: jaxpr(jit(grad(loss)))(w, h, m),
        "grad of grad of scan": lambda: jaxpr(grad(grad(last(product))))(x, v),
        "jvp of grad of scan": lambda: jaxpr(
            lambda c, xs: jax.jvp(lambda c: grad(last(product))(c, xs), (c,), (c,))
        )(x, v),
        "vmap of scan": lambda: jaxpr(vmap(cumsum))(v, m),
        "vmap of scan over xs": lambda: jaxpr(vmap(cumsum, (None, 1)))(x, m),
        "vmap of scan over the first carry": lambda: jaxpr(vmap(product, (0, None)))(v, v),
        "vmap of scan over its closure": lambda: jaxpr(vmap(polynomial, (0, None)))(v, v),
        "vmap of scan, carries that get a batch dim": lambda: jaxpr(vmap(from_zero, (0, None)))(
            v, v
        ),
        "vmap of rnn": lambda: jaxpr(vmap(rnn, (None, 0, 1), 1))(w, m[:2], np.ones((4, 2, 3), "f")),
        "vmap of scan of scan": lambda: jaxpr(vmap(deep, (None, 0)))(x, np.ones((2, 4, 3), "f")),
        "vmap of vmap of scan": lambda: jaxpr(vmap(vmap(cumsum), (0, None)))(
            np.ones((2, 4), "f"), m
        ),
        "vmap of grad of scan": lambda: jaxpr(vmap(grad(last(product)), (0, None)))(v, v),
        "vmap of grad of rnn": lambda: jaxpr(vmap(grad(loss), (None, None, 0)))(
            w, h, np.ones((2, 4, 3), "f")
        ),
        "grad of vmap of scan": lambda: jaxpr(
            grad(lambda c, xs: jnp.sum(vmap(product)(c, xs)[1]), (0, 1))
        )(v, m),
        "jit of vmap of grad of rnn": lambda: jaxpr(jit(vmap(grad(loss), (None, None, 0))))(
            w, h, np.ones((2, 4, 3), "f")
        ),
    }


def names(jax, jnp, lax):
    def cumsum(c, xs, **options):
        return lax.scan(lambda c, x: (c + x, c), c, xs, **options)

    rnn = recurrent_network(jnp, lax)

    def loss(w, h, xs):
        h, hs = rnn(w, h, xs)
        return jnp.sum(hs**2) + h[0]

    def logistic(r, x, n=8):
        """Chaos: the logistic map."""
        return lax.scan(lambda x, _: (r * x * (1 - x), x), x, None, length=n)

    def horner(coefficients, x):
        return lax.scan(lambda c, a: (c * x + a, None), 0.0, coefficients)[0]

    def fibonacci(n):
        return lax.scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (0, 1), None, length=n)[1]

    def deep(c, xs):
        def step(c, row):
            c, ys = lax.scan(lambda c, x: (jnp.sin(c * x) + x, c), c, row)
            return c, ys

        return lax.scan(step, c, xs)

    def spread(x, xs):
        """Tangents, and batch dims, that reach the last carry at the second step."""

        def step(c, y):
            return (c[0] + 1, c[1] * x + y, c[2] + c[1]), c[0]

        (_, a, b), _ = lax.scan(step, (0, 0.0, 0.0), xs)
        return a * b

    return {
        "scan": lax.scan,
        "cumsum": cumsum,
        "rnn": rnn,
        "loss": loss,
        "logistic": logistic,
        "horner": horner,
        "fibonacci": fibonacci,
        "deep": deep,
        "spread": spread,
        "last": lambda f: lambda *args: f(*args)[0],
        "total": lambda f: lambda *args: jnp.sum(f(*args)[1]),
        "W": np.array([[0.5, -0.2, 0.1], [0.3, 0.7, -0.4], [-0.6, 0.2, 0.1]], np.float32),
        "H": np.array([0.1, -0.3, 0.6], np.float32),
        "X": np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3),
        "XX": np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 4, 3),
    }


GROUPS = [
    Group(
        "scan",
        [
            "cumsum(0.0, v)",
            "cumsum(0, ints)",
            "cumsum(0, v)",
            "cumsum(f32(0), v)",
            "cumsum(0, bytes8)",
            "cumsum(f16(0), halves)",
            "cumsum(0.0, v, reverse=True)",
            "cumsum(0.0, v, unroll=2)",
            "cumsum(0.0, v, unroll=True, reverse=True)",
            "cumsum(0.0, v, unroll=0)",
            "cumsum(0.0, empty)",
            "cumsum(v, m)",
            "cumsum(0.0, v, length=3)",
            "cumsum(0.0, v, _split_transpose=True)",
            "cumsum(i32(0), np.arange(3))",
            "fibonacci(12)",
            "fibonacci(0)",
            "logistic(3.9, 0.3)",
            "horner(v, 2.0)",
            "horner(v, f32(2))",
            "rnn(W, H, X)",
            "deep(0.5, m)",
            "scan(lambda c, x: (c, x), 1.0, v)",
            "scan(lambda c, x: (c, None), 1.0, v)",
            "scan(lambda c, x: (c, 1.0), (), v)",
            "scan(lambda c, x: (c, 2), f32(1), v)",
            "scan(lambda c, x: [c, x], {}, v)",
            "scan(lambda c, x: (None, x['a'] + x['b'][0]), None, {'a': v, 'b': [w]})",
            "scan(lambda c, x: ((c[1], c[0]), c[0]), (1.0, 2.0), None, length=3)",
            "scan(lambda c, x: (c, jnp.ones((2, 0))), 1.0, v)",
            "scan(lambda c, x: (x, c), v, m)",
            "scan(lambda c, x: (c & x, ~x), True, bools)",
            "scan(lambda c, x: (c * x, x), c64(1), complexes)",
            "scan(lambda k, _: (jax.random.fold_in(k, 1), jax.random.bits(k)), jax.random.key(0), "
            "length=3)",
            "jax.jit(cumsum)(0.0, v)",
            "jax.jit(deep)(0.5, m)",
            "jax.jit(rnn)(W, H, X)",
            "jax.vmap(cumsum)(v, n)",
            "jax.vmap(cumsum, (None, 0))(0.0, m)",
            "jax.vmap(cumsum, (0, None))(v, w)",
            "jax.vmap(last(cumsum), (0, 1))(v, m)",
            "jax.vmap(deep, (0, None))(v, m)",
            "jax.vmap(rnn, (None, None, 0))(W, H, XX)",
            "jax.vmap(rnn, (None, 0, None))(W, n.T, X)",
            "jax.vmap(jax.vmap(cumsum, (None, 0)), (0, None))(v, m)",
            "jax.vmap(spread, (0, None))(v, w)",
            "jax.vmap(logistic, (0, None))(v, 0.5)",
            "jax.jit(jax.vmap(rnn, (None, None, 0)))(W, H, XX)",
            "jax.eval_shape(cumsum, 0.0, v)",
        ],
        ulps=16,
        scaled=True,
    ),
    Group(
        "derivatives of scan",
        [
            "jax.jvp(cumsum, (1.0, v), (1.0, w))",
            "jax.jvp(lambda x: horner(v, x), (2.0,), (1.0,))",
            "jax.jvp(last(rnn), (W, H, X), (W, H, X))",
            "jax.jvp(spread, (2.0, v), (1.0, v))",
            "jax.linearize(last(deep), 0.5, m)[1](1.0, m)",
            "jax.grad(last(cumsum), (0, 1))(1.0, v)",
            "jax.grad(total(cumsum), (0, 1))(1.0, v)",
            "jax.grad(horner, (0, 1))(v, 2.0)",
            "jax.grad(loss, (0, 1, 2))(W, H, X)",
            "jax.value_and_grad(loss)(W, H, X)",
            "jax.grad(last(logistic), (0, 1))(3.9, 0.3)",
            "jax.grad(total(logistic), (0, 1))(3.9, 0.3)",
            "jax.grad(total(deep), (0, 1))(0.5, m)",
            "jax.grad(spread, (0, 1))(2.0, v)",
            "jax.grad(lambda c: scan(lambda c, x: (c * x, None), c, v, reverse=True)[0])(2.0)",
            "jax.grad(lambda c: scan(lambda c, x: (c * x, None), c, empty)[0])(2.0)",
            "jax.grad(lambda c: scan(lambda c, x: (c, x), c, v)[0])(2.0)",
            "jax.grad(lambda c: scan(lambda c, x: (c, c * x), c, v)[1].sum())(2.0)",
            "jax.grad(lambda c: scan(lambda c, x: (1.0, x), c, v)[1].sum())(2.0)",
            "jax.grad(jax.grad(last(logistic)))(3.9, 0.3)",
            "jax.hessian(horner, 1)(v, 2.0)",
            "jax.jacrev(rnn)(W, H, X)[0]",
            "jax.jacfwd(rnn)(W, H, X)[0]",
            "jax.jacfwd(jax.grad(loss, 1), 1)(W, H, X)",
            "jax.grad(jax.jit(loss), (0, 1, 2))(W, H, X)",
            "jax.jit(jax.grad(loss))(W, H, X)",
            "jax.jit(jax.grad(total(deep), (0, 1)))(0.5, m)",
            "jax.vmap(jax.grad(loss), (None, None, 0))(W, H, XX)",
            "jax.vmap(jax.grad(last(logistic)), (0, None))(v, 0.3)",
            "jax.grad(lambda x: jnp.sum(jax.vmap(total(cumsum))(x, n)))(v)",
            "jax.jit(jax.vmap(jax.grad(loss), (None, None, 0)))(W, H, XX)",
            "jax.vjp(cumsum, 1, ints)[0]",
            "jax.linear_transpose(lambda xs: cumsum(0.0 * xs[0], xs), v)((1.0, w))",
            "jax.linear_transpose(lambda c: scan(lambda c, a: (c * a, c), c, v), 1.0)((1.0, w))",
        ],
        ulps=64,
        scaled=True,
    ),
    Group(
        "scan without jit",
        [
            "cumsum(0.0, v)",
            "cumsum(0.0, v, reverse=True)",
            "rnn(W, H, X)",
            "scan(lambda c, x: (c, {'a': x, 'b': 1.0}), (), v)",
            "jax.grad(loss)(W, H, X)",
            "jax.vmap(cumsum)(v, n)",
        ],
        ulps=16,
        scaled=True,
        config={"jax_disable_jit": True},
    ),
]

ERRORS = {
    "scan": [
        ("scan(3, 0.0, v)", ["callable", "3"]),
        ("cumsum(0.0, None)", ["length"]),
        ("cumsum(0.0, (v, x5))", ["3", "5"]),
        ("cumsum(0.0, v, length=4)", ["length", "4", "3"]),
        ("cumsum(0.0, 1.0)", ["leading axis"]),
        ("cumsum(0.0, 'a')", ["'a'", "str"]),
        ("cumsum('a', v)", ["'a'", "str"]),
        ("cumsum(0.0, v, unroll=-1)", ["unroll"]),
        ("jax.jit(lambda n: cumsum(0.0, None, length=n))(3)", ["length", "while_loop"]),
        ("scan(lambda c, x: c, 0.0, v)", ["pair"]),
        ("scan(lambda c, x: (c, x, x), 0.0, v)", ["pair"]),
        ("scan(lambda c, x: None, 0.0, v)", ["pair"]),
        ("scan(lambda c, x: (c, 'a'), 0.0, v)", ["str"]),
        ("scan(lambda c: (c, c), 0.0, v)", ["argument"]),
        ("scan(lambda c, x: ((c, c), x), 0.0, v)", ["scan body", "carry c", "tuple"]),
        ("scan(lambda c, x: (c[0], x), (0.0,), v)", ["carry c", "tuple"]),
        ("scan(lambda c, x: ((c, c), x), {'a': 0.0}, v)", ["carry c", "dict", "tuple"]),
        (
            "scan(lambda state, x: ({'a': state['a'], 'b': 1.0}, x), {'a': 0.0, 'b': (1.0,)}, v)",
            ["state['b']", "tuple"],
        ),
        ("scan(lambda c, x: (c.astype(int), x), f32(0), v)", ["carry c", "float32[]", "int32[]"]),
        ("scan(lambda c, x: (c + v, x), f32(0), v)", ["carry c", "float32[]", "float32[3]"]),
        ("scan(lambda c, x: (c + v, x), 0, v)", ["carry c", "float32[]", "float32[3]"]),
        (
            "scan(lambda c, x: ({'a': c['a'], 'b': c['b'] > 0}, x), {'a': f32(0), 'b': f32(0)}, v)",
            ["c['b']", "float32[]", "bool[]"],
        ),
        (
            "scan(lambda c, x: ((c[0][None], c[1] > 0), x), (v, v), v)",
            ["c[0]", "float32[3]", "float32[1,3]", "c[1]", "bool[3]"],
        ),
        ("scan(lambda c, x: (c if x > 0 else -c, x), 0.0, v)", ["bool"]),
        ("jax.grad(lambda c: scan(lambda c, x: (c, x), c, v)[0])(1)", ["int32"]),
    ],
}
