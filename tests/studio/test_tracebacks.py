"""What Python, its threads and notebooks print of an error ends at the user's line, and nothing is lost."""

import re
import subprocess
import sys
import threading
import traceback

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.studio import tracebacks


def negative_first(x):
    return x if x > 0 else -x


def raised(fun, *args):
    with pytest.raises(Exception) as caught:
        fun(*args)
    return caught.value


@pytest.fixture
def printed(capsys):
    """What Python prints of an error that nobody catches."""

    def text(error):
        tracebacks._excepthook(sys.__excepthook__, type(error), error, error.__traceback__)
        return capsys.readouterr().err

    return text


def functions_in(text):
    return re.findall(r'File ".*", line \d+, in (\S+)', text)


def test_only_the_users_frames_are_printed(printed):
    error = raised(jax.jit(negative_first), 1.0)
    assert functions_in(printed(error)) == ["raised", "negative_first"]


def test_frames_of_the_user_within_frames_of_tinyjax_stay(printed):
    error = raised(jax.grad(lambda x: jax.vmap(jax.jit(negative_first))(x).sum()), jnp.ones(3))
    assert functions_in(printed(error)) == ["raised", "<lambda>", "negative_first"]


def test_a_note_says_how_to_see_all_frames(printed):
    error = raised(jax.jit(negative_first), 1.0)
    assert printed(error).endswith(tracebacks.NOTE + "\n")
    with jax.config.set("jax_traceback_filtering", "off"):
        assert "trace_to_jaxpr" in functions_in(printed(error))


def test_an_error_without_frames_of_tinyjax_is_printed_as_ever(printed):
    assert tracebacks.NOTE not in printed(raised(lambda: 1 / 0))


def test_an_error_within_tinyjax_alone_keeps_its_frames(printed):
    error = raised(jax.jit(negative_first), 1.0)
    while tracebacks.is_users(error.__traceback__.tb_frame):
        error.__traceback__ = error.__traceback__.tb_next
    error.__traceback__.tb_next.tb_next = None
    assert len(functions_in(printed(error))) == 2


def test_the_error_keeps_what_a_debugger_looks_at(printed):
    error = raised(jax.jit(negative_first), 1.0)
    error.add_note("a note")
    before = traceback.format_exception(error)
    printed(error)
    assert traceback.format_exception(error) == before and "_concrete_or" in "".join(before)


def test_remove_frames_prints_all_frames_first(printed):
    with jax.config.set("jax_traceback_filtering", "remove_frames"):
        whole, short = printed(raised(jax.jit(negative_first), 1.0)).split(tracebacks.BELOW)
    assert "trace_to_jaxpr" in functions_in(whole)
    assert functions_in(short) == ["raised", "negative_first"]


def test_a_cause_of_the_user_s_is_printed_by_remove_frames(printed):
    def fails(x):
        raise ValueError("no") from KeyError("why")

    with jax.config.set("jax_traceback_filtering", "remove_frames"):
        _, short = printed(raised(jax.jit(fails), 1.0)).split(tracebacks.BELOW)
    assert "KeyError: 'why'" in short


def test_an_error_may_have_exceptions_of_another_kind(printed):
    class Failures(Exception):
        exceptions = ("a", "b")

    def fails(x):
        raise Failures("two")

    assert functions_in(printed(raised(jax.jit(fails), 1.0))) == ["raised", "fails"]


def test_tracebackhide_marks_the_frames(printed):
    error = raised(jax.jit(negative_first), 1.0)
    with jax.config.set("jax_traceback_filtering", "tracebackhide"):
        printed(error)
    hidden = [
        frame.f_code.co_name
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if "__tracebackhide__" in frame.f_locals
    ]
    assert "trace_to_jaxpr" in hidden and "negative_first" not in hidden


def test_causes_contexts_and_members_of_groups_are_filtered(printed):
    def program():
        try:
            jnp.ones(2) + jnp.ones(3)
        except TypeError as error:
            try:
                jax.jit(negative_first)(1.0)
            except TypeError:
                raise ExceptionGroup("two", [error]) from error

    text = printed(raised(program))
    assert "PACKAGE" not in text and tracebacks.PACKAGE_FOLDER not in text
    assert text.count("incompatible shapes") == 2


def test_a_registered_path_is_left_out(printed, monkeypatch):
    from tinyjax._src import traceback_util

    monkeypatch.setattr(traceback_util, "_exclude_paths", [__file__])
    assert not tracebacks.is_users(sys._getframe())


def test_a_callbacks_line_is_shown(printed):
    def callback(x):
        return 1 // 0

    def program(x):
        return jax.pure_callback(callback, jax.ShapeDtypeStruct((), "float32"), x)

    for fun in (program, jax.jit(program)):
        cause, _ = printed(raised(fun, 1.0)).split("direct cause")
        assert functions_in(cause) == ["callback"]
    error = raised(jax.jit(lambda x: jax.debug.callback(callback, x)), 1.0)
    assert "callback" in functions_in(printed(error))


def test_a_threads_error_is_filtered(capsys, monkeypatch):
    hook = tracebacks._thread_excepthook
    monkeypatch.setattr(threading, "excepthook", lambda args: hook(threading.__excepthook__, args))
    thread = threading.Thread(target=jax.jit(negative_first), args=(1.0,))
    thread.start()
    thread.join()
    text = capsys.readouterr().err
    assert functions_in(text)[-1] == "negative_first" and "in thread" in text
    assert "trace_to_jaxpr" not in text


PROGRAM = """
import {jax} as jax

@jax.jit
def f(x):
    return x if x > 0 else -x

f(1.0)
"""


def frames_printed_by(*command):
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    text = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout + result.stderr)
    assert text.count(tracebacks.NOTE) == 1
    return text


def test_a_script_and_run_print_the_users_lines(tmp_path):
    script, program = tmp_path / "script.py", tmp_path / "program.py"
    script.write_text(PROGRAM.format(jax="tinyjax"))
    program.write_text(PROGRAM.format(jax="jax"))
    for command in ([script], ["-m", "tinyjax", "run", program]):
        assert functions_in(frames_printed_by(*command)) == ["<module>", "f"]


IN_A_NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in ("import tinyjax as jax", "f = jax.jit(lambda x: x if x > 0 else -x)", "f(1.0)"):
    shell.run_cell(cell)
shell.run_cell("import sys, traceback; print('kept', len(traceback.extract_tb(sys.last_traceback)))")
"""


def test_a_notebook_prints_the_users_lines_and_keeps_all_frames(tmp_path):
    pytest.importorskip("IPython")
    text = frames_printed_by("-c", IN_A_NOTEBOOK)
    assert "trace_to_jaxpr" not in text and "x if x > 0 else -x" in text
    assert int(re.search(r"kept (\d+)", text)[1]) > 5
