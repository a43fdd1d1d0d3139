"""tinyjax step: a learner runs a program, and walks through what happened."""

import os
import pty
import re
import subprocess
import sys

import pytest

from tinyjax.__main__ import main

MODEL = """\
import tinyjax as jax
import tinyjax.numpy as jnp


def f(x):
    return jnp.sin(x) * x


@jax.custom_jvp
def own(x):
    return jnp.sin(x)


own.defjvp(lambda primals, tangents: (own(*primals), jnp.cos(primals[0]) * tangents[0]))


def wrong(x):
    return jnp.sin(x) @ x


def doubtful(x):
    y = jnp.sin(x) + jnp.cos(x)
    return jnp.negative(jnp.negative(y)) + 1.0


if __name__ == "__main__":
    import sys

    print("arguments:", sys.argv[1:])
    print(jax.grad(f)(3.0))
"""


@pytest.fixture
def step(tmp_path, monkeypatch, capsys):
    """Runs `tinyjax step` on the model with commands from a pipe: gives what was printed."""
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(arguments, *commands):
        reader, writer = os.pipe()
        os.write(writer, "".join(f"{command}\n" for command in commands).encode())
        os.close(writer)
        with os.fdopen(reader) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            run.status = main(["step", *arguments.split()])
        return capsys.readouterr().out

    return run


def after(command, output):
    """The answer to a command, the last time it was given."""
    return output.rpartition(f"(step) {command}\n")[2].split("(step) ")[0]


GRAD = "model.py:f --args 3.0 --transform grad"


def test_the_program_runs_and_the_first_event_is_shown(step):
    output = step(GRAD)
    assert "grad(f)(3.0) = Array(-2.8288574" in output
    assert "trace  linearize  3.0:f32[] -> 0.42336:f32[]" in output
    assert step.status == 0


def test_next_stays_on_the_level_and_into_goes_in(step):
    output = step(GRAD, "next", "back", "into", "i")
    assert "backward pass" in after("next", output)
    assert "linearize" in after("back", output)
    assert "bind  sin" in after("into", output) and "model.py:6" in after("into", output)
    assert "jvp rule  sin" in after("i", output)


def test_out_goes_to_the_event_around(step):
    assert "bind  sin" in after("out", step(GRAD, "i", "i", "out"))


def test_an_empty_line_does_the_last_command_again(step):
    assert "(step) \n2 " in step(GRAD, "into", "")


def test_next_with_a_word_looks_for_it(step):
    assert "bind  cos" in after("next cos", step(GRAD, "next cos"))


def test_a_number_is_an_event(step):
    assert after("2", step(GRAD, "2")).startswith("2 ")


def test_print_shows_each_value_and_where_it_is_from(step):
    output = step(GRAD, "2", "p", "p d")
    assert "operand 1  tangent c:f32[]" in after("p", output)
    assert "made in" in after("p d", output)


def test_print_shows_the_jaxpr_that_was_made(step):
    output = step("model.py:f --args 3.0 --transform jit", "p", "next simplify", "print")
    assert "| { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b a in (c,) }" in after(
        "p", output
    )
    assert "| { lambda" in after("print", output)


def test_print_shows_what_a_pass_changed_and_why(step):
    doubtful = "model.py:doubtful --args 3.0 --transform jit"
    shown = step(doubtful, "next rewrite_rules", "print")
    assert "# neg (neg x) = x" in shown
    assert re.search(r"\| - .* add f 1.0", shown) and re.search(r"\| \+ .* add d 1.0", shown)


def test_list_shows_the_events_around_the_line_and_the_rule(step):
    listing = after("list", step(GRAD, "2", "list"))
    assert listing.index("linearize") < listing.index("bind  sin") < listing.index("jvp rule")
    assert "->     return jnp.sin(x) * x" in listing
    assert "tinyjax/transform/jvp.py" in listing


def test_list_marks_the_line_that_the_rule_around_has_come_to(step):
    listing = after("list", step(GRAD, "next cos", "list"))
    middle = listing.partition("in the middle of")[2].partition("what was applied")[0]
    marked = re.findall(r"^ +\d+ -> (.*)", middle, re.MULTILINE)
    assert "sin_jvp" in middle and "cos(x)" in marked[0]


