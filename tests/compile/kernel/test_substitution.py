from loop_nests import doubled, row_sums

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.kernel.substitution import defined_names, every_statement, substituted


def lines(body):
    return str(Kernel("k0", [], 1, body)).splitlines()[1:]


def test_indices_simplify_themselves_by_the_new_ranges():
    (loop,) = row_sums(4, 10).body
    (_, inner, *_) = substituted(loop.body, {"i1": index(0)})
    assert lines(inner.body)[0] == "  a:f32 = x_in[i2]"


def test_values_arrays_and_axes_get_new_names():
    (loop,) = substituted(row_sums(4, 10).body, {}, {"a": "a2", "acc1": "acc2", "i2": "j"})
    assert "a2:f32 = x_in[i1 * 10 + j]" in "\n".join(lines([loop]))
    assert list(defined_names([loop])) == ["acc2", "a2", "b", "c"]


def test_a_variable_stands_for_another_index_everywhere():
    (loop,) = doubled(8).body
    j = index_var("j", 0, 3)
    body = substituted(loop.body, {"i1": j * 2 + 1})
    assert lines(body)[0] == "  a:f32 = x_in[j * 2 + 1]"
    assert all(new.origin is old.origin for new, old in zip(body, every_statement(loop.body)))
