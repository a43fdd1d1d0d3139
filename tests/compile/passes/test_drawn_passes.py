"""Passes of the compiler, on equations drawn at random."""

from fractions import Fraction

import numpy as np
from drawn import draws
from judged import SMALL_FLOAT

from tinyjax.compile.passes.cse import cse
from tinyjax.compile.passes.rewrite_rules import divide_by_power_of_two
from tinyjax.core import primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tinyjax.lax import div_p

scalar = ShapedArray((), np.dtype("float32"))


def drawn_divisor(draw, dtype):
    power = 2.0 ** draw.randint(-115, 115) if draw.random() < 0.5 else 2.0 ** draw.randint(-3, 3)
    numbers = [power, power, -power, power * (1 + 2**-20), power * 3, np.inf, np.nan, 0.0, -0.0]
    numbers += [power * (1 + 2**-52), 2.0**-101, 2.0**-100, 2.0**99, 2.0**100, -(2.0**99)]
    with np.errstate(over="ignore"):
        return np.float64(draw.choice(numbers)).astype(dtype)


def exact_inverse(value):
    """The inverse of a power of two whose exponent, in np.frexp's terms, is from -100 to 100; else None."""
    if not np.isfinite(value) or not value:
        return None
    number = Fraction(float(value))
    n = abs(number.numerator), number.denominator
    if 1 not in n or any(x & (x - 1) for x in n):
        return None
    return 1 / number if -100 <= n[0].bit_length() - n[1].bit_length() + 1 <= 100 else None


def test_of_any_divisor_and_shapes_a_division_is_a_product_where_the_inverse_is_exact():
    for draw in draws(400):
        dtype = np.dtype(draw.choice([np.float32, np.float32, np.float64, np.float16, SMALL_FLOAT]))
        value, shape = drawn_divisor(draw, dtype), draw.shape(3, (2, 1, 3, 0))
        stretched = draw.random() < 0.25
        of_x = draw.choice([(), tuple(draw.choice([1, n]) for n in shape)]) if stretched else shape
        x, out = Var(ShapedArray(of_x, dtype)), Var(ShapedArray(shape, dtype))
        ones = tuple(1 for _ in shape)
        of_y = draw.choice([(), ones, shape])
        if stretched:
            of_y = shape
        number, producer = Literal(value, ShapedArray((), dtype, draw.random() < 0.5)), {}
        y = number
        if of_y:
            y = Var(ShapedArray(of_y, dtype))
            params = {"shape": of_y, "broadcast_dimensions": ()}
            producer[y] = JaxprEqn(primitives.broadcast_in_dim_p, [number], [y], params)
        if draw.random() < 0.1:
            y, producer = Var(ShapedArray(shape, dtype)), {}  # any numbers
        found = divide_by_power_of_two(JaxprEqn(div_p, [x, y], [out], {}), producer)
        is_known = isinstance(y, Literal) or y in producer
        inverse = exact_inverse(value) if is_known and of_x == shape else None
        about = f"{dtype}{list(of_x)} / {value!r} of shape {y.aval.shape}, to {list(shape)}"
        if inverse is None or dtype.name not in ("float32", "float64"):
            assert found is None, f"{about}: expected no rule, found {found}"
            continue
        assert found is not None, f"{about}: expected a product by {float(inverse)}"
        assert found.primitive is primitives.mul_p and found.params == {}, f"{about}: {found}"
        assert found.outvars == [out] and found.invars[0] is x, f"{about}: {found}"
        factor = found.invars[1]
        assert isinstance(factor, Literal) and factor.aval.shape == (), f"{about}: {found}"
        assert factor.aval.dtype == dtype, f"{about}: {found}"
        assert Fraction(float(factor.val)) == inverse, f"{about}: a product by {factor.val!r}"


class Named:
    """A parameter whose text does not say which one it is."""

    def __repr__(self):
        return "named"


