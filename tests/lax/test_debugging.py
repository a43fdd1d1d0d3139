"""Seeing values while a program runs: what is printed, how often, and in which order."""

import io
import logging

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

x = np.array([0.0, 1.0, 2.0], np.float32)
show = jax.debug.print


def noisy(x):
    show("x = {}", x)
    return x * x


@pytest.fixture
def printed(capsys):
    """The lines that a call prints."""

    def lines_of(fun, *args):
        capsys.readouterr()
        jax.block_until_ready(fun(*args))
        jax.effects_barrier()
        return capsys.readouterr().out.splitlines()

    return lines_of


# ---- debug.print ----


def test_print_shows_a_value_where_python_would_show_a_tracer(printed):
    assert printed(jax.jit(noisy), 3.0) == ["x = 3.0"]


def test_a_compiled_program_prints_at_each_call(printed):
    fun = jax.jit(noisy)
    assert printed(fun, 1.0) + printed(fun, 2.0) == ["x = 1.0", "x = 2.0"]


def test_tracing_prints_nothing(printed):
    assert printed(jax.make_jaxpr(noisy), 3.0) == []


def test_fields_may_have_names_formats_and_trees(printed):
    def fun(x):
        show("{0:.2f} {tree} {text!r}", x, tree={"a": x, "b": None}, text="s")

    assert printed(jax.jit(fun), 1.0) == ["1.00 {'a': Array(1., dtype=float32), 'b': None} 's'"]


def test_a_key_prints_as_python_prints_it(printed):
    assert (
        printed(jax.jit(lambda: show("{}", jax.random.key(3))))
        == str(jax.random.key(3)).splitlines()
    )


def test_numpys_print_options_are_those_of_the_trace(printed):
    with np.printoptions(precision=2):
        fun = jax.jit(lambda x: show("{}", x)).trace(x / 3).lower().compile()
    assert printed(fun, x / 3) == ["[0.   0.33 0.67]"]


def test_options_may_come_first(printed):
    assert printed(lambda: show(ordered=True)("{ordered}", ordered=1)) == ["1"]


def test_arguments_are_checked_when_the_function_is_traced():
    with pytest.raises(ValueError, match="Unused keyword arguments.*f-string"):
        jax.make_jaxpr(lambda x: show(f"{x}", x=x))(1.0)


def test_debug_log_goes_to_a_logger_with_the_users_line(caplog):
    with caplog.at_level(logging.INFO):
        jax.jit(lambda x: jax.debug.log("x = {}", x))(1.0)
    assert caplog.records[-1].message == "x = 1.0"
    assert caplog.records[-1].pathname == __file__


# ---- nothing is dropped, merged or moved ----


def test_a_function_without_results_prints(printed):
    assert printed(jax.jit(lambda x: show("{}", x)), 1.0) == ["1.0"]


def test_equal_prints_are_not_merged(printed):
    def twice(x):
        show("{}", x)
        show("{}", x)

    assert printed(jax.jit(twice), 1.0) == ["1.0", "1.0"]


def test_prints_come_in_the_order_of_the_program(printed):
    def fun(x):
        total = jnp.sum(jnp.sort(x))  # takes more steps than what is printed after it
        show("{}", total)
        show("second")
        show("{}", x[0])

    assert printed(jax.jit(fun), x) == ["3.0", "second", "0.0"]


def test_the_schedule_shows_the_step(printed):
    assert "host    debug_print(" in jax.jit(noisy).lower(1.0).as_text()


# ---- under transformations ----


def test_vmap_prints_one_example_after_the_other(printed):
    assert printed(jax.vmap(noisy), x) == ["x = 0.0", "x = 1.0", "x = 2.0"]
    assert printed(jax.jit(jax.vmap(jax.jit(noisy))), x) == ["x = 0.0", "x = 1.0", "x = 2.0"]


def test_vmap_prints_once_what_all_examples_share(printed):
    assert printed(jax.vmap(lambda x: x + noisy(2.0)), x) == ["x = 2.0"]


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: jax.grad(f),
        lambda f: jax.jit(jax.grad(f)),
        lambda f: jax.grad(jax.jit(f)),
        lambda f: jax.grad(jax.grad(f)),
        lambda f: jax.grad(jax.jit(jax.grad(jax.jit(f)))),
        lambda f: lambda x: jax.jvp(f, (x,), (x,)),
        lambda f: lambda x: jax.jvp(jax.jit(f), (x,), (x,)),
        lambda f: lambda x: jax.linearize(f, x)[1](x),
        lambda f: lambda x: jax.vjp(jax.jit(f), x)[1](x),
    ],
)
def test_derivatives_print_primals_once(transform, printed):
    assert printed(transform(noisy), 3.0) == ["x = 3.0"]


def test_the_transpose_of_a_function_does_not_print(printed):
    def double(x):
        show("{}", x)
        return 2 * x

    assert printed(jax.linear_transpose(double, 1.0), 3.0) == []


def test_checkpoint_prints_again_what_it_computes_again(printed):
    assert printed(jax.grad(jax.checkpoint(noisy)), 3.0) == ["x = 3.0"] * 2
    assert printed(jax.jit(jax.grad(jax.checkpoint(noisy))), 3.0) == ["x = 3.0"] * 2


