"""The README's picture: both layers as floors of a house in section, and what moves between them.

The L2 is the upper floor and L1 the ground floor. A batch is a pillar that is built downwards, a segment for each
stage; once it stands on the ground, its blocks are final. There is a file for each theme, because a page cannot
recolour an image.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

WIDTH, HEIGHT = 960, 496
MARGIN: Final = 28
UPPER, GROUND = 154, 346
"""Where the two slabs are."""
STAIRS: Final = (150, 318)
"""From where to where the stairs lead, at the ground and at the upper floor."""
STEPS: Final = 8
STAGES: Final = ("Sealed", "Committed", "Proven", "Executed")
BAYS: Final = (374, 494, 614, 734)
"""The left edges of the batches' bays, the newest batch first."""

SANS: Final = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"
SERIF: Final = "Charter, ui-serif, Cambria, Georgia, 'Times New Roman', serif"

THEMES: Final[Mapping[str, Mapping[str, str]]] = {
    "two-floors": {
        "bg": "#f6f3ec", "line": "#e4dfd4", "hatch": "#bdb6a6", "edge": "#88816f",
        "text": "#1c2226", "muted": "#525c64", "l2": "#0d6298", "l2-tint": "#e6f0f6",
        "l1": "#9c4520", "l1-tint": "#f8e9e0",
        "mid": "#745809", "fill": "#a67f1c", "done": "#d8c285", "mid-tint": "#f5ecd2",
    },
    "two-floors-dark": {
        "bg": "#0f1316", "line": "#272f35", "hatch": "#414c54", "edge": "#68747d",
        "text": "#e9edef", "muted": "#a6b0b8", "l2": "#8ac7ee", "l2-tint": "#16262f",
        "l1": "#e9a27f", "l1-tint": "#2b201a",
        "mid": "#dfc06c", "fill": "#dfc06c", "done": "#574b26", "mid-tint": "#282316",
    },
}  # fmt: skip


def pictures() -> dict[str, str]:
    """Return the picture in each theme, by the name of its file."""
    return {f"{name}.svg": _picture(colours) for name, colours in THEMES.items()}


def _picture(c: Mapping[str, str]) -> str:
    parts = (_house(c), _floors(c), _stairs(c), _bays(c), _tree(c), _legend(c))
    drawn = "\n".join(line for part in parts for line in part)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="{SANS}" font-size="14">