some_p = Primitive("some", multiple_results=True, cost=1, makes_nan=False)
other_p = Primitive("other", multiple_results=True, cost=1, makes_nan=False)
prints_p = Primitive("prints", multiple_results=True, has_effects=True, cost=1, makes_nan=False)
PARAMS = [Named(), Named(), 1, 2, (1, 2), (2, 1), None, "a"]


def drawn_equations(draw):
    """Equations, some of them twice, also of results of others that are there twice."""
    invars, eqns = [Var(scalar) for _ in range(draw.randint(1, 2))], []
    numbers = [0.0, -0.0, 1.0, float("nan")]
    literals = [Literal(x, scalar) for x in numbers]
    literals += [
        Literal(1, ShapedArray((), np.dtype("int32"))),
        Literal(True, ShapedArray((), bool)),
    ]
    values = [*invars, *draw.sample(literals, 2)]
    for _ in range(2 * draw.size):
        if eqns and draw.random() < 0.5:  # like one before, perhaps of what another has
            eqn = draw.choice(eqns)
            p, operands, params = eqn.primitive, list(eqn.invars), dict(eqn.params)
            change = draw.randint(0, 5)
            if change == 1 and operands:
                operands[draw.randrange(len(operands))] = draw.choice(values)
            elif change == 2:
                params[draw.choice("ab")] = draw.choice(PARAMS)
            elif change == 5 and params:
                params.pop(draw.choice(list(params)))
            elif change == 4:
                params = dict(zip(params, reversed(params.values())))
            elif change == 3:
                operands = operands[::-1]
        else:
            p = draw.choice([some_p, some_p, other_p, prints_p])
            operands = [draw.choice(values) for _ in range(draw.randint(0, 3))]
            params = {name: draw.choice(PARAMS) for name in draw.choice(["a", "ab", "ba"])}
        like = [e for e in eqns if e.primitive is p and len(e.invars) == len(operands)]
        n = len(like[0].outvars) if like else draw.randint(1, 4)
        eqns.append(JaxprEqn(p, operands, [Var(scalar) for _ in range(n)], params))
        values += eqns[-1].outvars
    outvars = [draw.choice(values) for _ in range(draw.randint(1, 5))]
    return ClosedJaxpr(Jaxpr([], invars, outvars, eqns))


def without_doubles(closed):
    """Each equation compared with all before it. What is kept, and what is read in place of a variable."""
    kept, instead = [], {}

    def read(atoms):
        return [instead.get(v, v) if isinstance(v, Var) else v for v in atoms]

    def alike(v, w):
        if isinstance(v, Literal) and isinstance(w, Literal):
            return repr(v.val) == repr(w.val) and v.aval == w.aval
        return v is w

    for eqn in closed.eqns:
        operands = read(eqn.invars)
        for before, those in kept:
            if (
                eqn.primitive is before.primitive is not prints_p
                and eqn.params == before.params
                and len(those) == len(operands)
                and len(eqn.outvars) == len(before.outvars)
                and all(map(alike, operands, those))
            ):
                instead.update(zip(eqn.outvars, before.outvars))
                break
        else:
            kept.append((eqn, operands))
    return kept, read(closed.jaxpr.outvars)


def test_of_any_equations_each_that_computes_the_same_as_one_before_is_dropped():
    for draw in draws(250):
        closed = drawn_equations(draw)
        found = cse(closed)
        kept, outvars = without_doubles(closed)
        about = lambda c=closed, f=found: f"of {c}\nfound {f}"  # noqa: E731
        if len(kept) == len(closed.eqns):
            assert found is closed, f"{about()}\nnothing is there twice"
            continue
        assert [e.outvars for e in found.eqns] == [e.outvars for e, _ in kept], about()
        for eqn, (before, operands) in zip(found.eqns, kept):
            assert eqn.primitive is before.primitive and eqn.params == before.params, about()
            assert list(eqn.invars) == operands, f"{about()}\n{eqn} should read {operands}"
        assert list(found.jaxpr.outvars) == outvars, f"{about()}\nthe results are {outvars}"
        assert found.jaxpr.invars == closed.jaxpr.invars, about()
