"""Pictures for the examples, as SVG: lines, points, bands and images on axes.

Needs NumPy only, so that it works beside JAX and tinyjax alike. A picture has no background and reads on
white and on black; its colours are those of Okabe and Ito, which every eye can tell apart.
"""

import base64
import html
import math
import struct
import zlib

import numpy as np

BLUE, ORANGE, GREEN, PINK, SKY, GREY = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#7f7f7f",
)
COLORS = (BLUE, ORANGE, GREEN, PINK, SKY, GREY, "#e69f00", "#a08000", "#8c564b", "#9467bd")

LEFT, RIGHT, TOP, BOTTOM = 58, 16, 52, 46  # the room around the axes, in pixels


class Plot:
    """A pair of axes with what is drawn on them, in the units of the data.

    Without `axes`, there are none to be seen, and one unit is as long across as it is upwards."""

    def __init__(self, title, x="", y="", *, size=(460, 340), axes=True):
        self.title, self.x_label, self.y_label = title, x, y
        self.width, self.height = size
        self.axes = axes
        self.marks = []  # each a function from (pixels of xs, pixels of ys) to SVG
        self.legend = []
        self.low, self.high = np.full(2, np.inf), np.full(2, -np.inf)

    # ---- what can be drawn ----

    def line(self, xs, ys, label="", color=BLUE, *, width=2, dashed=False):
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        style = f'fill="none" stroke="{color}" stroke-width="{width}"{dash}'
        self._add(xs, ys, label, color, lambda px, py: f'<path d="{path(px, py)}" {style}/>')

    def band(self, xs, low, high, label="", color=SKY):
        """What lies between two lines."""
        around = np.concatenate([xs, xs[::-1]]), np.concatenate([low, high[::-1]])
        style = f'fill="{color}" fill-opacity="0.3" stroke="none"'
        self._add(*around, label, color, lambda px, py: f'<path d="{path(px, py)}z" {style}/>')

    def points(self, xs, ys, label="", color=BLUE, *, radius=3, square=False, edge="none"):
        def mark(px, py):
            if square:
                box = f'width="{2 * radius}" height="{2 * radius}" rx="1"'
                dots = [
                    f'<rect x="{x - radius:.1f}" y="{y - radius:.1f}" {box}/>'
                    for x, y in zip(px, py)
                ]
            else:
                dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in zip(px, py)]
            return f'<g fill="{color}" stroke="{edge}" stroke-width="2">{"".join(dots)}</g>'

        self._add(xs, ys, label, color, mark)

    def text(self, xs, ys, words, color=GREY):
        def mark(px, py):
            places = zip(px, py, words)
            return "".join(text(x, y + 4, word, "middle", color) for x, y, word in places)

        self._add(xs, ys, "", color, mark)

    def image(self, pixels, extent=None):
        """Pixels, uint8[h,w] or uint8[h,w,3], the first row on top, over (left, right, bottom, top)."""
        height, width = pixels.shape[:2]
        left, right, bottom, top = extent or (0, width, 0, height)
        data = base64.b64encode(png(pixels)).decode()

        def mark(px, py):
            place = f'x="{px[0]:.1f}" y="{py[1]:.1f}" '
            place += f'width="{px[1] - px[0]:.1f}" height="{py[0] - py[1]:.1f}"'
            how = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
            return f'<image {place} {how} href="data:image/png;base64,{data}"/>'

        self._add([left, right], [bottom, top], "", GREY, mark)

    def _add(self, xs, ys, label, color, mark):
        both = np.stack([np.asarray(xs, float), np.asarray(ys, float)])
        self.low = np.minimum(self.low, both.min(axis=1, initial=np.inf))
        self.high = np.maximum(self.high, both.max(axis=1, initial=-np.inf))
        self.marks.append(lambda to_x, to_y: mark(to_x(both[0]), to_y(both[1])))
        if label:
            self.legend.append((label, color))

    # ---- as SVG ----

    def svg(self):
        """The plot, with its corner at (0, 0)."""
        left, top = (LEFT, TOP) if self.axes else (RIGHT, TOP)
        wide = self.width - left - RIGHT
        tall = self.height - top - (BOTTOM if self.axes else RIGHT)
        (x0, y0), (x1, y1) = self.low, self.high
        scale_x, scale_y = wide / (x1 - x0 or 1), tall / (y1 - y0 or 1)
        if not self.axes:
            scale_x = scale_y = min(scale_x, scale_y)
            left += (wide - scale_x * (x1 - x0)) / 2

        def to_x(x):
            return left + (x - x0) * scale_x

        def to_y(y):
            return top + (y1 - y) * scale_y

        parts = [text(self.width / 2, 18, self.title, "middle", weight="bold"), self._legend_svg()]
        if self.axes:
            parts += self._axes_svg(to_x, to_y)
        return "\n".join(parts + [mark(to_x, to_y) for mark in self.marks])

    def _axes_svg(self, to_x, to_y):
        (left, bottom), (right, top) = self.low, self.high
        for x in ticks(left, right):
            yield rule(to_x(x), to_y(bottom), to_x(x), to_y(top))
            yield text(to_x(x), to_y(bottom) + 16, f"{x:g}", "middle")
        for y in ticks(bottom, top):
            yield rule(to_x(left), to_y(y), to_x(right), to_y(y))
            yield text(to_x(left) - 6, to_y(y) + 4, f"{y:g}", "end")
        yield text((to_x(left) + to_x(right)) / 2, to_y(bottom) + 36, self.x_label, "middle")
        middle = (to_y(bottom) + to_y(top)) / 2
        yield text(14, middle, self.y_label, "middle", turn=f"rotate(-90 14 {middle:.1f})")

    def _legend_svg(self):
        parts, at = [], float(LEFT if self.axes else RIGHT)
        for label, color in self.legend:
            parts.append(f'<rect x="{at:.1f}" y="31" width="14" height="6" rx="3" fill="{color}"/>')
            parts.append(text(at + 19, 38, label, "start"))
            at += 34 + 6.3 * len(label)
        return "".join(parts)


