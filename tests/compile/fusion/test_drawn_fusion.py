"""The rules of fusion, and the cost of a kernel, of values and groups drawn at random."""

from types import SimpleNamespace

import numpy as np
from drawn import draws
from lowering import aval

import tinyjax.numpy as jnp
from tinyjax.compile.cost import fused_cost
from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.fusion.cost_record import eqn_cost
from tinyjax.compile.fusion.fuse import _Plan
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import Var
from tinyjax.core.tracing import make_jaxpr


def test_of_any_readers_a_value_is_stored_if_one_repeats_it_or_it_is_read_at_several_places():
    for draw in draws(160):
        v = Var(ShapedArray(draw.shape(2, (2, 3, 1, 0)), np.dtype("float32")))
        work = CHEAP_WORK + draw.choice([-1, 0, 0.5, 1, 1, 50])
        reads = [draw.randint(0, v.aval.size) for _ in range(draw.randint(0, 5))]
        if reads and draw.random() < 0.5:
            reads[draw.randrange(len(reads))] = v.aval.size + draw.choice([1, 2, 100])
        several = draw.random() < 0.5
        plan = SimpleNamespace(
            work={v: work},
            readers={v: list(range(len(reads)))},
            _reads=lambda eqn, reads=reads: reads[eqn],
            _is_read_at_several_places=lambda x, v=v, several=several: x is v and several,
        )
        found = _Plan._why_not_recompute(plan, v)
        costly = work > CHEAP_WORK
        refused = costly and (several or any(n > v.aval.size for n in reads))
        about = (
            f"work {work} (cheap: {CHEAP_WORK}), reads {reads} of {v.aval.size}, several {several}"
        )
        assert isinstance(found, str), f"{about}: found {found!r}"
        assert bool(found) == refused, f"{about}: expected a reason: {refused}, found {found!r}"


def test_of_any_inputs_a_group_reads_what_is_made_before_it_and_its_own_at_one_place():
    for draw in draws(160):
        groups = [SimpleNamespace(depth=draw.randint(0, 3)) for _ in range(draw.count(1))]
        group, home, inputs, refused = groups[0], {}, {}, False
        for _ in range(draw.count()):
            v, at_own = Var(ShapedArray((3,), np.dtype("float32"))), draw.random() < 0.7
            inputs[v] = at_own
            maker = draw.choice([None, None, group, *groups])
            if draw.random() < 0.6 and maker is not None and maker.depth >= group.depth:
                maker = draw.choice([None, group]) if at_own else None
            if maker is not None:
                home[v] = maker
                own = maker is group
                refused |= not at_own if own else maker.depth >= group.depth
        found = _Plan._why_not_read(SimpleNamespace(home=home), inputs, group)
        makers = [
            (flag, "argument" if v not in home else "own" if home[v] is group else home[v].depth)
            for v, flag in inputs.items()
        ]
        about = f"a group of depth {group.depth} reads (at its own place, made at) {makers}"
        assert isinstance(found, str), f"{about}: found {found!r}"
        assert bool(found) == refused, f"{about}: expected a reason: {refused}, found {found!r}"


def test_of_any_group_all_arithmetic_counts_and_only_what_it_reads_and_makes():
    for draw in draws(40):
        dtype, size = draw.choice([np.float32, np.float64, np.float16, np.int8]), draw.randint(1, 9)
        n = draw.randint(0, 6)

        def f(*xs, n=n):
            ys = list(xs)
            for k in range(n):
                ys.append(ys[k] * ys[-1] + ys[0])
            return ys[-3:]

        closed = make_jaxpr(f)(*[aval(size, dtype=dtype) for _ in range(draw.randint(1, 4))])
        more = make_jaxpr(jnp.sin)(aval(size)) if draw.random() < 0.5 else closed
        eqns = [*closed.eqns, *(more.eqns if more is not closed else [])]
        values = [*closed.jaxpr.invars, *[v for eqn in eqns for v in eqn.outvars]]
        inputs = draw.sample(values, draw.randint(0, min(4, len(values))))
        outputs = draw.sample(values, draw.randint(1, min(4, len(values))))
        found = fused_cost(SimpleNamespace(eqns=eqns, inputs=inputs, outputs=outputs))
        costs = [eqn_cost(eqn) for eqn in eqns]
        expected = (
            sum(cost.flops for cost in costs),
            sum(cost.transcendentals for cost in costs),
            sum(v.aval.size * v.aval.dtype.itemsize for v in [*inputs, *outputs]),
        )
        about = f"of {eqns} with {len(inputs)} inputs and {len(outputs)} outputs"
        got = found.flops, found.transcendentals, found.bytes
        assert got == expected, f"{about}: expected {expected}, found {got}"