def test_graph_writes_a_picture_and_says_where(step, tmp_path):
    output = step(GRAD, "graph")
    assert "wrote step-0.svg, of 4 equations" in output
    assert "add_any" in (tmp_path / "step-0.svg").read_text()


def test_operations_are_drawn_where_no_equation_was_written(step, tmp_path):
    output = step("model.py:own --args jnp.arange(3.0) --transform vmap", "graph")
    assert "wrote step-0.svg, of 1 equations" in output
    assert "custom_jvp_call" in (tmp_path / "step-0.svg").read_text()


def test_a_variable_that_nothing_reads_is_named_as_in_the_printed_jaxpr(step):
    output = step("model.py:f --args 3.0 --transform grad,jit", "next linearize")
    assert "-> _:f32[]" in after("next linearize", output)


def test_pdb_stops_in_the_rule_of_the_event_and_comes_back(step):
    output = step(GRAD, "2", "pdb", "p x", "q", "out")
    assert "jvp.py" in output.partition("(step) pdb")[2]
    assert "(Pdb) p x\n3.0" in output
    assert "bind  sin" in after("out", output)


def test_pdb_stops_also_in_a_rule_that_remembers_its_answers(step):
    output = step(GRAD, "next abstract", "pdb", "q")
    assert "elementwise_aval()" in output.partition("(step) pdb")[2]


def test_transformations_are_applied_in_the_order_that_is_given(step):
    output = step("model.py:f --args jnp.arange(3.0) --transform grad,vmap,jit", "next launch")
    assert "jit(vmap(grad(f)))(jnp.arange(3.0)) = Array([" in output
    assert "launch" in after("next launch", output)


def test_a_script_runs_with_its_arguments(step):
    output = step("model.py --epochs 3", "pdb", "c")
    assert output.count("arguments: ['--epochs', '3']\n") == 2  # the second one is for pdb


def test_a_script_may_import_jax(step, tmp_path):
    (tmp_path / "model.py").write_text("import jax\njax.numpy.sin(3.0)\n")
    assert "bind  sin" in step("model.py")


def test_an_error_is_shown_as_the_users_and_what_was_before_can_be_stepped_through(step):
    output = step("model.py:wrong --args 3.0", "into")
    assert "  model.py:18 in wrong\n    return jnp.sin(x) @ x\nValueError: " in output
    assert "Traceback" not in output and "record.py" not in output
    assert "impl  sin" in after("into", output)


def test_what_is_no_command_is_answered_and_help_lists_them(step):
    output = step(GRAD, "fly", "help", "1000")
    assert "'fly' is no command: help lists them" in output
    assert "into, i, s" in after("help", output)
    assert "events have the numbers 0 to" in after("1000", output)


@pytest.mark.parametrize(
    "arguments",
    ["nosuch.py", "model.py:nosuch", "model.py:f --transform fly", "model.py:f --args 1/0"],
)
def test_what_can_not_be_run_is_refused_in_a_line(arguments, step, capsys):
    step(arguments)
    assert step.status == 2


def test_lines_fit_a_narrow_terminal(step, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    output = step(GRAD, "next", "2", "print", "list", "next cos")
    shown = output.partition("next goes on.\n")[2]
    assert all(len(line) <= 40 for line in shown.splitlines())


def on_a_terminal(arguments, **environment):
    """What the command shows on a new terminal."""
    program, terminal = pty.openpty()
    command = [sys.executable, "-m", "tinyjax", "step", *arguments.split()]
    process = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, env=os.environ | {"TERM": "xterm"} | environment
    )
    os.close(terminal)
    os.write(program, b"quit\n")
    shown = b""
    while b"quit" not in shown.partition(b"(step) ")[2]:
        shown += os.read(program, 1024)
    process.wait()
    os.close(program)
    return shown.decode()


@pytest.mark.slow
def test_colours_are_for_terminals_unless_they_are_not_wanted(step):
    assert "\033[35mtrace" in on_a_terminal(GRAD)
    assert "\033[35m" not in on_a_terminal(GRAD, NO_COLOR="1")
    assert "\033[" not in step(GRAD)
