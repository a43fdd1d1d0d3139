import functools

import numpy as np
import pytest
from drawn import draws
from judged import Thrown, donates_nothing, error_passes, raises, unchanged
from practice import static_arguments
from practice.static_arguments import blurred, compiled, traces

import tinyjax as jax
from tinyjax.core.jaxpr import eval_jaxpr

X = np.arange(5, dtype=np.float32)


@pytest.fixture
def runs(monkeypatch):
    """What Python runs `blurred` with, each time; `compiled` finds it instead."""
    seen = []

    @functools.wraps(blurred)
    def noted(x, times, rate, edge):
        seen.append((times, edge))
        return blurred(x, times, rate, edge)

    monkeypatch.setattr(static_arguments, "blurred", noted)
    return seen


def test_a_program_is_blurring_so_often_at_such_an_edge(runs):
    fast = compiled()
    for times, edge in [(1, "zero"), (3, "zero"), (3, "wrap")]:
        closed = fast.trace(X, times, 0.5, edge).jaxpr
        with jax.disable_jit():
            (found,) = eval_jaxpr(closed.jaxpr, closed.consts, X, 0.5)
            np.testing.assert_allclose(found, blurred(X, times, 0.5, edge), rtol=1e-6)


def test_no_argument_is_donated():
    donates_nothing(jax.make_jaxpr(lambda x: compiled()(x, 2, 0.5, "zero"))(X))


def test_another_rate_is_no_new_trace(runs):
    fast = compiled()
    for rate in np.linspace(0, 1, 20).tolist():
        fast.trace(X, 2, rate, "zero")
    assert len(runs) == 1, f"for 20 rates it was traced {len(runs)} times"


def test_another_number_of_times_and_another_edge_are(runs):
    fast = compiled()
    calls = [(2, "zero"), (3, "zero"), (2, "wrap"), (3, "zero"), (2, "zero")]
    for times, edge in calls:
        fast.trace(X, times, 0.5, edge)
    assert runs == calls[:3]


def test_arguments_may_be_given_by_name(runs):
    fast = compiled()
    fast.trace(X, times=2, rate=0.5, edge="zero")
    fast.trace(edge="zero", x=X, rate=0.1, times=2)
    assert runs[0] == (2, "zero") and len(runs) <= 2


# ---- counting ----


class Named:
    """All have one text, and each is equal only to itself."""

    def __repr__(self):
        return "Named"


def power(x, n=2):
    for _ in range(n):
        x = x * x
    return x


def test_calls_of_one_kind_are_one_trace():
    assert traces(power, [((3.0,), {}), ((4.0,), {}), ((5.0,), {})]) == 1


def test_a_new_shape_or_dtype_is_a_new_trace():
    calls = [((X,), {}), ((X[:3],), {}), ((3.0,), {}), ((3,), {}), ((X,), {})]
    assert traces(power, calls) == 4


def test_options_are_those_of_jit():
    calls = [((X,), {"n": 1}), ((X,), {"n": 2}), ((X,), {"n": 1}), ((X,), {})]
    assert traces(power, calls, static_argnames="n") == 3
    by_position = [((X, 1), {}), ((X, 2), {}), ((X, 2), {})]
    assert traces(power, by_position, static_argnums=1) == 2
    assert traces(power, by_position, static_argnames="n") == 2, "names may be given by position"
    seen = []
    fake = lambda fun, **options: seen.append(options) or jit(fun)  # noqa: E731
    jit, jax.jit = jax.jit, fake
    try:
        traces(lambda x: x, [], keep_unused=True, inline=True)
    finally:
        jax.jit = jit
    assert seen == [{"keep_unused": True, "inline": True}], "all options are handed to jit"


def test_arguments_by_name_are_handed_on():
    calls = [((X,), {"times": n, "rate": 0.1 * n, "edge": "wrap"}) for n in (1, 2, 1)]
    assert traces(blurred, calls, static_argnames=("times", "edge")) == 2


def test_no_calls_are_no_trace_and_each_count_begins_anew():
    calls = [((X,), {}), ((X[:2],), {})]
    assert [traces(power, of) for of in ([], calls, calls[:1], calls)] == [0, 2, 1, 2]


def test_calls_are_left_as_they_are_and_may_be_of_any_arguments():
    calls = [((X,), {"n": 1}), ((), {"x": X, "n": 2}), (({"a": X},), {"n": 2}), ((X,), {"n": 1})]
    with unchanged(calls=calls):
        assert traces(lambda x, n: x, calls, static_argnames="n") == 3
        assert traces(lambda x, n: x, calls) == 3
    assert traces(lambda *args, **kwargs: 0.0, calls * 2, static_argnames=("n",)) == 3
    alike = [Named(), Named()]
    of_alike = [((X, one), {}) for one in (*alike, alike[0])]
    assert traces(lambda x, n: x, of_alike, static_argnums=1) == 2, "two of one text are two"
    many = [((np.ones(n, np.float32),), {}) for n in range(30)]
    assert traces(lambda x: x, many * 2) == 30, "each of many calls counts"


def test_an_error_of_the_function_goes_on():
    with error_passes(Thrown()) as error:
        traces(raises(error), [((X,), {}), ((X,), {})])


def test_a_function_that_is_counted_twice_is_counted_anew_each_time():
    calls = [((1.0,), {}), ((np.ones(2),), {})]
    assert [traces(f, calls) for f in (np.shape, np.shape, np.ndim)] == [2, 2, 2]


def test_of_any_calls_as_many_are_traced_as_there_are_kinds():
    for draw in draws(15, 8):
        names = draw.choice([(), ("n",), ("n", "edge")])
        shapes = [draw.shape(2) for _ in range(2)]
        calls, kinds = [], set()
        for _ in range(draw.randint(0, 3 * draw.size)):
            x = np.ones(draw.choice(shapes), draw.choice([np.float32, np.float16]))
            x = draw.choice([x, 2.0, 3]) if x.ndim == 0 else x
            n = draw.choice([1, 2, True, 0]) if "n" in names else draw.choice([1.0, 2.0])
            edge = draw.choice(["", "zero", None]) if "edge" in names else np.float32(draw.random())
            calls.append(((x,), {"n": n, "edge": edge}))
            kind = type(x) if isinstance(x, float | int) else (x.shape, x.dtype)
            statics = [(type(v), v) for name, v in [("n", n), ("edge", edge)] if name in names]
            kinds.add((kind, *statics))
        found = traces(lambda x, n, edge: x, calls, static_argnames=names)
        about = f"of {calls}, where {names} are static"
        assert found == len(kinds), f"{about}: expected {len(kinds)} traces, found {found}"


def test_of_any_experiment_blurred_is_traced_for_each_times_and_edge(runs):
    expected = []
    for draw in draws(8):
        fast = compiled()
        for _ in range(2 * draw.size):
            times, edge = draw.randint(0, 2), draw.choice(["zero", "wrap"])
            fast.trace(X, times, draw.random(), edge)
            if (times, edge) not in expected:
                expected.append((times, edge))
        assert runs == expected, f"expected a trace for each of {expected}, found {runs}"
