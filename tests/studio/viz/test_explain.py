"""Where each line of generated C comes from."""

import inspect
import re

import network_with_rule
import numpy as np
import pytest
from network_with_rule import NETWORK, loss, smooth, smooth_bwd, smooth_fwd

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.__main__ import main
from tinyjax.compile.explain import mapping, numbered_eqns
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.runtime.devices import devices

pytestmark = pytest.mark.skipif(
    devices("cpu")[0].cl_device is None, reason="there is no OpenCL device"
)
X = jax.ShapeDtypeStruct((30,), np.float32)


def line_of(function, text):
    """The number of the first line of a function that has `text` in it."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def lines(f, *args):
    return jax.jit(f).lower(*args).compiler_ir("explain")


def line_with(mapped, pattern):
    return next(line for line in mapped if re.search(pattern, line.text))


def two_lines(x):
    y = jnp.sin(x)
    return y * 2.0


def test_a_line_of_c_knows_its_equation_and_its_line_of_python():
    lowered = jax.jit(two_lines).lower(X)
    mapped, plan = lowered.compiler_ir("explain"), lowered.compiler_ir("schedule")
    for c, python in ((r"= .*sin\w*\(", "jnp.sin"), (r"\* .*2.0f", "y * 2.0")):
        line = line_with(mapped, c)
        ((file, number, function),) = line.sources
        assert (file, function) == (__file__, "two_lines")
        assert number == line_of(two_lines, python)
        assert [numbered_eqns(plan)[n].source_info[1] for n in line.eqns] == [number]


def test_lines_are_numbered_as_in_the_program():
    lowered = jax.jit(two_lines).lower(X)
    program = lowered.as_text("opencl").splitlines()
    mapped = lowered.compiler_ir("explain")
    assert mapped and all(program[line.number - 1] == line.text for line in mapped)


def test_a_store_is_from_where_its_value_is():
    mapped = lines(lambda x: (jnp.sin(x), jnp.cos(x)), X)
    stores = [line for line in mapped if "_out" in line.text and line.text.endswith(";")]
    assert len(stores) >= 2 and all(line.eqns for line in stores)
    assert len({line.eqns for line in stores}) == 2


def test_groups_that_compute_alike_share_their_lines():
    def f(x):
        a = lax.sort(x * 2.0)
        return lax.sort(a * 2.0)

    line = line_with(lines(f, X), r"\* .*2.0f")
    assert len(line.eqns) == 2
    assert [source[1] for source in line.sources] == [line_of(f, "x * 2.0"), line_of(f, "a * 2.0")]


def test_backwards_is_from_the_same_line_as_forwards():
    line = line_with(lines(jax.grad(lambda x: two_lines(x).sum()), X), r"= .*cos\w*\(")
    assert line.sources[0][1] == line_of(two_lines, "jnp.sin")


def test_the_body_of_a_loop_is_mapped_too():
    def f(x):
        return lax.fori_loop(0, 9, body, x)

    def body(i, c):
        return c * 3.0

    line = line_with(lines(f, X), "3.0f")
    assert line.eqns and line.sources[0][1] == line_of(body, "c * 3.0")


def test_most_lines_with_arithmetic_are_mapped():
    def loss(w, x):
        return jnp.mean(jax.nn.log_softmax(jnp.tanh(x @ w)) ** 2)

    w, x = np.ones((20, 10), np.float32), np.ones((40, 20), np.float32)
    mapped = lines(jax.grad(loss), w, x)
    computing = [line for line in mapped if "const" in line.text and "=" in line.text]
    computing = [line for line in computing if "get_global_id" not in line.text]
    assert all(line.sources for line in computing)


# ---- rules of the user's own ----


@pytest.mark.parametrize("stage", ["loop nests", "kernel"])
def test_every_statement_of_a_network_is_from_a_line_of_the_users(stage):
    functions = set()
    for kernel in jax.jit(jax.grad(loss)).lower(*NETWORK).compiler_ir(stage):
        for statement in every_statement(kernel.body):
            origin = statement.origin
            for eqn in origin if isinstance(origin, tuple) else [origin]:
                file, _, function = eqn.source_info
                assert file == network_with_rule.__file__
                functions.add(function)
    assert functions == {"loss", "smooth_fwd", "smooth_bwd"}


def in_jit(x):
    return jax.jit(smooth)(x)


def in_scan(x):
    return lax.scan(lambda c, _: (smooth(c), None), x, None, length=3)[0]


@pytest.mark.parametrize("f", [smooth, in_jit, in_scan, jax.checkpoint(smooth), jax.vmap(smooth)])
def test_a_backward_rule_keeps_its_lines(f):
    mapped = lines(jax.grad(lambda x: jnp.sum(f(x) ** 2)), X)
    kept = {source[1] for line in mapped for source in line.sources}
    for rule, text in [(smooth_fwd, "x * t, "), (smooth_bwd, "slope ="), (smooth_bwd, "g * slope")]:
        assert line_of(rule, text) in kept


def cubed_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return x**3, 3 * x * x * t


def test_a_forward_rule_keeps_its_lines():
    cubed = jax.custom_jvp(lambda x: x**3)
    cubed.defjvp(cubed_rule)
    for f in (cubed, lambda x: jax.jit(cubed)(x)):
        mapped = lines(jax.grad(lambda x, f=f: f(x).sum()), X)
        assert line_with(mapped, "3.0f").sources[0][1] == line_of(cubed_rule, "3 * x * x")


def rectified(x):
    y = x * 2
    return jax.nn.relu(y)


def test_a_rule_of_tinyjax_is_from_the_line_of_the_call():
    mapped = lines(jax.grad(lambda x: jax.jit(rectified)(x).sum()), X)
    assert {source[2] for line in mapped for source in line.sources} == {"rectified"}


# ---- what lines say ----


# What a line says, and the primitives that say so
SAYS = {
    r"tj_sin_": ["sin"],
    r"tj_exp_": ["exp"],
    r"tj_tanh_": ["tanh"],
    r" / \(?[a-z0-9]": ["div"],
    r"acc\d|partial": ["reduce_sum", "reduce_max", "dot_general"],
    r"\.(lo|hi);": ["reduce_sum", "reduce_max"],
    r"INFINITY": ["reduce_max"],
    r"sums|panel": ["dot_general"],
    r"kept": ["sin", "exp", "div"],  # made by one equation, read by the next
}


def says_sums_of_rows(x):
    return jnp.sin(x) / jnp.sum(jnp.sin(x) * 2.0, axis=1, keepdims=True)


def says_a_loop(x):
    return lax.fori_loop(0, 9, lambda i, c: jnp.sin(c) / 3.0, x)


@pytest.mark.parametrize(
    "f, shapes",
    [
        (says_sums_of_rows, [(20, 100)]),
        (jax.nn.softmax, [(20, 100)]),
        (lambda x: jnp.sum(x, 0) / jnp.max(jnp.exp(x), 0), [(50, 100)]),
        (lambda x: jnp.sum(jnp.exp(x) / 3.0) / 2.0, [(100_000,)]),
        (lambda x, y: jnp.tanh(x @ y / 2.0), [(20, 30), (30, 40)]),
        (lambda x, y: jnp.sin(x) / y, [(1000,), (1000,)]),
        (says_a_loop, [(1000,)]),
    ],
    ids=["rows", "softmax", "columns", "split", "product", "map", "loop"],
)
def test_every_line_is_from_the_equation_that_does_what_it_says(f, shapes):
    lowered = jax.jit(f).lower(*(jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes))
    plan = lowered.compiler_ir("schedule")
    for line in lowered.compiler_ir("explain"):
        if " = " not in line.text or re.search(r"for \(|ticket|get_global_id", line.text):
            continue  # around what equations do
        eqns = [numbered_eqns(plan)[number] for number in line.eqns]
        assert eqns, line
        for pattern, primitives in SAYS.items():
            if re.search(pattern, line.text):
                assert {eqn.primitive.name for eqn in eqns} <= set(primitives), line
        if read := re.search(r"\b([a-z])_in\b", line.text):
            operands = [plan.names.get(v) for eqn in eqns for v in eqn.invars]
            assert read[1] in operands, line


def test_the_text_has_c_and_python_side_by_side():
    text = jax.jit(two_lines).lower(X).as_text("explain")
    line = next(line for line in text.splitlines() if re.search(r"\* .*2.0f", line))
    assert "// [1] c = mul b 2.0" in line and "return y * 2.0" in line


def test_a_plan_without_kernels_has_no_lines():
    assert mapping(jax.jit(jnp.sort).lower(X).compiler_ir("schedule")) == []


# ---- the command ----

MODEL = """
import tinyjax.numpy as jnp

def f(x, y):
    z = jnp.sin(x)
    return z * y
"""


def test_the_command_prints_every_stage_as_text(tmp_path, capsys):
    file = tmp_path / "model_to_explain.py"
    file.write_text(MODEL)
    options = ["--text", "--args", "jnp.ones(2)", "jnp.ones(2)", "--transform", "vmap,jit"]
    assert main(["explain", f"{file}:f", *options]) == 0
    shown = capsys.readouterr().out
    assert "z = jnp.sin(x)\n" in shown  # Python
    assert "f32[2] = sin" in shown  # jaxpr
    assert "model_to_explain.py:5  z = jnp.sin(x)" in shown  # beside C
    assert "temporaries" in shown and "flops" in shown
    assert re.search(r"\d  0: k0_sin_mul\n.*\d  all", shown)


def test_the_command_refuses_what_it_cannot_find(capsys):
    assert main(["explain", "no_such_file.py:f"]) == 2
    assert "cannot find 'no_such_file.py:f'" in capsys.readouterr().err
