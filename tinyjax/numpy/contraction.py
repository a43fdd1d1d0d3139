"""jnp.einsum: products and sums named by letters.

"bij,bjk->bik" as a dot_general: letters in both operands and the result are batch dimensions, letters in both
but not in the result are contracted, letters in one alone are summed first. Three or more operands are
contracted two at a time.
"""

from __future__ import annotations

import collections
import functools
import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax.core import type_promotion
from tinyjax.core.array import Array
from tinyjax.core.primitives import shape_of
from tinyjax.lax.placing import place_params, with_place
from tinyjax.numpy.contraction_order import contraction_path
from tinyjax.numpy.util import constant, convert, ensure_arraylike, user_dtype


def einsum(
    subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = "auto",
    precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None,
    _dot_general: Callable = lax.dot_general,
) -> Array:  # fmt: skip
    """The contraction that `subscripts` specifies, such as "ij,jk->ik"; as numpy.einsum.

    Letters name axes, '...' stands for broadcast ones, without '->' the letters that occur once come
    out in alphabetical order. The form einsum(a, [0, 1], b, [1, 2], [0, 2]) works too. `optimize` picks
    the order of contraction: False is from left to right, a list of pairs is taken as it is.
    `out_sharding` says how the result is split over devices.
    `_dot_general` is a library's replacement for lax.dot_general. Raises ValueError for subscripts that
    do not fit the operands."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.einsum is not supported.")
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists(subscripts, *operands)
    ensure_arraylike("einsum", *operands)
    arrays = [ensure_arraylike("einsum", x) for x in operands]
    if out_sharding is not None and len(arrays) != 2:
        options = {"precision": precision, "preferred_element_type": preferred_element_type}
        options |= {"optimize": optimize, "_dot_general": _dot_general}
        whole = functools.partial(einsum, subscripts, **options)
        return with_place(whole, out_sharding, "einsum")(*arrays)
    inputs, output = parse_subscripts(subscripts, [x.shape for x in arrays])
    if preferred_element_type is not None:
        dtype, weak_type = user_dtype(preferred_element_type, "einsum"), False
    else:
        dtype, weak_type = type_promotion.result_type(*arrays, return_weak_type_flag=True)
    if len(arrays) == 1:
        result = _reduce_one(arrays[0], inputs[0], output, dtype)
    else:
        path = contraction_path(inputs, output, [x.shape for x in arrays], optimize)
        options = {"precision": precision, "preferred_element_type": dtype}
        dot: Any = functools.partial(_dot_general, **options)
        if out_sharding is not None:
            dot = _Placed(dot, output, out_sharding)
        result = _contract_all(arrays, inputs, output, path, dot, dtype)
    return convert(result, dtype, weak_type)


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[list, str]:
    """The order in which einsum contracts: a list of operand positions, and a text about it."""
    inputs, output = parse_subscripts(subscripts, [shape_of(x) for x in operands])
    path = contraction_path(inputs, output, [shape_of(x) for x in operands], optimize)
    return path, f"{','.join(inputs)}->{output} by {path}"


class _Placed(NamedTuple):
    """dot_general of two operands, whose result is split by the letters of `output`."""

    dot: Callable
    output: str
    out_sharding: Any

    def in_order(self, names: str) -> Callable:
        """The product with its axes in the order of these letters."""
        (place,) = place_params("dot_general", self.out_sharding, "einsum").values()
        place = place.with_axes([self.output.index(c) for c in names])
        return functools.partial(self.dot, out_sharding=place)


# ---- reading the subscripts ----


def parse_subscripts(subscripts: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """The letters of each operand's axes and of the result's, '...' replaced by capitals.

    Raises ValueError where letters and shapes do not fit."""
    text = subscripts.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(shapes):
        raise ValueError(
            f"einsum subscripts {subscripts!r} name {len(inputs)} operands, but {len(shapes)} were given"
        )
    allowed = string.ascii_letters + ".,->"
    if any(c not in allowed for c in text) or text.replace("...", "").count("."):
        raise ValueError(f"einsum subscripts {subscripts!r} hold characters that are no letters")
    spare = [c for c in string.ascii_letters[::-1] if c not in text]
    ranks = [len(s) - len(i.replace("...", "")) for i, s in zip(inputs, shapes) if "..." in i]
    dots = "".join(spare[: max(ranks, default=0)])
    for position, (letters, shape) in enumerate(zip(inputs, shapes)):
        count = len(shape) - len(letters.replace("...", ""))
        if count < 0 or (count > 0 and "..." not in letters):
            raise ValueError(
                f"einsum operand {position} has shape {shape}, which does not fit its subscripts "
                f"{letters!r}"
            )
        inputs[position] = letters.replace("...", dots[len(dots) - count :])
    if not arrow:
        counts = collections.Counter("".join(inputs))
        output = dots + "".join(sorted(c for c in counts if counts[c] == 1 and c not in dots))
    output = output.replace("...", dots)
    _check_sizes(subscripts, inputs, output, shapes)
    return inputs, output


def _check_sizes(
    subscripts: str, inputs: Sequence[str], output: str, shapes: Sequence[tuple[int, ...]]
) -> None:
    sizes: dict[str, int] = {}
    for letters, shape in zip(inputs, shapes):
        for letter, size in zip(letters, shape):
            if size != 1 and sizes.setdefault(letter, size) != size:
                raise ValueError(
                    f"einsum subscripts {subscripts!r}: size of label '{letter}' is {sizes[letter]} in "
                    f"one operand and {size} in another"
                )
    for letter in output:
        if letter not in "".join(inputs) or output.count(letter) > 1:
            raise ValueError(
                f"einsum subscripts {subscripts!r}: output label '{letter}' must occur once in the "
                "output, and in an input"
            )


def _from_lists(*args: Any) -> tuple[str, tuple[Any, ...]]:
    """einsum(a, [0, 1], b, [1, 2], [0, 2]) as subscripts and operands."""
    operands, lists = args[: len(args) // 2 * 2 : 2], args[1::2]
    output = args[-1] if len(args) % 2 else None
    letter = lambda i: "..." if i is Ellipsis else string.ascii_letters[i]  # noqa: E731
    text = ",".join("".join(letter(i) for i in item) for item in lists)
    if output is not None:
        text += "->" + "".join(letter(i) for i in output)
    return text, operands


# ---- contracting ----


def _contract_all(
    operands: list[Any],
    inputs: list[str],
    output: str,
    path: Sequence[tuple[int, ...]],
    dot: Callable,
    dtype: np.dtype,
) -> Any:
    operands, inputs = list(operands), list(inputs)
    for step, positions in enumerate(path):
        order = sorted(positions, reverse=True)
        arrays = [operands.pop(i) for i in order]
        names = [inputs.pop(i) for i in order]
        if step == len(path) - 1:
            kept = output
        else:
            rest = "".join(inputs) + output
            together = "".join(names)
            kept = "".join(sorted(set(together) & set(rest), key=together.find))
        if len(arrays) == 1:
            operands.append(_reduce_one(arrays[0], names[0], kept, dtype))
        elif len(arrays) == 2:
            lhs, rhs = arrays
            lhs_names, rhs_names = names
            out = _contract_pair(lhs, rhs, lhs_names, rhs_names, kept, dot, dtype)
            operands.append(out)
        else:
            raise NotImplementedError(
                "jax.numpy.einsum does not support simultaneous contraction of 3 or more operands: "
                "give `optimize` pairs of positions"
            )
        inputs.append(kept)
    return operands[0]


def _reduce_one(x: Any, names: str, kept: str, dtype: np.dtype) -> Any:
    """One operand: dropped letters are summed, letters that occur twice take the diagonal."""
    counts = collections.Counter(names)
    gone = sorted(c for c in counts if counts[c] == 1 and c not in kept)
    x, names = _sum_letters(x, names, gone, dtype)
    x, names = _take_diagonals(x, names, counts, kept, dtype)
    return _in_order(x, names, kept)


def _contract_pair(
    lhs: Any, rhs: Any, lhs_names: str, rhs_names: str, kept: str, dot: Callable, dtype: np.dtype
) -> Any:
    contracted = sorted((set(lhs_names) | set(rhs_names)) - set(kept))
    lhs, lhs_names = _squeeze_broadcast(lhs, lhs_names, rhs.shape, rhs_names)
    rhs, rhs_names = _squeeze_broadcast(rhs, rhs_names, lhs.shape, lhs_names)
    lhs_counts, rhs_counts = collections.Counter(lhs_names), collections.Counter(rhs_names)
    lhs_alone = [c for c in contracted if lhs_counts[c] == 1 and not rhs_counts[c]]
    lhs, lhs_names = _sum_letters(lhs, lhs_names, lhs_alone, dtype)
    rhs_alone = [c for c in contracted if rhs_counts[c] == 1 and not lhs_counts[c]]
    rhs, rhs_names = _sum_letters(rhs, rhs_names, rhs_alone, dtype)
    lhs, lhs_names = _take_diagonals(lhs, lhs_names, lhs_counts, kept + rhs_names, dtype)
    rhs, rhs_names = _take_diagonals(rhs, rhs_names, rhs_counts, kept + lhs_names, dtype)

    both = set(lhs_names) & set(rhs_names)
    batch = [c for c in kept if c in both]
    contracted = [c for c in contracted if c in set(lhs_names) | set(rhs_names)]
    numbers = [
        (tuple(names.index(c) for c in contracted), tuple(names.index(c) for c in batch))
        for names in (lhs_names, rhs_names)
    ]
    (lhs_contract, lhs_batch), (rhs_contract, rhs_batch) = numbers
    removed = "".join(batch + contracted)
    lhs_rest = "".join(c for c in lhs_names if c not in removed)
    rhs_rest = "".join(c for c in rhs_names if c not in removed)
    # With the operands swapped the axes may come out in order, which saves a transpose.
    swapped = "".join(batch) + rhs_rest + lhs_rest
    straight = "".join(batch) + lhs_rest + rhs_rest
    if isinstance(dot, _Placed):
        dot = dot.in_order(kept if swapped == kept else straight)
    if swapped == kept:
        return dot(rhs, lhs, ((rhs_contract, lhs_contract), (rhs_batch, lhs_batch)))
    out = dot(lhs, rhs, ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)))
    return _in_order(out, straight, kept)


def _squeeze_broadcast(
    x: Any, names: str, other_shape: tuple[int, ...], other_names: str
) -> tuple[Any, str]:
    """Removes axes of size 1 that are larger in the other operand."""
    sizes = dict(zip(other_names, other_shape))
    gone = tuple(i for i, c in enumerate(names) if x.shape[i] == 1 and sizes.get(c, 1) != 1)
    if not gone:
        return x, names
    return lax.squeeze(x, gone), "".join(c for i, c in enumerate(names) if i not in gone)


def _sum_letters(x: Any, names: str, letters: Sequence[str], dtype: np.dtype) -> tuple[Any, str]:
    if not letters:
        return x, names
    x = _sum(x, [names.index(c) for c in letters], dtype)
    return x, "".join(c for c in names if c not in letters)


def _sum(x: Any, axes: Sequence[int], dtype: np.dtype) -> Any:
    if type_promotion.result_type(x, dtype) != x.dtype:
        x = convert(x, dtype)
    return lax.reduce_or(x, axes) if x.dtype == np.bool_ else lax.reduce_sum(x, axes)


def _take_diagonals(
    x: Any, names: str, counts: collections.Counter, kept: str, dtype: np.dtype
) -> tuple[Any, str]:
    """For a letter that occurs more than once: sets all but the diagonal to zero, then sums."""
    for letter, count in counts.items():
        if count < 2:
            continue
        axes = [i for i, c in enumerate(names) if c == letter]
        shape = tuple(x.shape[i] for i in axes)
        iotas = [lax.broadcasted_iota(np.dtype("uint32"), shape, i) for i in range(count)]
        equal = [lax.eq(i, j) for i, j in zip(iotas, iotas[1:])]
        mask = functools.reduce(lax.bitwise_and, equal)
        if len(axes) < x.ndim:
            mask = lax.broadcast_in_dim(mask, x.shape, tuple(axes))
        zeros = lax.broadcast_in_dim(constant(0, x.dtype), x.shape, ())
        x = lax.select(mask, x, zeros)
        if letter in kept:
            x = _sum(x, axes[:-1], dtype)
            names = names.replace(letter, "", count - 1)
        else:
            x = _sum(x, axes, dtype)
            names = names.replace(letter, "")
    return x, names


def _in_order(x: Any, names: str, wanted: str) -> Any:
    if names == wanted:
        return x
    return lax.transpose(x, tuple(names.index(c) for c in wanted))
