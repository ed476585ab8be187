#!/usr/bin/env python3
"""picture.py TITLE: makes an SVG of a terminal's screen, as `tmux capture-pane -pe` prints it on its
standard input."""

import html
import re
import sys

# The first sixteen colours of a terminal, as xterm has them on black, but for a readable blue.
COLOURS = """#000000 #cd3131 #0dbc79 #e5e510 #4a90e2 #bc3fbc #11a8cd #e5e5e5
#767676 #f14c4c #23d18b #f5f543 #7ab0ff #d670d6 #29b8db #ffffff""".split()
FOREGROUND, BACKGROUND = "#e5e5e5", "#1e1e1e"
SET = {1: "bold", 2: "dim", 7: "reverse"}
RESET = {22: ("bold", "dim"), 27: ("reverse",), 39: ("text",), 49: ("ground",)}
WIDTH, HEIGHT, MARGIN = 8, 17, 10
# several spaces in a row would be drawn as one
NO_BREAK = "\u00a0"


def colour(codes):
    """The colour that the codes after 38 or 48 name; takes them."""
    kind = codes.pop(0)
    if kind == 2:
        red, green, blue = (codes.pop(0) for _ in range(3))
        return f"#{red:02x}{green:02x}{blue:02x}"
    number = codes.pop(0)
    if number < 16:
        return COLOURS[number]
    if number > 231:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    levels = [0, 95, 135, 175, 215, 255]
    parts = (number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6
    return "#" + "".join(f"{levels[part]:02x}" for part in parts)


def styled(style, codes):
    """The style after the codes of one escape."""
    codes = [int(code or 0) for code in codes.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code in SET:
            style = {**style, SET[code]: True}
        elif code in RESET:
            style = {name: value for name, value in style.items() if name not in RESET[code]}
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = {**style, "text": COLOURS[code % 10 + (8 if code >= 90 else 0)]}
        elif 40 <= code <= 47:
            style = {**style, "ground": COLOURS[code - 40]}
        elif code in (38, 48):
            style = {**style, "text" if code == 38 else "ground": colour(codes)}
    return style


def pieces(line, style):
    """Runs of text of one style, with their columns, and the style at the end."""
    found, column = [], 0
    for index, part in enumerate(re.split(r"\x1b\[([0-9;]*)m", line)):
        if index % 2:
            style = styled(style, part)
        elif part:
            found.append((column, part, style))
            column += len(part)
    return found, style


def drawn(column, row, text, style):
    """The SVG of one run of text."""
    x, y = MARGIN + column * WIDTH, MARGIN + row * HEIGHT
    front, back = style.get("text", FOREGROUND), style.get("ground", BACKGROUND)
    if style.get("reverse"):
        front, back = back, front
    svg = ""
    if back != BACKGROUND:
        svg += f'<rect x="{x}" y="{y}" width="{len(text) * WIDTH}" height="{HEIGHT}" fill="{back}"/>\n'
    if text.strip():
        more = ' font-weight="bold"' if style.get("bold") else ""
        more += ' opacity=".65"' if style.get("dim") else ""
        svg += (
            f'<text x="{x}" y="{y + 13}" textLength="{len(text) * WIDTH}" fill="{front}"{more}>'
            f"{html.escape(text).replace(' ', NO_BREAK)}</text>\n"
        )
    return svg


def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    style, body, columns = {}, "", 0
    for row, line in enumerate(lines):
        runs, style = pieces(line, style)
        body += "".join(drawn(column, row, text, it) for column, text, it in runs)
        columns = max([columns] + [column + len(text) for column, text, _ in runs])
    width, height = 2 * MARGIN + columns * WIDTH, 2 * MARGIN + len(lines) * HEIGHT
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" '
        f'font-size="13" role="img" aria-labelledby="title">\n'
        f'<title id="title">{html.escape(sys.argv[1])}</title>\n'
        f'<rect width="{width}" height="{height}" rx="6" fill="{BACKGROUND}"/>\n{body}</svg>'
    )


main()
