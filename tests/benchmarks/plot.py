"""Draws a comparison: Cuvil's time over each peer's, a group of bars for each workload."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

COLOURS = ("#4269d0", "#efb118", "#3ca951", "#ff725c")
WIDTH, LEFT, BAR, GAP, TOP = 860, 170, 14, 12, 56


def write_plot(made: Mapping[str, Any], path: Path) -> None:
    """An SVG picture, inside a page where the file's name ends with .html."""
    picture = drawn(made)
    page = f"<!doctype html><meta charset=utf-8><title>Cuvil</title>{picture}"
    path.write_text(picture if path.suffix == ".svg" else page)


def drawn(made: Mapping[str, Any]) -> str:
    """Bars from zero, the extreme rounds as whiskers, a line at 1 where both are as fast."""
    peers = list(dict.fromkeys(r["peer"] for r in made["ratios"]))
    cells = {(r["workload"], r["peer"]): r for r in made["ratios"]}
    workloads = list(dict.fromkeys(r["workload"] for r in made["ratios"]))
    most = max([1.2, *(r["high"] for r in made["ratios"])])
    scale = (WIDTH - LEFT - 90) / most
    height = TOP + len(workloads) * (len(peers) * BAR + GAP) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="20">{escape(title(made))}</text>',
    ]
    for place, peer in enumerate(peers):
        x = LEFT + 150 * place
        parts.append(f'<rect x="{x}" y="30" width="12" height="12" fill="{COLOURS[place % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 18}" y="40">over {escape(peer)}</text>')
    y = float(TOP)
    for workload in workloads:
        middle = y + len(peers) * BAR / 2 + 4
        parts.append(f'<text x="{LEFT - 8}" y="{middle:.1f}" text-anchor="end">{escape(workload)}</text>')
        for place, peer in enumerate(peers):
            if cell := cells.get((workload, peer)):
                parts += bar(cell, y + place * BAR, scale, COLOURS[place % len(COLOURS)])
        y += len(peers) * BAR + GAP
    one = LEFT + scale
    across = f'x1="{one:.1f}" x2="{one:.1f}" y1="{TOP - 8}" y2="{y:.1f}"'
    parts.append(f'<line {across} stroke="black" stroke-dasharray="4 3"/>')
    parts.append(f'<text x="{one:.1f}" y="{y + 14:.1f}" text-anchor="middle">1 = as fast</text></svg>')
    return "\n".join(parts)


def bar(cell: Mapping[str, float], y: float, scale: float, colour: str) -> list[str]:
    end, low, high = (LEFT + scale * cell[key] for key in ("ratio", "low", "high"))
    middle = y + BAR / 2
    return [
        f'<rect x="{LEFT}" y="{y:.1f}" width="{end - LEFT:.1f}" height="{BAR - 2}" fill="{colour}"/>',
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle:.1f}" y2="{middle:.1f}" stroke="#333"/>',
        f'<text x="{max(end, high) + 5:.1f}" y="{middle + 4:.1f}" font-size="10">{cell["ratio"]:.2f}</text>',
    ]


def title(made: Mapping[str, Any]) -> str:
    options, machine = made["options"], made["machine"]
    kind = f"{options['dtype']} {options['accuracy']}, {options['threads']} threads"
    return f"time of cuvil over its peers', {kind}, {machine['cpu']}"
