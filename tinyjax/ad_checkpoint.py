"""`jax.ad_checkpoint`: the names; they are made in transform/remat/."""

from tinyjax.transform.remat.named_policies import checkpoint_name as checkpoint_name
from tinyjax.transform.remat.named_policies import checkpoint_policies as checkpoint_policies
from tinyjax.transform.remat.policies import Offloadable as Offloadable
from tinyjax.transform.remat.policies import Recompute as Recompute
from tinyjax.transform.remat.policies import Saveable as Saveable
from tinyjax.transform.remat.saved_residuals import print_saved_residuals as print_saved_residuals
