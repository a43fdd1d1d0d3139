"""The colours and shapes of all pictures, and the legend that explains them.

    viz.theme.green = viz.Colour(light="#b7e4c7", dark="#1b4332")

`theme` defines all colours. A drawing names them ("green") and looks them up while drawing, so a change
affects every kind of picture from then on. So does a new style for a kind of node or arrow:

    viz.style.EQUATION = viz.style.NodeStyle({"shape": "box", "fillcolor": "#ffd166"})

In an SVG the light colours turn dark if the reader prefers a dark scheme; PNG and PDF are light. Each picture
paints its own background, so that its text has a contrast of at least 4.5 on any page. Nodes are filled with
colours after Okabe and Ito (https://jfly.uni-koeln.de/color), which most colour-blind readers can tell apart,
and a shape, a word or a dash repeats the meaning of each colour.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple


class Colour(NamedTuple):
    """A colour in the light scheme, and the one for it in the dark scheme, each as "#rrggbb"."""

    light: str
    dark: str


@dataclass(slots=True)
class Theme:
    """The colours of all pictures, by name."""

    page: Colour = Colour("#ffffff", "#191c20")  # the background
    ink: Colour = Colour("#111111", "#f4f5f7")  # text in nodes
    text: Colour = Colour(
        "#565b61", "#b6bdc6"
    )  # text on the page: titles, values' names, the legend
    line: Colour = Colour("#7f7f7f", "#858d97")  # arrows and borders

    # fills of nodes
    grey: Colour = Colour("#f4f4f4", "#2d3239")  # equations
    dark_grey: Colour = Colour("#e4e4e4", "#3d434b")  # parts on all devices
    pale_blue: Colour = Colour("#d9eefb", "#173a52")  # inputs
    pale_orange: Colour = Colour(
        "#fae8c4", "#4f3c14"
    )  # incoming and outgoing tangents and cotangents
    violet: Colour = Colour("#ddd3ee", "#42365c")  # results
    blue: Colour = Colour("#8ccbf2", "#0f5480")  # primals, known values, additions
    orange: Colour = Colour("#f5c35f", "#73500a")  # tangents, unknown values, the linear part
    pink: Colour = Colour("#e6bdd4", "#683753")  # constants and consts
    green: Colour = Colour("#8fd8bf", "#155c47")  # carries, collectives, finished lessons
    yellow: Colour = Colour("#f5ee9b", "#565210")  # slices and choices
    red: Colour = Colour("#f4a582", "#7d3518")  # sums over a value's uses

    # arrows
    green_line: Colour = Colour("#00855f", "#3fc79a")  # from a loop's step to the next
    blue_line: Colour = Colour("#2f86c8", "#5ab1ee")  # batches
    pink_line: Colour = Colour("#b8578e", "#d98bb8")  # residuals
    red_line: Colour = Colour("#d55e00", "#f08a3c")  # the order of a Ref's uses

    def __setattr__(self, name: str, colour: Colour) -> None:
        pair = isinstance(colour, tuple | list) and len(colour) == 2
        if not pair or not all(re.fullmatch("#[0-9a-f]{6}", str(shade)) for shade in colour):
            raise ValueError(
                f"theme.{name} is a pair of colours, for light and dark pages, such as "
                f'Colour("#d9eefb", "#173a52"); got {colour!r}'
            )
        object.__setattr__(self, name, Colour(*colour))


theme = Theme()

_COLOURED = ("color", "fillcolor", "fontcolor", "bgcolor")
_NAMES = {field.name for field in fields(Theme)}


def shade(name: str) -> str:
    """The light shade of a theme colour, as in dot source; any other colour unchanged."""
    return getattr(theme, name).light if name in _NAMES else name


def painted(attributes: dict[str, str] | None) -> dict[str, str]:
    """Attributes with colour names replaced by the theme's shades."""
    return {
        key: shade(value) if key in _COLOURED else value
        for key, value in (attributes or {}).items()
    }


def colours() -> list[Colour]:
    """The current colours of the theme."""
    return [getattr(theme, name) for name in sorted(_NAMES)]


