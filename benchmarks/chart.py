"""A chart of ratios as SVG: a bar for each workload, on a logarithmic scale around 1."""

import html
import math
from pathlib import Path

BAR, LABEL, SPAN, WIDTH = 18, 330, 390, 840  # pixels: a line, the names, from 1 to the largest, all
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; } .ahead { fill: #0b6e99; } .behind { fill: #b35900; }
line { stroke: #767c84; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .ahead { fill: #6cc7f0; } .behind { fill: #f0b949; }
}
"""


def write_chart(path: Path, title: str, ratios: dict[str, float]) -> None:
    """Draw how many times as fast as another library each workload is, in the order given."""
    largest = max(1.1, *(abs(math.log(ratio)) for ratio in ratios.values()))
    zero = LABEL + 60  # x of the ratio 1
    lines = [f'<text x="8" y="16" font-weight="bold">{html.escape(title)}</text>']
    for number, (name, ratio) in enumerate(ratios.items()):
        y = 24 + BAR * number
        length = abs(math.log(ratio)) / largest * SPAN
        length = min(length, 50) if ratio < 1 else length
        x = zero - length if ratio < 1 else zero
        kind = "behind" if ratio < 1 else "ahead"
        lines += [
            f'<text x="{LABEL - 4}" y="{y + 13}" text-anchor="end">{html.escape(shortened(name))}</text>',
            f'<rect class="{kind}" x="{x:.1f}" y="{y + 3}" width="{length:.1f}" height="{BAR - 6}"/>',
            f'<text x="{zero + max(length, 0) * (ratio >= 1) + 6:.1f}" y="{y + 13}">{ratio:.2f}</text>',
        ]
    height = 32 + BAR * len(ratios)
    lines.append(f'<line x1="{zero}" x2="{zero}" y1="22" y2="{height - 6}"/>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    body = "\n".join([head, f"<style>{STYLE}</style>", *lines, "</svg>"])
    path.write_text(body + "\n", encoding="utf-8")


def shortened(name: str) -> str:
    return name if len(name) <= 50 else f"{name[:47]}..."
