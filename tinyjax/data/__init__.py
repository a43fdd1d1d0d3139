"""Data that ships with the package: after `digits()` you have something real to train on.

Builds on NumPy only.
"""

from importlib import resources

import numpy as np


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return the UCI handwritten digits as `(images, labels)`.

    `images` is float32[1797,64], each row an 8x8 image with values from 0 to 1;
    `labels` is int32[1797], the digit that each row shows.
    Source: E. Alpaydin, C. Kaynak, UCI Machine Learning Repository, CC BY 4.0
    (see README.md in this folder).
    """
    with resources.files(__name__).joinpath("digits.npz").open("rb") as file:
        archive = np.load(file)
        images, labels = archive["images"], archive["labels"]
    return images.reshape(-1, 64).astype(np.float32) / 16, labels.astype(np.int32)
