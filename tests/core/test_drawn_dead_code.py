"""Dead code elimination, on jaxprs drawn at random."""

from drawn import draws
from judged import unchanged

from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive
from tinyjax.core.jaxpr import (
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    dce_jaxpr,
    dce_rules,
    eval_jaxpr,
)
from tinyjax.core.lists import pick

scalar = ShapedArray((), "float32")


def primitive(several, effects=False):
    p = Primitive("p", multiple_results=True, has_effects=effects)
    # result i is made of operand i, or of all operands
    p.def_impl(lambda *xs, n: list(xs) if several else [sum(xs) + i for i in range(n)])
    return p


all_p, each_p, prints_p = primitive(False), primitive(True), primitive(False, effects=True)


def each_rule(eqn, used):
    """The equation `each` with only the used results and their operands."""
    return JaxprEqn(each_p, pick(eqn.invars, used), pick(eqn.outvars, used), {"n": sum(used)})


def drawn_jaxpr(draw):
    constvars, invars = ([Var(scalar) for _ in range(draw.randint(least, 8))] for least in (0, 1))
    values, eqns = [*constvars, *invars], []
    for _ in range(draw.count()):
        p = draw.choice([all_p, all_p, each_p, each_p, prints_p])
        operands = [
            draw.choice(values) if draw.random() < 0.9 else Literal(2.0, scalar)
            for _ in range(draw.randint(1 if p is each_p else 0, 7))
        ]
        n = len(operands) if p is each_p else draw.randint(0 if p is prints_p else 1, 6)
        outvars = [(DropVar if draw.random() < 0.1 else Var)(scalar) for _ in range(n)]
        eqns.append(JaxprEqn(p, operands, outvars, {"n": n}))
        values += [v for v in outvars if type(v) is Var]
    outvars = [
        draw.choice(values) if draw.random() < 0.9 else Literal(3.0, scalar)
        for _ in range(draw.randint(0, 2 * draw.size))
    ]
    return Jaxpr(constvars, invars, outvars, eqns)


def reached(jaxpr, outvars):
    """The variables that results or effects need: grown to a fixed point."""
    needed = set(outvars)
    while True:
        before = len(needed)
        for eqn in jaxpr.eqns:
            if eqn.primitive is each_p:
                needed.update(x for x, v in zip(eqn.invars, eqn.outvars) if v in needed)
            elif eqn.primitive is prints_p or not needed.isdisjoint(eqn.outvars):
                needed.update(eqn.invars)
        if len(needed) == before:
            return needed


def test_of_any_jaxpr_what_results_and_effects_need_is_kept_and_nothing_else(monkeypatch):
    monkeypatch.setitem(dce_rules, each_p, each_rule)
    for draw in draws(150, 8):
        jaxpr = drawn_jaxpr(draw)
        used = draw.flags(len(jaxpr.outvars))
        about = lambda j=jaxpr, used=used: f"of {j} with used_outputs {used}"  # noqa: E731
        with unchanged(used=used, eqns=[(id(e), id(e.invars)) for e in jaxpr.eqns]):
            found, used_consts, used_invars = dce_jaxpr(jaxpr, used)
        needed = reached(jaxpr, pick(jaxpr.outvars, used))
        expected = []
        for eqn in jaxpr.eqns:
            live = [v in needed for v in eqn.outvars]
            if eqn.primitive is each_p and any(live):
                expected.append(each_rule(eqn, live))
            elif eqn.primitive is prints_p or any(live):
                expected.append(eqn)
        parts = lambda eqns: [(e.primitive, e.invars, e.outvars, e.params) for e in eqns]  # noqa: E731
        assert parts(found.eqns) == parts(expected), f"{about()}: found {found}"
        assert found.outvars == pick(jaxpr.outvars, used), f"{about()}: results {found.outvars}"
        assert found.invars == jaxpr.invars, f"{about()}: all invars stay"
        assert list(used_invars) == [v in needed for v in jaxpr.invars], f"{about()}: {used_invars}"
        assert list(used_consts) == [v in needed for v in jaxpr.constvars], (
            f"{about()}: {used_consts}"
        )
        assert found.constvars == pick(jaxpr.constvars, used_consts), (
            f"{about()}: {found.constvars}"
        )
        consts = [10.0 + i for i in range(len(jaxpr.constvars))]
        args = [float(i) for i in range(len(jaxpr.invars))]
        values = eval_jaxpr(found, pick(consts, used_consts), *args)
        assert values == pick(eval_jaxpr(jaxpr, consts, *args), used), about()
