"""Schedules that are seen, and those that a user gives."""

from types import SimpleNamespace

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.lowered import target_of
from tinyjax.compile.schedules.directive import Directive
from tinyjax.compile.schedules.fuse import Fuse
from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.reorder import tile
from tinyjax.compile.schedules.schedule import ScheduleBuilder
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.runtime.devices import Device
from tinyjax.runtime.executable import compile_lowered


def data(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def scaled(x, row):
    return jnp.sin(x) * row + 1


ARGS = data(30, 50), data(50)


def test_the_naive_loop_nests_can_be_printed():
    text = jax.jit(scaled).lower(*ARGS).as_text("loop nests")
    assert "for i1 in 0 .. 30:\n    for i2 in 0 .. 50:" in text and " x16" not in text


def test_a_schedule_is_printed_with_its_reasons():
    text = jax.jit(scaled).lower(*ARGS).as_text("schedule of k0")
    assert text.splitlines() == [
        "Vectorize('i2', 16)  # neighbours in memory",
        "Partition('i2_outer')  # only the last vector needs a mask",
    ]


def test_a_program_runs_without_schedules():
    def f(x, row):
        sums = jax.lax.fori_loop(0, 3, lambda i, c: c + jnp.sum(jnp.sin(x)), row) / 2
        twice = row * 2
        first = jnp.broadcast_to(twice, (9, 50))  # stored after the loop that makes it by itself
        return sums, twice, first, jax.lax.fori_loop(0, 3, lambda i, c: c * c, first)

    lowered = jax.jit(f).lower(*ARGS)
    naive = lowered.lowered.without_schedules()
    assert naive.planned.all_kernels() == lowered.compiler_ir("loop nests")
    results = compile_lowered(naive)(list(map(jnp.asarray, ARGS)))
    for found, expected in zip(results, f(*ARGS), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


OWN = [
    [],
    [Split("i2", 4), Vectorize("i2_inner", 4)],
    [*tile(("i1", "i2"), 8, 8, ""), Parallelize("i1_outer", 3)],
    [Fuse(("i1", "i2")), Parallelize("i1_i2", 10)],
]


@pytest.mark.parametrize("directives", OWN, ids=str)
def test_any_schedule_gives_the_same_results(directives):
    lowered = jax.jit(scaled).lower(*ARGS)
    own = lowered.with_schedule("k0", directives)
    assert own.as_text("schedule of k0") == "\n".join(map(str, directives))
    assert own.as_text("opencl") != lowered.as_text("opencl")
    np.testing.assert_allclose(own.compile()(*ARGS), lowered.compile()(*ARGS), rtol=1e-6, atol=1e-7)


def test_the_rest_of_a_program_keeps_its_schedules():
    def f(x):
        return jnp.cumsum(jnp.sin(x)) * 2

    x = data(100)
    lowered = jax.jit(f).lower(x)
    first, *others = lowered.compiler_ir("kernel")
    own = lowered.with_schedule(first.name, [])
    assert [k.name for k in own.compiler_ir("kernel")] == [first.name, *(k.name for k in others)]
    np.testing.assert_allclose(own.compile()(x), f(x), rtol=1e-5)


@pytest.mark.parametrize(
    "kernel, directives, reason",
    [
        ("k7", [], "no kernel's name begins with 'k7'; there are k0_"),
        ("k0", [Split("i9", 8)], r"Split\('i9', 8\) .* has no axis 'i9'; its axes are i1, i2"),
        ("k0", [Vectorize("i2", 3)], "vectors have 2, 4, 8 or 16 elements"),
    ],
)
def test_a_wrong_schedule_is_explained(kernel, directives, reason):
    lowered = jax.jit(scaled).lower(*ARGS)
    with pytest.raises(ValueError, match=reason):
        lowered.with_schedule(kernel, directives)


@pytest.mark.parametrize("directives", ["Split", {"k0": []}, [Split]], ids=str)
def test_what_is_no_list_of_directives_is_no_schedule(directives):
    with pytest.raises(TypeError, match="a schedule is a list of directives, such as"):
        jax.jit(scaled).lower(*ARGS).with_schedule("k0", directives)


def test_a_line_of_the_compilers_schedule_can_be_left_out():
    lowered = jax.jit(scaled).lower(*ARGS)
    chosen = lowered.compiler_ir("schedule of k0")
    assert chosen == list(lowered.with_schedule("k0", chosen).compiler_ir("kernel")[0].schedule)
    own = lowered.with_schedule("k0", chosen[:1])
    assert own.compiler_ir("schedule of k0") == chosen[:1] != chosen
    np.testing.assert_allclose(own.compile()(*ARGS), lowered.compile()(*ARGS), rtol=1e-6)


def test_the_schedule_of_a_loop_begins_with_its_naive_nest():
    f = jax.jit(lambda x: lax.fori_loop(0, 9, lambda i, c: c * 0.5 + x, x))
    lowered = f.lower(data(100))
    own = lowered.with_schedule("k0", [Split("i1", 8), Vectorize("i1_inner", 8)])
    assert own.as_text("schedule of k0") == "Split('i1', 8)\nVectorize('i1_inner', 8)"
    assert " x8" in own.as_text("kernel") and " x16" not in own.as_text("kernel")
    assert own.as_text("loop nests") == lowered.as_text("loop nests")
    np.testing.assert_allclose(own.compile()(data(100)), f(data(100)), rtol=1e-6)


# ---- each directive can be left out ----


def recurrent(w, u, state, xs):
    return lax.scan(lambda h, x: (jnp.tanh(w @ h + u @ x), h.sum()), state, xs)[1]


def halvings(x):
    return lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] / 2, s[1] + 1), (x, 0))[1]


