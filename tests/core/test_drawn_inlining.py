"""Inlining, of calls drawn at random: within each other, several times, kept or not."""

from drawn import draws

from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive
from tinyjax.core.inlining import CALLS, custom_inline_rules, inline_calls
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, check_jaxpr

scalar = ShapedArray((), "float32")
some_p = Primitive("some", multiple_results=True, cost=1, makes_nan=False)
same_p = Primitive("same", multiple_results=True, is_identity=True, cost=0, makes_nan=False)
custom_p = Primitive("custom", multiple_results=True, cost=1, makes_nan=False)
PARAMETERS = {"closed_call": "call_jaxpr", "custom_vmap_call": "call", "linear_call": "callee"}
calls = {name: Primitive(name, multiple_results=True) for name in PARAMETERS}
for p in (some_p, same_p, custom_p, *calls.values()):
    p.def_abstract_eval(lambda *avals, n, **params: [scalar] * n)

OTHER = ClosedJaxpr(Jaxpr([], [], [], []))  # a parameter that is not what is called


class Calls:
    """Jaxprs of calls within calls; a jaxpr may be called several times."""

    def __init__(self, draw):
        self.draw, self.made, self.kept = draw, [], []
        self.number = 0

    def closed(self, depth):
        draw = self.draw
        if self.made and draw.random() < 0.3:  # the same one again
            return draw.choice(self.made)
        invars = [Var(scalar) for _ in range(draw.randint(1, 3))]
        constvars = [Var(scalar) for _ in range(draw.randint(0, 2))]
        values, eqns = [*invars, *constvars], []
        for _ in range(draw.randint(0, draw.choice([4, 4, 12]))):
            eqn = self.equation(values, depth)
            eqns.append(eqn)
            values += eqn.outvars
        outvars = [draw.choice([*values, Literal(2.0, scalar)]) for _ in range(draw.randint(1, 3))]
        consts = [float(100 + self.count()) for _ in constvars]
        closed = ClosedJaxpr(Jaxpr(constvars, invars, outvars, eqns), consts)
        if depth < 3:
            self.made.append(closed)
        return closed

    def count(self):
        self.number += 1
        return self.number

    def equation(self, values, depth):
        draw = self.draw
        kind = draw.choice(["some", "same", "custom", *calls] if depth else ["some", "same"])
        if kind in ("some", "same"):
            operands = [draw.choice(values) for _ in range(draw.randint(1, 3))]
            n = draw.randint(1, 3) if kind == "some" else len(operands)
            p, params = (some_p, {"by": self.count()}) if kind == "some" else (same_p, {})
        else:
            called = self.closed(depth - 1)
            operands = [draw.choice(values) for _ in called.in_avals]
            p, n = calls.get(kind, custom_p), len(called.out_avals)
            params = {PARAMETERS.get(kind, "body"): called, "jaxpr": OTHER}
        eqn = JaxprEqn(p, operands, [Var(scalar) for _ in range(n)], {"n": n, **params})
        if p not in (some_p, same_p) and draw.random() < 0.2:
            self.kept.append(eqn)
        return eqn


class Run:
    """Runs a jaxpr with numbers for values: each application of a primitive is noted, in order."""

    def __init__(self, kept):
        self.kept, self.noted = kept, []

    def jaxpr(self, closed, args):
        jaxpr = closed.jaxpr
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *args]))
        read = lambda v: v.val if isinstance(v, Literal) else env[v]  # noqa: E731
        for eqn in jaxpr.eqns:
            operands = [read(v) for v in eqn.invars]
            env.update(zip(eqn.outvars, self.equation(eqn, operands)))
        return [read(v) for v in jaxpr.outvars]

    def equation(self, eqn, operands):
        if eqn.primitive is same_p:
            return operands
        called = [x for x in eqn.params.values() if isinstance(x, ClosedJaxpr)]
        if called and not any(eqn.params is kept.params for kept in self.kept):
            return self.jaxpr(called[0], operands)
        self.noted.append((eqn.primitive, eqn.params, operands))
        return [1000.0 * len(self.noted) + i for i, _ in enumerate(eqn.outvars)]


def test_of_any_calls_the_equations_are_those_that_would_run_each_with_variables_of_its_own(
    monkeypatch,
):
    monkeypatch.setitem(custom_inline_rules, custom_p, lambda eqn: eqn.params["body"])
    assert CALLS.items() >= PARAMETERS.items()
    for draw in draws(14):
        drawn = Calls(draw)
        closed = drawn.closed(min(3, draw.size // 2 + 1))
        before = str(closed) if draw.number < 10 else ""

        def keep(eqn, kept=drawn.kept):
            assert eqn.primitive not in (some_p, same_p), f"only calls are kept: {eqn}"
            return any(eqn.params is k.params for k in kept)

        found = inline_calls(closed, keep)
        args = [float(10 + i) for i, _ in enumerate(closed.in_avals)]
        expected, run = Run(drawn.kept), Run(drawn.kept)
        results = expected.jaxpr(closed, args)
        of_found = run.jaxpr(found, args)
        about = lambda c=closed, f=found: f"inlined, {c}\nis {f}"  # noqa: E731
        assert run.noted == expected.noted, f"{about()}\nexpected {expected.noted}"
        assert of_found == results, f"{about()}\nresults {of_found}, and not {results}"
        assert len(found.eqns) == len(expected.noted), about()
        assert before in ("", str(closed)), f"the jaxpr was changed: {before}, {closed}"
        check_jaxpr(found.jaxpr)
        own = [v for eqn in closed.eqns if eqn.primitive is some_p for v in eqn.outvars]
        bound = {v for eqn in found.eqns for v in eqn.outvars}
        assert bound.issuperset(own), f"{about()}\nthe caller's variables stay"
        inner = {v for c in drawn.made for eqn in c.eqns for v in eqn.outvars} - {
            v for eqn in closed.eqns for v in eqn.outvars
        }
        assert bound.isdisjoint(inner), f"{about()}\neach call has fresh variables"
