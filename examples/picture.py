"""How the examples' pictures look, in matplotlib. Imported where a picture is asked for, and only there.

A picture has no background and reads on white and on black; its colours are those of Okabe and Ito, which
every eye can tell apart. Equal results give equal files.
"""

import sys

try:
    import matplotlib.pyplot as plt
except ModuleNotFoundError:
    sys.exit('a picture needs matplotlib: pip install matplotlib (or pip install -e ".[examples]")')

BLUE, ORANGE, GREEN, PINK, SKY, AMBER = "#0072b2 #d55e00 #009e73 #cc79a7 #56b4e9 #e69f00".split()
GREY = "#767676"  # as far from white as from black
COLORS = (BLUE, ORANGE, GREEN, PINK, SKY, AMBER, GREY, "#a08000", "#8c564b", "#9467bd")

plt.switch_backend("agg")  # files, no windows
plt.rcParams.update(dict.fromkeys(["text.color", "xtick.color", "ytick.color"], GREY))
plt.rcParams.update({"axes.labelcolor": GREY, "axes.edgecolor": GREY, "grid.color": GREY})
plt.rcParams.update({"axes.prop_cycle": plt.cycler(color=COLORS), "savefig.transparent": True})
plt.rcParams.update({"axes.grid": True, "grid.alpha": 0.3, "legend.frameon": False})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
plt.rcParams.update({"axes.titlesize": "medium", "axes.titleweight": "bold"})
plt.rcParams.update({"figure.constrained_layout.use": True, "savefig.dpi": 144})
plt.rcParams.update({"svg.hashsalt": "examples", "svg.fonttype": "none", "image.cmap": "gray"})


def save(figure, file):
    """Writes an SVG, PNG or PDF file, by the ending of its name."""
    dated = {"svg": "Date", "pdf": "CreationDate"}.get(str(file).rpartition(".")[2])
    figure.savefig(file, metadata={dated: None} if dated else None)
    print(f"picture: {file}")