def save(file, *plots):
    """Write plots, beside each other, to an SVG file."""
    width, height = sum(p.width for p in plots), max(p.height for p in plots)
    parts, at = [], 0
    for plot in plots:
        parts.append(f'<g transform="translate({at} 0)">\n{plot.svg()}\n</g>')
        at += plot.width
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    font = 'font-family="Arial, Helvetica, sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>'
    with open(file, "w") as f:
        f.write("\n".join([head, *parts, "</svg>\n"]))
    print(f"picture: {file}")


# ---- pieces of SVG ----


def path(px, py):
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in zip(px, py))


def text(x, y, words, anchor, color=GREY, *, weight="normal", turn=""):
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    turn = turn and f' transform="{turn}"'
    return f'<text {place} fill="{color}" font-weight="{weight}"{turn}>{html.escape(words)}</text>'


def rule(x0, y0, x1, y1):
    place = f'x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"'
    return f'<line {place} stroke="{GREY}" stroke-opacity="0.3"/>'


def ticks(low, high):
    """About five round numbers from low to high."""
    if not high > low:
        return [float(low)]
    size = 10 ** math.floor(math.log10((high - low) / 5))
    step = next(size * m for m in (1, 2, 5, 10) if (high - low) / (size * m) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def png(pixels):
    """uint8[h,w] (grey) or uint8[h,w,3] as a PNG file."""
    height, width = pixels.shape[:2]
    kind = 0 if pixels.ndim == 2 else 2
    rows = np.ascontiguousarray(pixels, np.uint8).reshape(height, -1)
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)  # 0: rows as they are

    def chunk(name, data):
        checked = name + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    data = zlib.compress(lines.tobytes(), 9)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


def gallery(title, images, columns, captions=(), *, size=(340, 340)):
    """A plot of grey images, float[n,h,w] from 0 (black) to 1, with words below each."""
    plot = Plot(title, size=size, axes=False)
    tall = 1.3 if captions else 1.08
    for i, image in enumerate(np.clip(255 * np.asarray(images), 0, 255)):
        x, y = i % columns * 1.08, -(i // columns) * tall
        plot.image(image, (x, x + 1, y - 1, y))
        if captions:
            plot.text([x + 0.5], [y - 1.14], captions[i : i + 1])
    return plot
