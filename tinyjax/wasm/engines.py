"""Engines that run WebAssembly: the browser that Python itself runs in, or wasmtime.

In Pyodide, Python and NumPy are WebAssembly: a kernel's module imports their memory and finds each NumPy
array at its address there, without a copy. Outside a browser the same modules run in wasmtime, which has
its own memory: arrays are copied in and out, which is slow but serves tests.

Source: the WebAssembly JavaScript Interface, https://webassembly.github.io/spec/js-api/; Pyodide's
type translations, https://pyodide.org/en/stable/usage/type-conversions.html
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import math
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.runtime.devices import IN_BROWSER
from tinyjax.wasm.module import Function, Module
from tinyjax.wasm.webassembly import webassembly

# ---- what an engine is ----


class PlacedArray:
    """A NumPy array that kernels work on, and its address in the engine's memory, if it is there."""

    __slots__ = ("array", "address")

    def __init__(self, array: np.ndarray, address: int):
        self.array = array
        self.address = address


# All work-items of a kernel; None: no elements.
Run = Callable[[Sequence[PlacedArray | None]], None]


class Engine(Protocol):
    """Compiles kernels, which then run on arrays that have a place."""

    def place(self, array: np.ndarray) -> PlacedArray: ...

    def load(self, kernels: Sequence[Kernel]) -> list[Run]: ...


def is_here() -> bool:
    """Whether kernels can run as WebAssembly: in Pyodide, unless the browser is too old for vectors, and
    where wasmtime is installed."""
    return _browser_has_vectors() if IN_BROWSER else find_spec("wasmtime") is not None


@functools.cache
def engine() -> Engine:
    return Browser() if IN_BROWSER else Wasmtime()


# ---- functions of a float64, which are the host's ----

_NUMPY_NAMES = {n: f"arc{n[1:]}" for n in "asin acos atan atan2 asinh acosh atanh".split()}


def math_function(name: str) -> Callable[..., float]:
    """A function that a module imports from `Math`, such as Math.exp."""
    if hasattr(math, name) and not hasattr(np, _NUMPY_NAMES.get(name, name)):
        return getattr(math, name)
    function = getattr(np, _NUMPY_NAMES.get(name, name))

    @np.errstate(all="ignore")  # as kernels say nothing of the cosine of infinity
    def of_float64(*numbers: float) -> float:
        return float(function(*map(np.float64, numbers)))

    return of_float64


def _imported(module: Module) -> list[str]:
    return [f.name.removeprefix("Math.") for f in module.functions if f.is_imported]


# ---- a browser ----


def _browser_has_vectors() -> bool:
    import js  # type: ignore[import-not-found]
    from pyodide.ffi import to_js  # type: ignore[import-not-found]

    body = [("v128.const", "i32x4", 0, 0, 0, 0), ("local.set", "x")]
    smallest = Module([Function("f", [], locals=[("x", "v128")], body=body)])
    return bool(js.WebAssembly.validate(to_js(bytes(smallest))))


class Browser:
    """The engine that runs Python too. Nothing here needs JavaScript's eval, which pages may forbid."""

    def __init__(self) -> None:
        import js
        import pyodide_js  # type: ignore[import-not-found]
        from pyodide.ffi import create_proxy, to_js

        self.js, self.to_js, self.create_proxy = js, to_js, create_proxy
        self.memory = pyodide_js._module.memory

    def place(self, array: np.ndarray) -> PlacedArray:
        return PlacedArray(array, array.ctypes.data)

    def load(self, kernels: Sequence[Kernel]) -> list[Run]:
        module = webassembly(kernels)
        compiled = self.js.WebAssembly.Module.new(self.to_js(bytes(module)))
        functions = {name: self._function(name) for name in _imported(module)}
        imports = self._object({
            "env": self._object({"memory": self.memory}),
            "Math": self._object(functions),
        })  # fmt: skip
        exports = self.js.WebAssembly.Instance.new(compiled, imports).exports
        private = np.empty(module.numbers["private_bytes"], np.uint8)
        return [self._run(getattr(exports, k.name), private, k.items) for k in kernels]

    def _run(self, function: Any, private: np.ndarray, items: int) -> Run:
        at = private.ctypes.data

        def run(places: Sequence[PlacedArray | None]) -> None:
            addresses = [0 if place is None else place.address for place in places]
            function(*addresses, at, 0, items)

        run.private = private  # type: ignore[attr-defined]  # it lives as long as the kernel
        return run

    def _function(self, name: str) -> Any:
        """JavaScript's function; a replacement for missing ones, and for pow, whose 1 ** nan is nan."""
        own = None if name == "pow" else getattr(self.js.Math, name, None)
        return self.create_proxy(math_function(name)) if own is None else own

    def _object(self, things: dict[str, Any]) -> Any:
        return self.js.Object.fromEntries(self.to_js(list(things.items())))


# ---- wasmtime ----

PAGE = 2**16
ALIGNMENT = 16


class Wasmtime:
    """Copies the arrays of a launch into its memory, and back what the kernel wrote."""

    def __init__(self) -> None:
        import wasmtime

        self.wasmtime = wasmtime
        config = wasmtime.Config()
        config.memory_reservation = 2**26  # as it is, each memory takes 4 GiB of the address space
        self.engine = wasmtime.Engine(config)
        self.store = wasmtime.Store(self.engine)
        limits = wasmtime.Limits(1, None)
        self.memory = wasmtime.Memory(self.store, wasmtime.MemoryType(limits))
        self.lock = threading.RLock()
        atexit.register(self.close)

    def close(self) -> None:
        """Frees the store and the engine: at exit, wasmtime's own functions may be gone before they are."""
        self.store.close()
        self.engine.close()

    def place(self, array: np.ndarray) -> PlacedArray:
        return PlacedArray(array, 0)

    def load(self, kernels: Sequence[Kernel]) -> list[Run]:
        module = webassembly(kernels)
        with self.lock:
            linker = self.wasmtime.Linker(self.engine)
            linker.define(self.store, "env", "memory", self.memory)
            compiled = self.wasmtime.Module(self.engine, bytes(module))
            needed: Any
            for needed in compiled.imports:
                if needed.module == "Math":
                    linker.define_func("Math", needed.name, needed.type, math_function(needed.name))
            exports = linker.instantiate(self.store, compiled).exports(self.store)
        private = module.numbers["private_bytes"]
        return [self._run(exports[k.name], private, k) for k in kernels]

    def _run(self, function: Any, private: int, kernel: Kernel) -> Run:
        def run(places: Sequence[PlacedArray | None]) -> None:
            with self.lock:
                arrays = [np.empty(0) if place is None else place.array for place in places]
                addresses, end = [], ALIGNMENT
                for array in arrays:
                    addresses.append(end)
                    end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
                memory = self.bytes(end + private)
                inside = [memory[at : at + a.nbytes] for at, a in zip(addresses, arrays)]
                for own, array in zip(inside, arrays):
                    own[:] = array.reshape(-1).view(np.uint8)
                function(self.store, *addresses, end, 0, kernel.items)
                for buffer, own, array in zip(kernel.buffers, inside, arrays):
                    if buffer.role != "in":
                        array.reshape(-1).view(np.uint8)[:] = own

        return run

    def bytes(self, size: int) -> np.ndarray:
        """The first bytes of its memory."""
        missing = size - self.memory.data_len(self.store)
        if missing > 0:
            self.memory.grow(self.store, -(-missing // PAGE))
        start = ctypes.cast(self.memory.data_ptr(self.store), ctypes.c_void_p).value or 0
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start))
