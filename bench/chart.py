"""A bar chart as SVG: tokens a second over the best peer's, beside what was asked."""

from collections.abc import Sequence

from bench.report import Measured

WIDTH, BAR, GAP, LEFT, RIGHT, TOP = 720, 22, 12, 120, 90, 44
# Readable on white and on black alike.
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #57606a }
  .title { font-weight: 600; font-size: 15px }
  .bar { fill: #2f81f7 } .floor { stroke: #d29922; stroke-width: 2 }
  .one { stroke: #8b949e; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) { text { fill: #adbac7 } }
"""


def chart(measured: Measured) -> str:
    columns = [c for c in measured.results if len(measured.results[c]) > 1]
    ratios = [measured.ratio(column) for column in columns]
    floors = [measured.floor(column) for column in columns]
    most = max([*ratios, *floors, 1.0]) * 1.05
    height = TOP + len(columns) * (BAR + GAP) + 34

    def x(value: float) -> float:
        return LEFT + value / most * (WIDTH - LEFT - RIGHT)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{measured.model}: ratios to the best peer">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="12" y="24">{measured.model}: tokens/s ÷ best peer</text>',
    ]
    lines += _bars(columns, ratios, floors, x)
    bottom = height - 30
    lines.append(
        f'<line class="one" x1="{x(1):.1f}" x2="{x(1):.1f}" y1="{TOP - 8}" y2="{bottom}"/>'
    )
    lines.append(
        f'<text x="{LEFT}" y="{height - 10}">dashed: as fast as the best of the peers; '
        "upright: what was asked</text>"
    )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _bars(columns: Sequence[str], ratios: Sequence[float], floors: Sequence[float], x) -> list[str]:
    lines = []
    for place, (column, ratio, floor) in enumerate(zip(columns, ratios, floors, strict=True)):
        y = TOP + place * (BAR + GAP)
        middle = y + BAR * 0.7
        lines += [
            f'<text x="12" y="{middle:.1f}">{column}</text>',
            f'<rect class="bar" x="{LEFT}" y="{y}" width="{x(ratio) - LEFT:.1f}" height="{BAR}"/>',
            f'<line class="floor" x1="{x(floor):.1f}" x2="{x(floor):.1f}" y1="{y - 3}" '
            f'y2="{y + BAR + 3}"/>',
            f'<text x="{x(max(ratio, floor)) + 8:.1f}" y="{middle:.1f}">{ratio:.2f}</text>',
        ]
    return lines
