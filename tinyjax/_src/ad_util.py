"""A primitive of JAX's that libraries register rules for: lineax (https://docs.kidger.site/lineax)."""

from tinyjax.transform.custom.forward_rules import stop_gradient_p as stop_gradient_p
