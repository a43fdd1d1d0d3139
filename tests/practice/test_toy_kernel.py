import numpy as np
import pytest
from drawn import draws
from practice.toy_kernel import Add, For, Let, Load, Store, c_lines, run

WAVE = For(
    "i", 0, 100, [Load("a", "a_in", "i"), Let("b", "sin", ("a",)), Let("c", "mul", ("b", "a"))]
)


def test_the_statements_run():
    memory = {"a_in": np.arange(4.0), "sum": np.ones(1), "out": np.zeros(4)}
    inside = [Load("a", "a_in", "i"), Let("b", "add", ("a", "a")), Add("sum", 0, "b")]
    count = run([Store("sum", 0, 0.5), For("i", 0, 4, [*inside, Store("out", "i", "b")])], memory)
    assert memory["sum"] == 12.5 and count == 17
    np.testing.assert_array_equal(memory["out"], [0, 2, 4, 6])


def test_a_wide_statement_takes_neighbours():
    memory = {"a_in": np.arange(6.0), "out": np.zeros(6)}
    run([Load("a", "a_in", 2, 4), Store("out", 1, "a", 4)], memory)
    np.testing.assert_array_equal(memory["out"], [0, 2, 3, 4, 5, 0])


# ---- as C ----


@pytest.mark.parametrize(
    "statement, line",
    [
        (Load("a", "a_in", "i"), "const float a = a_in[i];"),
        (Load("k", "table", 3), "const float k = table[3];"),
        (Let("c", "mul", ("b", "a")), "const float c = b * a;"),
        (Let("c", "sub", ("b", "a")), "const float c = b - a;"),
        (Let("c", "div", ("a", "b")), "const float c = a / b;"),
        (Let("b", "sin", ("a",)), "const float b = sin(a);"),
        (Let("c", "maximum", ("a", "b")), "const float c = maximum(a, b);"),
        (Let("d", "clip", ("a", "b", "c")), "const float d = clip(a, b, c);"),
        (Store("c_out", "i", "c"), "c_out[i] = c;"),
        (Store("sum", 0, 0.0), "sum[0] = 0.0;"),
        (Add("sum", 0, "c"), "sum[0] += c;"),
    ],
)
def test_a_statement_is_a_line(statement, line):
    assert c_lines([statement]) == [line]


def test_a_loop_is_cs_own_with_what_is_inside_indented():
    assert c_lines([WAVE, Store("c_out", 0, "c")]) == [
        "for (int i = 0; i < 100; ++i) {",
        "  const float a = a_in[i];",
        "  const float b = sin(a);",
        "  const float c = b * a;",
        "}",
        "c_out[0] = c;",
    ]


def test_a_loop_may_begin_elsewhere_and_take_longer_steps():
    loop = For("k", 8, 96, [Store("out", "k", 1.0)], step=4)
    assert c_lines([loop])[0] == "for (int k = 8; k < 96; k += 4) {"
    for step in (2, 3):
        assert c_lines([For("i", 0, 9, [], step=step)]) == [
            f"for (int i = 0; i < 9; i += {step}) {{",
            "}",
        ], "also a loop of nothing is printed"


def test_a_loop_in_a_loop_is_indented_further():
    inner = For("j", 0, 3, [Add("sum", "i", "a")])
    assert c_lines([For("i", 0, 2, [inner])]) == [
        "for (int i = 0; i < 2; ++i) {",
        "  for (int j = 0; j < 3; ++j) {",
        "    sum[i] += a;",
        "  }",
        "}",
    ]
    assert c_lines([Let("b", "mul", ("a", "a"))]) == ["const float b = a * a;"]


OPERATIONS = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}"}
OPERATIONS |= {"sin": "sin({})", "maximum": "maximum({}, {})", "clip": "clip({}, {}, {})"}
OPERATIONS |= {name: name + "({}, {})" for name in ("subtract", "multiply", "divide", "div_no_nan")}


def drawn_statement(draw, depth, number):
    """A statement and its lines."""
    at, name = draw.choice(["i", "j", 0, 7]), f"v{number}"
    kind = draw.choice(["load", "let", "store", "add", *(["for"] * 3 if depth else [])])
    if kind == "load":
        return Load(name, "a_in", at), [f"const float {name} = a_in[{at}];"]
    if kind == "let":
        op, text = draw.choice(list(OPERATIONS.items()))
        args = tuple(draw.choice("abc") for _ in range(text.count("{}")))
        return Let(name, op, args), [f"const float {name} = {text.format(*args)};"]
    if kind == "store":
        value = draw.choice(["c", 0.0, 1.5])
        return Store("c_out", at, value), [f"c_out[{at}] = {value};"]
    if kind == "add":
        return Add("c_out", at, "c"), [f"c_out[{at}] += c;"]
    pairs = [drawn_statement(draw, depth - 1, 10 * number + k) for k in range(draw.randint(0, 3))]
    start, stop, step = draw.randint(0, 9), draw.randint(0, 99), draw.choice([1, 1, 2, 3, 4, 16])
    loop = For(name, start, stop, [s for s, _ in pairs], step)
    by = f"++{name}" if step == 1 else f"{name} += {step}"
    head = f"for (int {name} = {start}; {name} < {stop}; {by}) {{"
    return loop, [head, *["  " + line for _, lines in pairs for line in lines], "}"]


def test_of_any_nest_each_statement_is_its_line_and_loops_are_indented():
    for draw in draws(60):
        pairs = [drawn_statement(draw, min(4, draw.size), k) for k in range(draw.randint(0, 4))]
        expected = [line for _, lines in pairs for line in lines]
        found = c_lines([s for s, _ in pairs])
        text = "\n".join(expected)
        for line, want in zip(found, expected):
            assert line == want, f"expected\n{text}\n\nfound {line!r} in place of {want!r}"
        assert list(found) == expected, f"expected\n{text}\n\nfound {found}"
