"""Printed jaxprs, made comparable."""

import re


def without_laid_seeds(text):
    """A jaxpr's text, as words and with numbered variables, with 1.0 where JAX has `reshard 1.0`: it lays the
    cotangent that a gradient begins with over the mesh. Types of scalars have no mesh here."""
    text = " ".join(text.split())
    for seed, one in re.findall(r"(\w+):f32\[\] = reshard (1\.0:f32\[\])", text):
        text = text.replace(f"{seed}:f32[] = reshard {one} ", "")
        text = re.sub(rf"\b{seed}\b(?![:=])", one, text)
    names = dict.fromkeys(re.findall(r"\b([a-z]+):(?=[a-z]+\d*\[)", text))
    numbers = {name: f"v{number}" for number, name in enumerate(names)}
    return re.sub(r"(?<!')\b[a-z]+\b(?![='])", lambda word: numbers.get(word[0], word[0]), text)
