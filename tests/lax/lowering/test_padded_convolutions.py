"""Convolutions without a border: what is read outside of an image is made before."""

import numpy as np
import pytest
from lowering import aval

from tinyjax import lax
from tinyjax.compile.passes.expand import expand
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.tracing import make_jaxpr


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


@pytest.mark.parametrize("features, groups", [(4, 1), (1, 1), (3, 3)])
def test_padding_becomes_a_pad_of_the_same_bits(features, groups):
    def f(x, w):
        return lax.conv_general_dilated(
            x, w, (1, 1), [(1, -1), (2, 0)], rhs_dilation=(1, 2), feature_group_count=groups
        )

    before = make_jaxpr(f)(aval(2, 3, 5, 6), aval(features, 3 // groups, 2, 2))
    after = expand(before)
    assert names(after) == ["pad", "conv_general_dilated"]
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(v.aval.shape).astype(np.float32) for v in before.jaxpr.invars]
    (expected,), (found,) = (eval_jaxpr(c.jaxpr, c.consts, *args) for c in (before, after))
    np.testing.assert_array_equal(found, expected)


def test_images_with_holes_are_convolved_without_for_each_phase():
    def f(x, w):
        return lax.conv_transpose(x, w, (2,), "VALID", dimension_numbers=("NCH", "OIH", "NCH"))

    closed = expand(make_jaxpr(f)(aval(2, 3, 5), aval(4, 3, 4)))
    convolutions = [eqn for eqn in closed.eqns if eqn.primitive is lax.conv_general_dilated_p]
    assert [eqn.invars[1].aval.shape for eqn in convolutions] == [(4, 3, 2)] * 2
    assert all(eqn.params["lhs_dilation"] == (1,) for eqn in convolutions)


def test_images_with_so_many_holes_that_there_were_many_phases_are_padded():
    def f(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), [(1, 2), (-1, 0)], lhs_dilation=(32, 8))

    before = make_jaxpr(f)(aval(2, 3, 5, 6), aval(4, 3, 40, 9))
    after = expand(before)
    assert names(after) == ["pad", "conv_general_dilated"]
    x, w = (np.ones(v.aval.shape, np.float32) for v in before.jaxpr.invars)
    (found,) = eval_jaxpr(after.jaxpr, after.consts, x, w)
    np.testing.assert_array_equal(found, f(x, w))


def test_what_is_cut_off_whole_is_no_array():
    f = lambda x, w: lax.conv_general_dilated(x, w, (1,), [(-1, -1)])  # noqa: E731
    closed = make_jaxpr(f)(aval(2, 3, 1), aval(4, 3, 2))
    assert expand(closed) is closed


def test_without_a_border_nothing_changes():
    closed = make_jaxpr(lambda x, w: lax.conv(x, w, (2,), "VALID"))(aval(2, 3, 9), aval(4, 3, 2))
    assert expand(closed) is closed


@pytest.mark.parametrize("features, is_padded", [(3, False), (1, True)])
def test_images_whose_features_lie_between_neighbours_are_not_padded_for_one_feature(
    features, is_padded
):
    f = lambda x, w: lax.conv_general_dilated(  # noqa: E731
        x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
    )
    closed = make_jaxpr(f)(aval(2, 9, features), aval(3, features, 1))
    assert ("pad" in names(expand(closed))) == is_padded


def test_images_that_two_convolutions_read_are_padded_once():
    def f(x, v, w):
        return lax.conv(x, v, (1,), "SAME"), lax.conv(x, w, (1,), "SAME")

    closed = simplify(make_jaxpr(f)(aval(2, 3, 9), aval(4, 3, 3), aval(4, 3, 3)))
    assert names(closed).count("pad") == 1
