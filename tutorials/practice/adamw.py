"""AdamW: Adam, whose weights become a little smaller at each step.

Adam divides what it is given by its size. If the decay were a part of the gradient, it would take as much
from a weight whose gradients are large as from any other, or nearly nothing.

Source: Loshchilov, Hutter, "Decoupled weight decay regularization" (2019), algorithm 2
"""

from __future__ import annotations

from typing import Any

from tinyjax.example_libraries.optimizers import Optimizer, Schedule, adam, make_schedule, optimizer


@optimizer
def adamw(step_size: float | Schedule, decay: float) -> Optimizer:
    """Adam, but a step i also takes `step_size(i) * decay * x` from the weights x that it begins with.

    Weights are arrays of two axes or more: others, such as biases, do not decay. `decay` may be traced. The
    state is that of Adam (x, m, v), whose means know nothing of the decay. `adam.__wrapped__(step_size)` is
    Adam for one array: `init`, `update` and `get_params`, of which this changes the second."""
    step_size = make_schedule(step_size)
    init, update, get_params = adam.__wrapped__(step_size)  # type: ignore[attr-defined]

    def update_and_decay(i: Any, g: Any, state: Any) -> Any:
        x = get_params(state)
        new_x, m, v = update(i, g, state)
        return (new_x - step_size(i) * decay * x if x.ndim >= 2 else new_x), m, v

    return Optimizer(init, update_and_decay, get_params)
