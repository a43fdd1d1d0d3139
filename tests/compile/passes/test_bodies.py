"""Bodies of loops and branches."""

import numpy as np

import tinyjax.core.primitives as primitives
from tinyjax import lax
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.jaxpr import eval_jaxpr, subjaxprs
from tinyjax.core.tracing import make_jaxpr
from tinyjax.transform.jit.api import jit


def test_bodies_are_simplified_too():
    def body(c):
        jit(primitives.cos)(c)
        return primitives.mul(jit(primitives.sin)(c), primitives.sin(c))

    closed = simplify(make_jaxpr(lambda c: lax.while_loop(lambda c: c < 2.0, body, c))(1.0))
    (loop,) = closed.eqns
    names = [eqn.primitive.name for eqn in loop.params["body_jaxpr"].eqns]
    assert names == ["sin", "mul"]


def test_constants_of_bodies_become_operands():
    table = np.arange(3.0, dtype=np.float32)
    scaled = jit(lambda x: primitives.mul(x, table))

    def f(i, x):
        x = lax.cond(i, scaled, lambda x: x, x)
        x = lax.while_loop(lambda x: scaled(x)[0] > 1.0, scaled, x)
        return lax.scan(lambda x, _: (scaled(x), None), x, None, length=2)

    closed = simplify(make_jaxpr(f)(True, table))
    assert [len(eqn.invars) for eqn in closed.eqns[-3:]] == [3, 3, 2]
    assert not any(sub.constvars for eqn in closed.eqns for sub in subjaxprs(eqn.params))
    found = eval_jaxpr(closed.jaxpr, closed.consts, True, table)
    np.testing.assert_array_equal(found[0], f(True, table)[0])


def test_arrays_of_numbers_are_made_in_the_body():
    def f(x, v):
        row, zeros = np.int32([1]), lax.broadcast(0.0, (3,))
        index = lax.concatenate([lax.broadcast(row[0], (1,)), lax.broadcast(0, (1,))], 0)

        def body(c, _):
            return lax.dynamic_update_slice(c, zeros * v, index[:1]), None

        return lax.scan(body, x, None, length=2)[0]

    args = np.arange(5, dtype=np.float32), np.float32(2)
    closed = simplify(make_jaxpr(f)(*args))
    loop = closed.eqns[-1]
    assert loop.primitive.name == "scan" and len(loop.invars) == 2
    found = eval_jaxpr(closed.jaxpr, closed.consts, *args)
    np.testing.assert_array_equal(found[0], f(*args))
