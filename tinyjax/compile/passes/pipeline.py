"""The passes in order: from the traced jaxpr to the jaxpr that kernels are made from.

To see what a pass does, run it on a jaxpr and print the result, or leave it out. Each result is an ordinary
jaxpr, which can be printed, drawn and run, and computes the same bits. Equations keep their line of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import cycle, groupby, islice
from operator import attrgetter

from tinyjax.compile.passes.bodies import simplify_bodies
from tinyjax.compile.passes.cse import cse
from tinyjax.compile.passes.dce import dce
from tinyjax.compile.passes.expand import expand, expand_late
from tinyjax.compile.passes.fold import fold
from tinyjax.compile.passes.inline import inline, inline_rematerialised
from tinyjax.compile.passes.late_rules import late_rules
from tinyjax.compile.passes.lower_prng_keys import lower_prng_keys
from tinyjax.compile.passes.rewrite_rules import rewrite_rules
from tinyjax.compile.record import is_recording, run_pass
from tinyjax.core.inlining import check_equations
from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr


@dataclass(frozen=True, eq=False)
class Pass:
    """A function from jaxpr to jaxpr, and what it does in a line."""

    name: str
    function: Callable[[ClosedJaxpr], ClosedJaxpr]
    does: str
    run_to_fixpoint: bool = False  # in turn with its neighbours, until none changes anything
    same_bits: bool = True  # of all results, evaluated equation by equation


def bodies(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same with its bodies simplified by all these passes."""
    return simplify_bodies(closed, simplify)


# The only pass that can't be left out, where there are keys: no kernel knows them.
KEYS = Pass("lower_prng_keys", lower_prng_keys, "random keys become pairs of uint32 words")
PASSES = (
    Pass("inline", inline, "equations of called jaxprs replace the calls"),
    Pass("expand", expand, "operations without a kernel become others", same_bits=False),
    Pass("rewrite_rules", rewrite_rules, "rules simplify equations", run_to_fixpoint=True),
    Pass("fold", fold, "equations of constants are computed", run_to_fixpoint=True),
    Pass("cse", cse, "equal equations become one", run_to_fixpoint=True),
    Pass("bodies", bodies, "the bodies of loops and branches go through these passes too"),
    Pass("inline_rematerialised", inline_rematerialised, "rematerialised code is inlined"),
    Pass("late_rules", late_rules, "transposes and sums of zeros go", same_bits=False),
    Pass("vector_products", expand_late, "products of vectors become sums", same_bits=False),
    Pass("dce", dce, "equations that no result needs are dropped"),
)
MAX_ROUNDS = 10  # of the passes that run in turn: a less simple jaxpr is correct too


def run_passes(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr that kernels are made from: flat, without keys, each computation once; all invars are kept.

    Raises JaxRuntimeError if the program is too large."""
    return simplify(run_pass(KEYS.name, KEYS.function, closed))


def simplify(closed: ClosedJaxpr, subject: str = "") -> ClosedJaxpr:
    """As run_passes, but keys stay keys: NumPy, too, can run the result. `subject` is what the records of
    the passes call the jaxpr, if it is a body."""
    return _simplify(closed, PASSES, subject) if is_recording() else _simplified(closed, PASSES)


def _simplify(closed: ClosedJaxpr, passes: Iterable[Pass], subject: str = "") -> ClosedJaxpr:
    check_equations(closed.jaxpr)
    for run_to_fixpoint, some in groupby(passes, key=attrgetter("run_to_fixpoint")):
        closed = _in_turn(list(some), MAX_ROUNDS if run_to_fixpoint else 1, closed, subject)
    return closed


_simplified = cached_on_jaxpr(_simplify)


def _in_turn(passes: list[Pass], rounds: int, closed: ClosedJaxpr, subject: str) -> ClosedJaxpr:
    """Runs the passes in turn for at most that many rounds. It ends when every other pass has run without a
    change since the last change: a pass finds nothing more on its own result."""
    unchanged = -1
    for each in islice(cycle(passes), rounds * len(passes)):
        before, closed = closed, run_pass(each.name, each.function, closed, subject=subject)
        unchanged = unchanged + 1 if closed is before else 0
        if unchanged == len(passes) - 1:
            break
    return closed
