"""Refs: mutable arrays. `jax.ref` has their public names; using one imports this folder.

It registers at the hooks prepare_jaxpr (core/jaxpr.py), bind_bodies and check_values (core/bind.py).
"""

from tinyjax.refs import discharge as discharge
from tinyjax.refs import into_refs as into_refs
from tinyjax.refs import loops as loops
from tinyjax.refs import printing as printing
from tinyjax.refs import rules as rules
from tinyjax.refs import views as views