PROGRAMS = [
    (recurrent, (data(9, 9) / 9, data(9, 9), data(9), data(4, 9))),
    (jax.vmap(halvings), (data(100) * 1000,)),
    (lambda x: lax.fori_loop(0, 9, lambda i, c: c * 0.5 + x, x), (data(1000),)),
    (lambda x, row: lax.fori_loop(0, 3, lambda i, c: c + row[::-1], x), (data(5, 7), data(7))),
    (scaled, ARGS),
    (lambda x: x * 2 + x, (data(100_000),)),
    (lambda x: x.T + 1, (data(300, 333),)),
    (lambda x, y: x * y, (data(3, 40, 50), data(40, 50))),
    (lambda x: jnp.sum(x, (0, 2)) + 1, (data(30, 4, 50),)),
    (lambda x: jnp.sum(x, 1), (data(500, 400, 3),)),
    (lambda x: jnp.sum(x, 0), (data(70, 100),)),
    (lambda x: jax.nn.softmax(x, 1), (data(30, 100),)),
    (lambda x: jnp.max(x), (data(50_000),)),
]


def test_the_passes_of_an_own_schedule_are_those_of_its_directives():
    lowered = jax.jit(lambda x: x * 2 + x).lower(data(100))
    own = lowered.with_schedule("k0", [Split("i1", 4), Vectorize("i1_inner", 4)])
    events = [str(event) for record in own.passes for event in record.events if "i1" in event.about]
    assert events == ["Split('i1', 4): applied", "Vectorize('i1_inner', 4): applied"]
    assert own.as_text(own.passes[-1].title) == own.as_text("kernel")


def test_the_passes_of_a_loop_have_the_name_of_its_kernel():
    lowered = jax.jit(lambda x: lax.fori_loop(0, 9, lambda i, c: c * 0.5 + x, x)).lower(data(100))
    own = lowered.with_schedule("k0", [Split("i1", 8)])
    assert "vectorize of k0_scan" in [record.title for record in lowered.passes]
    assert [r.title for r in own.passes if "k0_scan" in r.title] == ["split of k0_scan"]
    assert own.as_text("split of k0_scan") == own.as_text("kernel")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_any_directive_can_be_left_out(number):
    """And with it those that can't be applied without it."""
    f, args = PROGRAMS[number]
    lowered = jax.jit(f).lower(*args)
    (kernel,) = lowered.compiler_ir("kernel")
    chosen = [step for step in kernel.schedule if isinstance(step, Directive)]
    assert chosen
    for left_out in chosen:
        builder = ScheduleBuilder(kernel.naive)
        for directive in chosen:
            if directive is not left_out:
                builder.apply_if_possible(directive)
        own = lowered.with_schedule("k0", builder.directives).compile()
        expected = np.asarray(f(*args))
        atol = 1e-6 * max(10, abs(expected).max())
        np.testing.assert_allclose(own(*args), expected, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("most, size", [(1024, 256), (256, 256), (128, 64), (64, 64), (48, 16)])
def test_groups_are_no_larger_than_a_gpu_can_have(most, size):
    device = Device("gpu", 0, "any", SimpleNamespace(max_work_group_size=most))
    target = target_of(device)
    assert (target.group, target.local_size) == (size, size)
