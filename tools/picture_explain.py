"""Takes the pictures of the pages of `tinyjax explain` and `viz.kernel`: docs/explain*.png, docs/kernel.png;
docs/explain_steps.gif, an animation of steps; and docs/card.png, for links to the site.

python tools/picture_explain.py    # after a change of the page's look; needs Chromium, selenium and Pillow
"""

import io
import runpy
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.schedules.reorder import tile
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.studio import viz

ROOT = Path(__file__).parents[1]
SIN = "light(items.findIndex((item) => item.place === 1 && item.text.includes('= sin')))"
VECTORIZE = "showPass(passes.findIndex((each) => each.name === 'vectorize'))"
MILLISECONDS = 700  # of each step of the animation
COLOURS = 32
LAST_STAGE = "player.showStage(player.kernels[0].stages.length - 1); player.go(250)"
RULE = "go(events.findIndex((each) => each.stage === 'jvp rule' && each.name === 'mul'))"


def main() -> None:
    chromium = runpy.run_path(str(ROOT / "tests" / "browser.py"))["chromium"]
    wave = runpy.run_path(str(ROOT / "tutorials" / "wave.py"))["f"]
    gradient = partial(viz.explain, wave, 3.0, transforms=[jax.grad])
    softmax = partial(viz.explain, jax.nn.softmax, jnp.ones((5, 40)))
    registers = (
        Vectorize("i2_inner", 4),
        UnrollAndJam("i1_inner", 4, why="b is loaded once for four rows"),
    )
    schedule = [*tile(("i1", "i2"), 4, 4, "sixteen results at a time"), *registers]
    tiles = partial(
        viz.kernel, jnp.matmul, jnp.ones((8, 12)), jnp.ones((12, 16)), schedule=schedule
    )
    with tempfile.TemporaryDirectory() as folder, chromium(Path(folder) / "profile") as browser:
        for name, page, view, size, first in (
            ("explain", gradient, "stages", (1400, 420, 1.5), SIN),
            ("explain_passes", softmax, "passes", (1400, 600, 1), VECTORIZE),
            ("explain_steps", gradient, "steps", (1360, 760, 1), RULE),
            ("kernel", tiles, "kernels", (1300, 820, 1), LAST_STAGE),
        ):
            width, height, scale = size
            metrics = {
                "width": width,
                "height": height,
                "deviceScaleFactor": scale,
                "mobile": False,
            }
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            browser.get(f"{page().save(Path(folder) / f'{name}.html').as_uri()}#view={view}")
            browser.execute_script(first)
            path = ROOT / "docs" / f"{name}.png"
            browser.save_screenshot(str(path))
            print(f"wrote {path}")
            if view == "steps":
                animate_steps(browser, path.with_suffix(".gif"))
        picture_card(browser, Path(folder))


def picture_card(browser: Any, folder: Path) -> None:
    """Writes the picture that shared links to the site show."""
    website = ROOT / "tools" / "website"
    icon = (website / "static" / "icon.svg").read_text(encoding="utf-8")
    text = (website / "card.html").read_text(encoding="utf-8").replace("@icon@", icon)
    page, path = folder / "card.html", ROOT / "docs" / "card.png"
    page.write_text(text, encoding="utf-8")
    metrics = {"width": 1200, "height": 630, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.as_uri())
    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    picture.quantize(COLOURS).save(path, optimize=True)
    print(f"wrote {path}")


def animate_steps(browser: Any, path: Path) -> None:
    """Writes the page of steps, which the browser shows, event by event."""
    frames = []
    for event in range(browser.execute_script("return events.length")):
        browser.execute_script(f"go({event})")
        frame = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
        frames.append(frame.resize((1020, 570), Image.Resampling.LANCZOS))
    palette = frames[len(frames) // 2].quantize(
        COLOURS
    )  # one for all: what stays equal takes no bytes
    first, *others = [f.quantize(palette=palette, dither=Image.Dither.NONE) for f in frames]
    first.save(path, save_all=True, append_images=others, duration=MILLISECONDS, loop=0)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
