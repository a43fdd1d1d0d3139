"""How pictures look: colours, shapes, and the legend that says what they mean.

After this file you can say why one picture can be read on white and on black, and with any eyes: nodes
carry dark text on a light fill of their own; what is drawn on the page itself has a contrast of 4 or so
against both. The colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color), which every eye
can tell apart, and no colour stands alone: a shape, a word or a dash says the same.
"""

from typing import NamedTuple

GREY = "#7f7f7f"

LARGE = {"mclimit": "0.2", "nslimit": "2", "nslimit1": "2"}  # no more than seconds for a layout
TEXT = {"fontname": "Arial", "fontsize": "10", "fontcolor": GREY}
# newrank: rank frames and all in one go, ten times as fast for hundreds of equations in frames.
GRAPH = TEXT | {"bgcolor": "transparent", "nodesep": "0.25", "ranksep": "0.3", "newrank": "true"}
GRAPH |= {"compound": "true"}  # arrows may end at a frame
EDGE = TEXT | {"color": GREY, "arrowsize": "0.6"}
NODE = TEXT | {"fontsize": "12", "fontcolor": "#111111", "color": GREY, "style": "filled"}
NODE |= {"height": "0.3", "margin": "0.12,0.05"}
FRAME = TEXT | {"style": "rounded,dashed", "color": GREY, "labeljust": "l"}
FRAME |= {"penwidth": "1"}  # not that of the frame around it


class Look(NamedTuple):
    """The attributes of a node or an edge, and what the legend says of it (nothing: not in there)."""

    style: dict[str, str]
    meaning: str = ""


# ---- nodes ----

# The light shades of the palette.
BLUE, ORANGE, PINK, GREEN, YELLOW = "#8ccbf2", "#f5c35f", "#e6bdd4", "#8fd8bf", "#f5ee9b"

EQUATION = Look({"shape": "box", "style": "filled,rounded", "fillcolor": "#f4f4f4"})
INPUT = Look({"shape": "ellipse", "fillcolor": "#d9eefb"})
TANGENT_INPUT = Look(INPUT.style | {"fillcolor": "#fae8c4"})
OUTPUT = Look({"shape": "invhouse", "fillcolor": "#ddd3ee"})
TANGENT_OUTPUT = Look({"shape": "invhouse", "fillcolor": "#fae8c4"})
COTANGENT_OUTPUT = Look({"shape": "house", "fillcolor": "#fae8c4"})
CONSTANT = Look({"shape": "parallelogram", "fillcolor": PINK}, "constant")
LITERAL = Look({"shape": "plain", "style": "", "fontcolor": GREY})
FROM_AFAR = Look(
    {"shape": "box", "style": "rounded,dotted", "fontcolor": GREY, "fillcolor": "none"},
    "a value that comes from further up",
)

# What an operand or a result is to a loop.
CONST = Look({"shape": "parallelogram", "fillcolor": PINK}, "const: the same at each step")
CARRY = Look({"shape": "ellipse", "fillcolor": GREEN}, "carry: from one step to the next")
NEXT_CARRY = Look({"shape": "invhouse", "fillcolor": GREEN})
SLICE = Look({"shape": "ellipse", "fillcolor": YELLOW}, "slice: one of each array a step")
NEXT_SLICE = Look({"shape": "invhouse", "fillcolor": YELLOW}, "slice: one of each array a step")
CHOICE = Look({"shape": "diamond", "fillcolor": YELLOW, "margin": "0.01", "height": "0.45"})

# The two parts of what travels through a transformed program.
PRIMAL = Look({"fillcolor": BLUE}, "primal: the value")
TANGENT = Look({"fillcolor": ORANGE}, "tangent: how fast it moves")

KNOWN = Look(EQUATION.style | {"fillcolor": BLUE}, "known")
UNKNOWN = Look(EQUATION.style | {"fillcolor": ORANGE}, "unknown: left for later")
BACKWARD = Look(EQUATION.style | {"fillcolor": ORANGE}, "backward")
FAN_OUT = Look(
    {"shape": "ellipse", "fillcolor": "#f4a582"}, "fan-out: the sum over all uses of a value"
)
COLLECTIVE = Look(EQUATION.style | {"fillcolor": GREEN}, "collective: all devices wait for all")

NEW = Look(EQUATION.style | {"fillcolor": BLUE, "penwidth": "2"}, "new or changed")
GOING = Look(
    EQUATION.style | {"fillcolor": ORANGE, "style": "filled,rounded,dashed"},
    "changed or dropped by the next pass",
)

# ---- edges ----

LOOP_BACK = Look(
    {"color": "#009e73", "penwidth": "2", "style": "dashed", "constraint": "false"}, "next step"
)

SPLIT = Look({}, "8@x: split over the mesh axis x")
BATCHED = Look({"color": "#2f86c8", "penwidth": "2"}, "a batch: B is the size of its batch dim")
RESIDUAL = Look(
    {"color": "#cc79a7", "penwidth": "2", "style": "dashed"}, "residual: kept for later"
)
ORDER = Look({"color": "#d55e00", "style": "dashed"}, "order: what is done to a Ref, in turn")
RESIDUAL_UP = Look(RESIDUAL.style | {"constraint": "false"}, RESIDUAL.meaning)


# ---- the legend ----


_TABLE = '<table border="0" cellspacing="2" cellpadding="0">'


def legend(looks: list[Look], remark: str) -> str:
    """A row of samples, each with what it means, as the label of the whole graph; "" if there are none."""
    shown = {look.meaning: look.style for look in looks if look.meaning}
    cells = [
        f'<td>{_sample(style)}</td><td align="left">{meaning}  </td>'
        for meaning, style in shown.items()
    ]
    rows = [remark] * bool(remark)
    rows += [f"{_TABLE}<tr>{''.join(cells)}</tr></table>"] * bool(cells)
    lines = "".join([f'<tr><td align="left">{row}</td></tr>' for row in rows])
    return f"<{_TABLE}{lines}</table>>" if rows else ""


def _sample(look: dict[str, str]) -> str:
    """A patch in a node's fill, or a stroke in an edge's colour and width."""
    color = look.get("color", GREY)
    if look.get("style") == "dashed":
        return f'<font color="{color}">- - -</font>'
    if "fillcolor" in look:
        return _patch(13, 8, look["fillcolor"], f'border="1" color="{GREY}"')
    return _patch(18, round(float(look.get("penwidth", "1"))), color, 'border="0"')


def _patch(width: int, height: int, color: str, border: str) -> str:
    return (
        f'<table {border} cellborder="0" cellspacing="0" cellpadding="0" fixedsize="true" '
        f'width="{width}" height="{height}" bgcolor="{color}"><tr><td></td></tr></table>'
    )