<title>Two floors and the entresol between them</title>
<desc>The layer 2 is the upper floor, the layer 1 the ground floor. Deposits climb the stairs; messages and withdrawals \
go down. Between the floors stand the batches, built down in four stages: sealed, committed, proven, executed.</desc>
<defs>
<pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse">
<path d="M-1 1 1-1M0 8 8 0M7 9 9 7" stroke="{c["hatch"]}"/>
</pattern>
<linearGradient id="climb" x1="0" y1="{GROUND}" x2="0" y2="{UPPER}" gradientUnits="userSpaceOnUse">
<stop offset="0" stop-color="{c["l1"]}"/>
<stop offset=".5" stop-color="{c["mid"]}"/>
<stop offset="1" stop-color="{c["l2"]}"/>
</linearGradient>
</defs>
{drawn}
</svg>
"""


def _text(x: float, y: float, words: str, fill: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}"{more}>{words}</text>'


def _box(x: float, y: float, width: float, height: float, paint: str, radius: int = 4) -> str:
    size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {size} rx="{radius}" {paint}/>'


def _house(c: Mapping[str, str]) -> Iterator[str]:
    """Draw the panel, both slabs and the opening above the stairs."""
    right = WIDTH - MARGIN
    paint = f'fill="{c["bg"]}" stroke="{c["line"]}"'
    yield _box(0.5, 0.5, WIDTH - 1, HEIGHT - 1, paint, 12)
    for left, y, colour in ((STAIRS[1], UPPER, c["l2"]), (MARGIN, GROUND, c["l1"])):
        yield _box(left, y + 1, right - left, 10, 'fill="url(#hatch)"', 0)
        yield f'<path d="M{left} {y}H{right}" stroke="{colour}" stroke-width="2"/>'
    opening = f"M{MARGIN} {UPPER}H{STAIRS[1] - 12}"
    yield f'<path d="{opening}" stroke="{c["hatch"]}" stroke-dasharray="3 4"/>'


def _floors(c: Mapping[str, str]) -> Iterator[str]:
    """Name the floors."""
    serif = f' font-family="{SERIF}" font-style="italic" font-size="22"'
    for y, name, colour, lines in (
        (74, "Upper floor", c["l2"], ("Layer 2: blocks,", "calls, contracts")),
        (UPPER + 36, "Entresol", c["mid"], ("Batches, built", "downwards")),
        (GROUND + 42, "Ground floor", c["l1"], ("Layer 1: where", "batches settle")),
    ):
        yield _text(MARGIN, y, name, colour, serif)
        for row, line in enumerate(lines):
            yield _text(MARGIN, y + 22 + 18 * row, line, c["muted"])


def _stairs(c: Mapping[str, str]) -> Iterator[str]:
    """Draw the stairs, with deposits on their way up, and a message and a withdrawal on their way down."""
    (left, right), rise = STAIRS, (GROUND - UPPER) / STEPS
    run = (right - left) / STEPS
    steps = "".join(f"v{-rise:g}h{run:g}" for _ in range(STEPS))
    yield f'<path d="M{left + 16} {GROUND}L{right} {UPPER + 18}" stroke="{c["hatch"]}"/>'
    yield f'<path d="M{left} {GROUND}{steps}" fill="none" stroke="url(#climb)" stroke-width="2"/>'
    for step, words in ((3, "call"), (6, "deposit")):
        x, y = left + run * (step - 0.5) - 1, GROUND - rise * step - 12
        yield from _traveller(x, y, "up", c["l1"], c["l1-tint"])
        yield _text(x - 18, y + 5, words, c["text"], ' text-anchor="end"')
    for at, words in ((0.34, "withdrawal"), (0.64, "message")):
        x, y = left + 16 + (right - left - 16) * at + 16, GROUND - (GROUND - UPPER - 18) * at + 8
        yield from _traveller(x, y, "down", c["l2"], c["l2-tint"])
        yield _text(x + 18, y + 5, words, c["text"])


def _traveller(x: float, y: float, way: str, colour: str, tint: str) -> Iterator[str]:
    head = "M0 5V-5M-4-1 0-5 4-1" if way == "up" else "M0-5V5M-4 1 0 5 4 1"
    yield f'<g transform="translate({x:g} {y:g})" fill="none" stroke="{colour}" stroke-width="1.5">'
    yield f'<circle r="10" fill="{tint}"/>'
    yield f'<path d="{head}"/>'
    yield "</g>"


def _bays(c: Mapping[str, str]) -> Iterator[str]:
    """Draw the batches: the blocks of each, its pillar, and the last transaction about it on L1."""
    number, block = 5, 12
    sent = ("commit 5", "commit 4", "prove 3", "execute 2")
    for index, (x, blocks) in enumerate(zip(BAYS, (2, 2, 3, 1), strict=True)):
        for row in range(blocks):
            yield from _block(c, x, UPPER - 10 - 34 * (blocks - row), block)
            block -= 1
        yield from _pillar(c, x, index + 1)
        colour = c["muted"] if index == len(STAGES) - 1 else c["mid"]
        yield _text(x + 30, UPPER + 34, f"Batch {number - index}", c["text"], ' font-weight="500"')
        yield _text(x + 30, UPPER + 54, STAGES[index], colour)
        yield from _settlement(c, x, sent[index], pending=index == 0)


def _block(c: Mapping[str, str], x: float, y: float, number: int) -> Iterator[str]:
    used = 24 + 9 * (number * 5 % 7)
    yield _box(x, y, 104, 28, f'fill="{c["l2-tint"]}"')
    yield f'<path d="M{x + 4} {y + 27}h{used}" stroke="{c["l2"]}" stroke-width="2"/>'
    yield _text(x + 10, y + 19, f"Block {number}", c["text"])


def _pillar(c: Mapping[str, str], x: float, done: int) -> Iterator[str]:
    """Draw a pillar of which `done` segments are built, the next one under construction."""
    height = (GROUND - UPPER - 11 - 1) / len(STAGES)
    for segment in range(len(STAGES)):
        y, colour = UPPER + 11 + height * segment, c["done"] if done == len(STAGES) else c["fill"]
        if segment < done:
            paint = f'fill="{colour}"'
        elif segment == done:
            paint = f'fill="{c["mid-tint"]}" stroke="{c["fill"]}" stroke-width="1.5"'
        else:
            paint = f'fill="none" stroke="{c["edge"]}"'
        yield _box(x + 1, y + 1, 18, height - 3, paint, 1)


def _settlement(c: Mapping[str, str], x: float, words: str, *, pending: bool) -> Iterator[str]:
    dashed = f'fill="none" stroke="{c["edge"]}" stroke-dasharray="3 3"'
    yield _box(x, GROUND + 24, 104, 30, dashed if pending else f'fill="{c["l1-tint"]}"')
    yield _text(x + 10, GROUND + 44, words, c["muted"] if pending else c["l1"])


def _tree(c: Mapping[str, str]) -> Iterator[str]:
    """Draw the message tree of the executed batch: leaves above, the root on the ground, and one proof."""
    leaves, branches, trunk = (852, 876, 900, 924), (864, 912), 888
    top, middle, low = UPPER + 29, UPPER + 66, UPPER + 102
    rest = (
        f"M{leaves[2]} {top}V{middle - 18}H{leaves[3]}V{top}M{branches[1]} {middle - 18}V{middle}"
    )
    proof = (
        f"M{leaves[0]} {top}V{middle - 18}H{branches[0]}M{branches[1]} {middle}V{low - 18}H{trunk}"
    )
    path = f"M{leaves[1]} {top}V{middle - 18}H{branches[0]}V{low - 18}H{trunk}V{GROUND}"
    yield f'<path d="{rest}" fill="none" stroke="{c["edge"]}"/>'
    yield f'<path d="{proof}" fill="none" stroke="{c["fill"]}" stroke-width="1.5"/>'
    yield f'<path d="{path}" fill="none" stroke="{c["l2"]}" stroke-width="2"/>'
    plain = f'fill="{c["bg"]}" stroke="{c["edge"]}"'
    sibling = f'fill="{c["mid-tint"]}" stroke="{c["fill"]}" stroke-width="1.5"'
    on_path = f'fill="{c["l2"]}"'
    nodes = (
        *zip(leaves, (top,) * 4, (sibling, on_path, plain, plain), strict=True),
        *zip(branches, (middle,) * 2, (on_path, sibling), strict=True),
        (trunk, low, on_path),
    )
    for x, y, paint in nodes:
        yield _box(x - 7, y - 6, 14, 12, paint, 3)
    yield f'<circle cx="{trunk}" cy="{GROUND}" r="6" fill="{c["l2"]}" stroke="{c["bg"]}" stroke-width="2"/>'
    end = ' text-anchor="end"'
    yield _text(trunk - 14, GROUND - 40, "message tree", c["text"], end)
    yield _text(trunk - 14, GROUND - 20, "and a proof", c["mid"], end)
    yield _text(trunk, GROUND + 44, "its root", c["l1"], ' text-anchor="middle"')


def _legend(c: Mapping[str, str]) -> Iterator[str]:
    """Say how to read it."""
    y = HEIGHT - 24
    yield f'<path d="M{MARGIN} {y - 26}H{WIDTH - MARGIN}" stroke="{c["line"]}"/>'
    arrow = '<tspan fill="{}" font-weight="700">{}</tspan> {}'
    up = arrow.format(c["l1"], "\N{UPWARDS ARROW}", "deposits climb")
    down = arrow.format(c["l2"], "\N{DOWNWARDS ARROW}", "messages and withdrawals go down")
    yield _text(MARGIN, y, up, c["muted"])
    yield _text(172, y, down, c["muted"])
    final = "a batch is final when its pillar stands on the ground"
    yield _text(WIDTH - MARGIN, y, final, c["muted"], ' text-anchor="end"')