def in_both_schemes(svg: str, colours: Iterable[Colour]) -> str:
    """The SVG with rules that turn its light shades dark if the reader prefers dark pages."""
    rules = [
        f'.tinyjax [fill="{light}"]{{fill:{dark}}}.tinyjax [stroke="{light}"]{{stroke:{dark}}}'
        f'.tinyjax stop[style*="{light}"]{{stop-color:{dark}!important}}'
        for light, dark in colours
        if light in svg
    ]
    style = f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"
    before, root, after = svg.partition("<svg ")
    attributes, _, inside = after.partition(">")
    # The class limits the style to this picture of the HTML page.
    return f'{before}{root}class="tinyjax" {attributes}>\n{style}{inside}'


LARGE = {"mclimit": "0.2", "nslimit": "2", "nslimit1": "2"}  # keeps layouts down to seconds
_TEXT = {"fontname": "Arial", "fontsize": "10", "fontcolor": "text"}
# newrank: rank frames and all in one go, ten times as fast for hundreds of equations in frames.
GRAPH = _TEXT | {"bgcolor": "page", "nodesep": "0.25", "ranksep": "0.22", "newrank": "true"}
GRAPH |= {"compound": "true"}  # lets arrows end at a frame
EDGE = _TEXT | {"color": "line", "arrowsize": "0.6"}
NODE = _TEXT | {"fontsize": "12", "fontcolor": "ink", "color": "line", "style": "filled"}
NODE |= {"height": "0.3", "margin": "0.12,0.05"}
FRAME = _TEXT | {"style": "rounded,dashed", "color": "line", "labeljust": "l"}
FRAME |= {"penwidth": "1"}  # not the enclosing frame's


class NodeStyle(NamedTuple):
    """The style of a kind of node or arrow. Drawings look it up by name while drawing."""

    own: dict[str, str]  # Graphviz's attributes, with colours by their names in the theme
    meaning: str = ""  # its text in the legend; none if empty
    base: str = ""  # the name of the style that it extends

    @property
    def attributes(self) -> dict[str, str]:
        base = globals()[self.base].attributes if self.base else {}
        return base | self.own

    def having(self, **attributes: str) -> "NodeStyle":
        """The style with other attributes."""
        return self._replace(own=self.own | attributes)


# ---- nodes ----

EQUATION = NodeStyle({"shape": "box", "style": "filled,rounded", "fillcolor": "grey"})
INPUT = NodeStyle({"shape": "ellipse", "fillcolor": "pale_blue"})
TANGENT_INPUT = NodeStyle({"fillcolor": "pale_orange"}, base="INPUT")
OUTPUT = NodeStyle({"shape": "invhouse", "fillcolor": "violet"})
TANGENT_OUTPUT = NodeStyle({"fillcolor": "pale_orange"}, base="OUTPUT")
COTANGENT_OUTPUT = NodeStyle({"shape": "house", "fillcolor": "pale_orange"}, base="OUTPUT")
CONSTANT = NodeStyle({"shape": "parallelogram", "fillcolor": "pink"}, "constant")
LITERAL = NodeStyle({"shape": "plain", "style": "", "fontcolor": "text"})
TITLE = NodeStyle({"class": "title"}, base="LITERAL")
FROM_AFAR = NodeStyle(
    {"shape": "box", "style": "rounded,dotted", "fontcolor": "text", "fillcolor": "none"},
    "a value that comes from further up",
)
CHOICE = NodeStyle({"shape": "diamond", "fillcolor": "yellow", "margin": "0.01", "height": "0.45"})

# Bars: a frame's inputs or outputs, side by side.
BAR = NodeStyle({"shape": "plain", "style": ""})
CONST = NodeStyle({"fillcolor": "pink"}, "const: the same at each step")
CARRY = NodeStyle({"fillcolor": "green"}, "carry: from one step to the next")
SLICE = NodeStyle({"fillcolor": "yellow"}, "xs, ys: a slice of each array a step")

# The two parts of a value in a transformed program.
PRIMAL = NodeStyle({"fillcolor": "blue"}, "primal: the value")
TANGENT = NodeStyle({"fillcolor": "orange"}, "tangent: how fast it moves")

