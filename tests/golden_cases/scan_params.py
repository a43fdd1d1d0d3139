"""What is left out of the jaxprs that JAX prints: a scan's `ft_in` and `ft_out`.

Since 0.11 they say which operands are constants, carry and xs, as trees of Nones. Recorded are the numbers
that they stand for, `num_consts` and `num_carry`, which is what tinyjax prints.
"""

import importlib


def print_as_numbers() -> None:
    """From now on this process prints JAX's scans so."""
    core = importlib.import_module("jax._src.core")
    loops = importlib.import_module("jax._src.lax.control_flow.loops")

    def print_scan(eqn, context, settings):
        params = dict(eqn.params)
        consts, carry, _ = params.pop("ft_in").unpack()
        params |= {"num_consts": len(consts), "num_carry": len(carry)}
        del params["ft_out"]
        return core._pp_eqn(eqn.replace(params=params), context, settings)

    core.pp_eqn_rules[loops.scan_p] = print_scan
