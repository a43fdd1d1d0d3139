"""`jax.ad_checkpoint`: the names; they are made in transform/remat/api.py."""

from tinyjax.transform.remat.api import *
