"""A cost model for a step on many machines, whose network is two numbers.

A message takes `latency` seconds, plus a second for each `bandwidth` bytes. A collective is some rounds of
messages, by the best known algorithm, without computing meanwhile: devices that compute and send at the same
time are faster. Processes that share a core also wait for their turns: use the network that two processes on
one core measure.

    network = Network(latency=5e-6, bandwidth=12.5e9)
    step_seconds(0.1, traffic_of(jaxpr).exchanges, network)   # 0.1: what computing takes, measured on one

Source: Hockney, "The communication challenge for MPP", 1994; Thakur, Rabenseifner, Gropp, "Optimization of
collective communication operations in MPICH", 2005.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from tinyjax.many_devices.sharding.traffic import Exchange


class Network(NamedTuple):
    """The seconds of the shortest message, and the bytes per second that one machine sends."""

    latency: float
    bandwidth: float


def exchange_seconds(exchange: Exchange, network: Network) -> float:
    """The total time of a collective once all machines have arrived."""
    seconds = min(
        rounds * network.latency + sent / network.bandwidth for rounds, sent in _ways(exchange)
    )
    return seconds * exchange.times


def _ways(exchange: Exchange) -> list[tuple[int, float]]:
    """The algorithms of a collective: the number of rounds, and the bytes that a machine sends in all of
    them."""
    n, size = exchange.size, exchange.operand
    doublings = math.ceil(math.log2(n))
    if exchange.kind in ("psum", "psum_invariant", "pmax", "pmin"):
        # Everything to a partner, then to one twice as far away; or halves, until each has its part of the
        # sum, and back (Rabenseifner).
        return [(doublings, doublings * size), (2 * doublings, exchange.sent)]
    if exchange.kind in ("all_gather", "all_gather_invariant", "reduce_scatter"):
        return [(doublings, exchange.sent)]
    if exchange.kind == "all_to_all":  # separate parts for each; or larger ones that are passed on
        return [(n - 1, exchange.sent), (doublings, doublings * size / 2)]
    return [(1, size)] if exchange.kind == "ppermute" else [(doublings, doublings * size)]


def together(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Combine consecutive sums into one, as tinyjax's processes do, such as the gradients of all layers
    (many_devices/processes/meetings.py). Assumes that nothing reads one before the next."""
    found: list[Exchange] = []
    for exchange in exchanges:
        last = found[-1] if found else None
        if (
            last is not None
            and last.kind == exchange.kind
            and "psum" in last.kind
            and (last.names, last.times) == (exchange.names, exchange.times)
        ):
            found[-1] = replace(last, operand=last.operand + exchange.operand)
        else:
            found.append(exchange)
    return found


def step_seconds(compute: float, exchanges: Iterable[Exchange], network: Network) -> float:
    """The time of a step in which each machine computes for `compute` seconds."""
    return compute + sum(exchange_seconds(exchange, network) for exchange in together(exchanges))
