"""The description of jax.numpy for libraries that are written for any array package.

`x.__array_namespace__().__array_namespace_info__()` has its dtypes, devices and capabilities.

Source: https://data-apis.org/array-api/2024.12/API_specification/inspection.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core.config import config
from tinyjax.numpy.dtype_tools import isdtype
from tinyjax.runtime.devices import devices

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
_WITHOUT_X64 = "bool int8 int16 int32 uint8 uint16 uint32 float32 complex64"
_WITH_X64 = f"{_WITHOUT_X64} int64 uint64 float64 complex128"


def check_version(api_version: str | None) -> None:
    """Raises ValueError for a version of the standard that jax.numpy does not follow."""
    if api_version not in (None, *VERSIONS):
        raise ValueError(
            f"api_version={api_version!r} is not available; available versions are: {VERSIONS}"
        )


class ArrayNamespaceInfo:
    """The standard's five inspection functions. All devices have all dtypes: `device` changes nothing."""

    def capabilities(self) -> dict[str, Any]:
        """The capabilities of arrays. Shapes never depend on values, as a jaxpr must know them."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """None: an array without an explicit device is computed where the other operands are."""
        return None

    def devices(self) -> list[Any]:
        """None, and all that jax.devices() lists."""
        return [None, *devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtype of new arrays for each of four kinds; of 64 bits with jax_enable_x64."""
        wide = config.jax_enable_x64
        names = "float64 complex128 int64 int64" if wide else "float32 complex64 int32 int32"
        kinds = ("real floating", "complex floating", "integral", "indexing")
        return dict(zip(kinds, map(np.dtype, names.split()), strict=True))

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype]:
        """The available dtypes of the standard, by name: all, or those of one or several kinds ("bool",
        "integral", "signed integer", "unsigned integer", "real floating", "complex floating", "numeric").

        Raises ValueError for an unknown kind."""
        names = (_WITH_X64 if config.jax_enable_x64 else _WITHOUT_X64).split()
        found = {name: np.dtype(name) for name in names}
        return {n: d for n, d in found.items() if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """Which dtypes, devices and capabilities jax.numpy has; like the array API's function of this name."""
    return ArrayNamespaceInfo()
