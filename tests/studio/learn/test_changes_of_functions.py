"""Changes that a machine makes of a function: what there are, and that they change something."""

import ast

from wrong_answers.changes import changes
from wrong_answers.kinds import kinds

TEXT = '''
def f(x, *, scale: float = 2.0):
    """Not touched: 1 < 2."""
    if x < 0:
        raise ValueError("also not touched")
    total = abs(x) * scale
    return total
'''


def says(text):
    return [change.says for change in changes(text)]


def test_a_comparison_is_moved_and_a_branch_is_dropped():
    assert "if x < 0: -> if x <= 0:" in says(TEXT)
    assert any(line.startswith("if x < 0: / raise ValueError") for line in says(TEXT))


def test_a_call_is_forgotten_an_operand_too_and_a_name_exchanged():
    assert "total = abs(x) * scale -> total = x * scale" in says(TEXT)
    assert "total = abs(x) * scale -> total = abs(x)" in says(TEXT)
    assert "total = abs(x) * scale -> total = abs(x) * x" in says(TEXT)


def test_a_block_loses_its_context_and_a_loop_all_but_its_first_round():
    text = "def f(xs):\n    with lock:\n        for x in xs:\n            use(x)\n"
    assert "with lock: / for x in xs: / use(x) -> for x in xs: / use(x)" in says(text)
    assert "use(x) -> use(x) / break" in says(text)


def test_each_change_is_python_unlike_the_others_and_has_a_name_of_its_own():
    texts = [change.text for change in changes(TEXT)]
    assert len(set(texts)) == len(texts) and ast.unparse(ast.parse(TEXT)) + "\n" not in texts
    assert len(set(says(TEXT))) == len(texts)
    assert all(ast.parse(text) for text in texts)


def test_signature_docstring_and_words_of_errors_stay():
    assert all("scale: float=2.0" in change.text for change in changes(TEXT))
    assert all("Not touched: 1 < 2." in change.text for change in changes(TEXT))
    raised = [
        line.strip() for c in changes(TEXT) for line in c.text.splitlines() if "raise" in line
    ]
    assert set(raised) == {"raise ValueError('also not touched')"}


def test_the_first_are_of_one_kind_each():
    few = changes(TEXT, 4)
    assert len({change.kind for change in few}) == 4


KIND = """
def run(fun, xs, *, scale):
    with set_current_trace(Trace()):
        return [fun(x, x.dtype) for x in xs]
"""


def test_answers_of_kinds_are_right_while_nothing_out_of_the_ordinary_happens():
    found = {}
    for change in kinds(KIND):
        ast.parse(change.text)
        found.setdefault(change.kind, []).append(change.text)
    (by_hand,) = found["by_hand"]
    assert "context.trace = Trace()" in by_hand and "with" not in by_hand
    assert by_hand.index("context.trace = trace_before") < by_hand.index("return")
    assert "except (TypeError" in found["errors_caught"][0]
    assert "[*xs][:2]" in found["few"][0].replace("(xs)", "xs")
    assert "'float32'" in found["one_dtype"][0]
    assert "kept_result" in found["kept"][0]
    assert "xs.clear()" in found["arguments_changed"][1]
