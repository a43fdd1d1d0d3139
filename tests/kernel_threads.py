"""For tests: which thread runs kernels."""

from __future__ import annotations

import importlib
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tinyjax.compile.launches import launches_of


def launch_all(monkeypatch: pytest.MonkeyPatch, inline: bool) -> None:
    """From now on each kernel is launched by itself: in the calling thread, or by the device's threads."""

    def launches(plain: Any, plan: Any, device: Any) -> list:
        can = device.inline_device is not None
        return [replace(launch, inline=inline and can) for launch in plain(plan, device)]

    with suppress(ImportError):  # before it plugs itself in, and replaces this
        importlib.import_module("tinyjax.fast.launch_fusion")
    monkeypatch.setattr(launches_of, "shortcut", launches)
