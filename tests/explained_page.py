"""Pages of `viz.explain`, and their data."""

import functools
import json
import re

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.studio import viz


def f(x):
    return jnp.sin(x) * x


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.html, re.DOTALL)[1])


def steps_of(page):
    return data_of(page)["steps"]


def numbers_of(steps, stage, name):
    """The numbers of the events of this stage and name."""
    return [
        number
        for number, event in enumerate(steps["events"])
        if (event["stage"], event["name"]) == (stage, name)
    ]


@functools.cache
def long_page():
    """A page of more events than it shows."""

    def deep(x):
        for _ in range(60):
            x = jnp.sin(x) * x + 1.0
        return x

    return viz.explain(deep, 3.0, transforms=[jax.grad])