@pytest.mark.parametrize("run", [lambda f: f, jax.jit], ids=["eager", "jit"])
class TestInControlFlow:
    def test_scan_prints_at_each_step(self, run, printed):
        fun = run(lambda xs: lax.scan(lambda c, x: (c + noisy(x), None), 0.0, xs))
        assert printed(fun, x) == ["x = 0.0", "x = 1.0", "x = 2.0"]

    def test_the_gradient_of_a_scan_prints_on_the_way_forward(self, run, printed):
        fun = run(jax.grad(lambda xs: lax.scan(lambda c, x: (c + noisy(x), None), 0.0, xs)[0]))
        assert printed(fun, x) == ["x = 0.0", "x = 1.0", "x = 2.0"]

    def test_a_jit_in_a_scan_prints_whether_its_result_is_used_or_not(self, run, printed):
        def step(c, x):
            jax.jit(lambda x: show("{}", x))(x)
            return c * jax.jit(noisy)(x), None

        fun = run(jax.grad(lambda c: lax.scan(step, c, x)[0]))
        assert printed(fun, 1.0) == ["0.0", "x = 0.0", "1.0", "x = 1.0", "2.0", "x = 2.0"]

    def test_while_prints_in_condition_and_body(self, run, printed):
        def condition(i):
            show("is {} < 2?", i)
            return i < 2

        fun = run(lambda i: lax.while_loop(condition, lambda i: noisy(i) + 1, i))
        assert printed(fun, 1) == ["is 1 < 2?", "x = 1", "is 2 < 2?"]

    def test_cond_prints_in_the_branch_that_runs(self, run, printed):
        fun = run(lambda x: lax.cond(x > 0, noisy, lambda x: x, x))
        assert [printed(fun, 1.0), printed(fun, -1.0)] == [["x = 1.0"], []]

    def test_vmap_of_cond_runs_both_branches(self, run, printed):
        fun = run(jax.vmap(lambda x: lax.cond(x > 0, noisy, lambda x: x, x)))
        assert printed(fun, x) == ["x = 0.0", "x = 1.0", "x = 2.0"]


# ---- debug.callback ----


def test_a_callback_gets_arrays_and_what_else_it_is_given():
    seen = []
    jax.jit(lambda x: jax.debug.callback(lambda *args: seen.extend(args), x, "text"))(x)
    assert isinstance(seen[0], jax.Array) and seen[1] == "text"
    np.testing.assert_array_equal(seen[0], x)


def test_a_callback_may_compute_with_jax():
    seen = []
    jax.jit(lambda x: jax.debug.callback(lambda x: seen.append(jax.jit(jnp.sum)(x)), x + 1))(x)
    assert seen == [6.0]


@pytest.mark.parametrize("body", [lambda f, x: f(x), lambda f, x: lax.map(f, x)])
def test_what_a_callback_raises_comes_out_and_the_next_call_works(body):
    def check(x):
        if np.max(x) > 5:
            raise ValueError("too much")

    def checked(x):
        jax.debug.callback(check, x)
        return 2 * x

    fun = jax.jit(lambda x: body(checked, x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="ValueError: too much") as raised:
        fun(10 * x)
    assert isinstance(raised.value.__cause__, ValueError)
    np.testing.assert_array_equal(fun(x), 2 * x)


def test_eagerly_a_callback_raises_its_own_error():
    with pytest.raises(ZeroDivisionError):
        jax.debug.callback(lambda: 1 // 0)


# ---- debug.breakpoint ----


def stopping(x, commands, out, **options):
    y = {"double": 2 * x}
    jax.debug.breakpoint(stdin=io.StringIO(commands), stdout=out, **options)
    return y["double"]


@pytest.mark.parametrize("run", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_breakpoint_shows_frames_and_values(run):
    out = io.StringIO()
    run(lambda x: stopping(x, "p x\ny\npp y\nw\nup\nlist\nnonsense\nc\n", out))(1.5)
    text = out.getvalue()
    assert "Entering jdb" in text
    assert "Array(1.5, dtype=float32" in text and "{'double': Array(3., dtype=float32" in text
    assert "jax.debug.breakpoint(stdin=" in text  # w: the line of the innermost frame
    assert "-> " in text and 'nonsense\\nc\\n", out))(1.5)' in text  # list, of the frame above
    assert "*** NameError: name 'nonsense' is not defined" in text


def test_breakpoint_evaluates_with_the_modules_globals():
    out = io.StringIO()
    jax.jit(lambda x: stopping(x, "jnp.square(y['double'])\nc\n", out))(1.5)
    assert "Array(9., dtype=float32" in out.getvalue()


def test_vmap_opens_the_command_line_for_each_example():
    out = io.StringIO()
    jax.vmap(lambda x: stopping(x, "x\nc\nx\nc\nx\nc\n", out))(x)
    assert [f"Array({v}., dtype=float32)" in out.getvalue() for v in (0, 1, 2)] == [True] * 3


def test_a_breakpoint_with_a_token_opens_if_the_token_is_used():
    def fun(x, commands, out):
        y = jax.debug.breakpoint(token=2 * x, stdin=io.StringIO(commands), stdout=out)
        return y, x

    out = io.StringIO()
    jax.jit(lambda x: fun(x, "", out)[1])(x)
    assert out.getvalue() == ""
    np.testing.assert_array_equal(jax.jit(lambda x: fun(x, "c\n", out)[0])(x), 2 * x)
    assert "Entering jdb" in out.getvalue()


def test_the_end_of_the_input_leaves_the_program():
    with pytest.raises(SystemExit):
        stopping(1.0, "", io.StringIO())


def test_only_as_many_frames_as_asked_for():
    out = io.StringIO()
    stopping(1.0, "up\nc\n", out, num_frames=1)
    assert "At topmost frame." in out.getvalue()
