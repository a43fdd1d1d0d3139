"""Data sets that ship with the package: `digits()` and `karate_club()`."""

import json
from importlib import resources

import numpy as np


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return the UCI handwritten digits as `(images, labels)`.

    `images` is float32[1797,64], each row an 8x8 image with values from 0 to 1;
    `labels` is int32[1797], the digit that each row shows.
    Source: E. Alpaydin, C. Kaynak, UCI Machine Learning Repository, CC BY 4.0
    (see README.md in this folder)."""
    with resources.files(__name__).joinpath("digits.npz").open("rb") as file:
        archive = np.load(file)
        images, labels = archive["images"], archive["labels"]
    return images.reshape(-1, 64).astype(np.float32) / 16, labels.astype(np.int32)


def karate_club() -> tuple[np.ndarray, np.ndarray]:
    """Return Zachary's karate club, a graph of 34 people, as `(edges, clubs)`.

    `edges` is int32[78,2], each row two members who met outside of the club, the lower number first;
    `clubs` is int32[34], whom each member followed when the club split: 0 the instructor (member 0),
    1 the administrator (member 33).
    Source: W. W. Zachary, "An information flow model for conflict and fission in small groups" (1977)
    (see README.md in this folder)."""
    club = json.loads(resources.files(__name__).joinpath("karate_club.json").read_text())
    return np.array(club["edges"], np.int32), np.array(club["clubs"], np.int32)