KNOWN = NodeStyle({"fillcolor": "blue"}, "known", "EQUATION")
UNKNOWN = NodeStyle({"fillcolor": "orange"}, "unknown: left for later", "EQUATION")
BACKWARD = NodeStyle({"fillcolor": "orange"}, "backward", "EQUATION")
FAN_OUT = NodeStyle(
    {"shape": "ellipse", "fillcolor": "red"}, "fan-out: the sum over all uses of a value"
)
COLLECTIVE = NodeStyle(
    {"fillcolor": "green"}, "collective: all devices wait for all", base="EQUATION"
)

NEW = NodeStyle({"fillcolor": "blue", "penwidth": "2"}, "new or changed", "EQUATION")
GOING = NodeStyle(
    {"fillcolor": "orange", "style": "filled,rounded,dashed"},
    "changed or dropped by the next pass",
    "EQUATION",
)

# A primitive, by the trace that processes it.
JVP_TRACE = NodeStyle({"fillcolor": "orange"}, base="EQUATION")
BATCH_TRACE = NodeStyle({"fillcolor": "green"}, base="EQUATION")
LINEARIZE_TRACE = NodeStyle({"fillcolor": "yellow"}, base="EQUATION")
JAXPR_TRACE = NodeStyle({"fillcolor": "pink"}, base="EQUATION")
EVAL_TRACE = NodeStyle({"fillcolor": "blue"}, base="EQUATION")

# An event of a recorded program.
IMPL_EVENT = NodeStyle({"fillcolor": "blue"}, "computed by NumPy", "EQUATION")
EQUATION_EVENT = NodeStyle({}, "written down: an equation of a jaxpr", "EQUATION")
LAUNCH_EVENT = NodeStyle({"fillcolor": "green"}, "run on the device", "EQUATION")

# ---- edges ----

LOOP_BACK = NodeStyle(
    {"color": "green_line", "penwidth": "2", "style": "dashed", "dir": "back"}, "next step"
)
CONST_IN = NodeStyle({"style": "dashed"})
SPLIT = NodeStyle({}, "8@x: split over the mesh axis x")
BATCHED = NodeStyle(
    {"color": "blue_line", "penwidth": "2"}, "a batch: B is the size of its batch dim"
)
RESIDUAL = NodeStyle(
    {"color": "pink_line", "penwidth": "2", "style": "dashed"}, "residual: kept for later"
)
ORDER = NodeStyle({"color": "red_line", "style": "dashed"}, "order: what is done to a Ref, in turn")
STORED = NodeStyle({"penwidth": "2.5"}, "an array in memory")
IN_REGISTERS = NodeStyle({}, "stays in registers")


# ---- the legend ----


_TABLE = '<table border="0" cellspacing="2" cellpadding="0">'


def legend(styles: Iterable[NodeStyle], remark: str) -> str:
    """A row of samples with their meanings, as the label of the whole graph; "" if there are none."""
    shown = {each.meaning: painted(each.attributes) for each in styles if each.meaning}
    cells = [
        f'<td>{_sample(style)}</td><td align="left">{meaning}  </td>'
        for meaning, style in shown.items()
    ]
    rows = [remark] * bool(remark)
    rows += [f"{_TABLE}<tr>{''.join(cells)}</tr></table>"] * bool(cells)
    lines = "".join([f'<tr><td align="left">{row}</td></tr>' for row in rows])
    return f"<{_TABLE}{lines}</table>>" if rows else ""


def _sample(style: dict[str, Any]) -> str:
    """A patch in a node's fill, or a stroke in an edge's colour and width."""
    line = shade("line")
    color = style.get("color", line)
    if style.get("style") == "dashed":
        return f'<font color="{color}">- - -</font>'
    if "fillcolor" in style:
        return _patch(13, 8, style["fillcolor"], f'border="1" color="{line}"')
    return _patch(18, round(float(style.get("penwidth", "1"))), color, 'border="0"')


def _patch(width: int, height: int, color: str, border: str) -> str:
    return (
        f'<table {border} cellborder="0" cellspacing="0" cellpadding="0" fixedsize="true" '
        f'width="{width}" height="{height}" bgcolor="{color}"><tr><td></td></tr></table>'
    )
