"""What is done to a Ref, in its order, in a picture."""

import re

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.studio import viz


def source_of(fun, *args):
    return viz.dot(jax.make_jaxpr(fun)(*args)).source


def test_dashed_arrows_show_the_order_of_what_is_done_to_a_ref():
    def program(x):
        ref = jax.new_ref(x)
        ref[0] = 2.0
        y = ref[...]
        jax.ref.addupdate(ref, ..., x)
        return ref[...] + y

    source = source_of(program, jnp.ones(3))
    boxes = re.findall(r"(n\d+) \[label=<.*<b>(swap|get|addupdate)</b>", source)
    assert [name for _, name in boxes] == ["swap", "get", "addupdate", "get"]
    dashed = re.findall(r'(n\d+) -> (n\d+) \[color="#d55e00" style=dashed\]', source)
    numbers = [number for number, _ in boxes]
    assert dashed == list(zip(numbers, numbers[1:])) and "order: what is done to a Ref" in source


def test_what_a_loop_does_to_a_ref_comes_between_what_is_before_and_after():
    def program(x):
        ref = jax.new_ref(x)
        ref[0] = 2.0
        jax.lax.fori_loop(0, 3, lambda i, c: jax.ref.addupdate(ref, 1, 1.0), None)
        return ref[...]

    source = source_of(program, jnp.ones(3))
    swap, add, get = re.findall(r"(n\d+) \[label=<.*<b>(?:swap|get|addupdate)</b>", source)
    dashed = re.findall(r'(n\d+) -> (n\d+) \[color="#d55e00" style=dashed\]', source)
    assert dashed == [(swap, add), (add, get)]


def test_a_ref_that_is_made_within_a_call_has_an_order_of_its_own():
    @jax.jit
    def add_up(ref):
        own = jax.new_ref(ref[...])
        return own[...]

    def program(x):
        ref = jax.new_ref(x)
        ref[0] = 2.0
        return add_up(ref)

    source = source_of(program, jnp.ones(3))
    swap, outer, _ = re.findall(r"(n\d+) \[label=<.*<b>(?:swap|get|addupdate)</b>", source)
    dashed = re.findall(r'(n\d+) -> (n\d+) \[color="#d55e00" style=dashed\]', source)
    assert dashed == [(swap, outer)]


def test_a_call_that_does_nothing_to_a_ref_is_no_step_of_its_order():
    def program(x):
        first, second = jax.new_ref(x), jax.new_ref(x)
        first[0] = 2.0
        second[0] = 3.0
        return jax.jit(lambda ref, x: jnp.sin(x))(first, x), first[...]

    source = source_of(program, jnp.ones(3))
    swap, _, get = re.findall(r"(n\d+) \[label=<.*<b>(?:swap|get|addupdate)</b>", source)
    dashed = re.findall(r'(n\d+) -> (n\d+) \[color="#d55e00" style=dashed\]', source)
    assert dashed == [(swap, get)]
