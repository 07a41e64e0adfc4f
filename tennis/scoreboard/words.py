# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What the pages say, as HTML. Every name comes from somebody else and is escaped here."""

import time
from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from tennis.play.benches import BenchRow
from tennis.rally.text import plain
from tennis.scoreboard.following import Playing
from tennis.scoreboard.hall import GONE_S, Queue, Score, Sealed
from tennis.style import CODE_FONT, FONT, LIGHT
from tennis.units import format_count, format_ns

QUIET_S = 30
STEP_S = 10
NAME_MAX = 200
EXPLORER = "/explorer"

STYLE = f"""
:host {{ max-width: 100%; min-width: 0; color: var(--ink); font: 15px/1.45 {FONT}; }}
a {{ color: var(--accent); }}
a:focus-visible {{ outline: 3px solid var(--accent); outline-offset: 2px; }}
h3 {{ font-size: 15px; margin: 0; overflow-wrap: anywhere; }}
p {{ margin: 0; overflow-wrap: anywhere; }}
code {{ font-family: {CODE_FONT}; font-size: .92em; overflow-wrap: anywhere; }}
.why {{ font: 13px/1.4 {CODE_FONT}; margin: .4rem 0 0; min-width: 46rem; white-space: pre-wrap; }}
.soft {{ color: var(--soft); font-size: 13px; }}
.worst {{ font-size: 21px; font-weight: 700; font-variant-numeric: tabular-nums; }}
.bad {{ color: var(--warn-ink); font-weight: 700; }}
.warn {{ background: var(--warn); color: var(--warn-ink); padding: .1rem .4rem; }}
.card {{ width: 284px; }}
.bar {{ height: 6px; background: var(--line); margin: 3px 0; }}
.bar div {{ height: 6px; background: var(--accent); }}
.bk-clearfix {{ display: block; width: 100%; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }}
td.number, th.number {{ text-align: right; }}
ul {{ margin: 0; padding-left: 1.1rem; }}
"""
# Bokeh draws, and makes its widgets, for light pages
DARK_STYLE = f"""@media (prefers-color-scheme: dark) {{
  :host {{ color-scheme: light; color: {LIGHT["ink"]}; filter: invert(1) hue-rotate(180deg); }}
}}"""


def safe(text: str, limit: int = NAME_MAX) -> str:
    """Return somebody else's words as HTML."""
    return escape(plain(text, limit), quote=True)


def state(playing: Playing, now: float) -> tuple[str, bool]:  # noqa: PLR0911
    """Return what a rally does, in words, and whether somebody should look at it."""
    counted, silent_s = playing.counted, now - playing.grew
    if playing.trouble:
        return playing.trouble, True
    if counted.ended:
        return (
            "being sealed" if silent_s < QUIET_S else "interrupted; it can be continued",
            False,
        )
    if silent_s > GONE_S:
        return f"nothing came for {silent_s / 60:.0f} min: nothing plays it", True
    if not counted.balls:
        return "the target boots", False
    if playing.behind:
        return "reading what was played so far", False
    if silent_s > QUIET_S:
        # in steps: thirty cards that are laid out each second leave a slow browser no rest, and
        # what stands below them, links too, moves under the pointer
        return f"nothing came for {silent_s // STEP_S * STEP_S:.0f} s", True
    return f"{playing.rate:,.0f}/s", False


def card(name: str, playing: Playing, now: float) -> str:
    """Return the words of a rally that is being played."""
    counted, plan = playing.counted, playing.plan
    said, bad = state(playing, now)
    what = where = ""
    planned = 0
    if plan is not None:
        planned = plan.protocol.balls
        own = [plan.drill.name if plan.drill else "", plan.kernel_name, plan.load]
        own += [plan.bottom_half if not plan.drill else "", plan.priorities]
        what = " / ".join(word for word in own if word)
        where = f"{plan.bench}: {plan.target}" if plan.target else plan.bench
    drill = plan is not None and plan.drill is not None
    lines = [
        '<div class="card">',
        f"<h3>{safe(name)}</h3>",
        f'<p class="soft">{safe(what)} &middot; {safe(where)}</p>',
    ]
    share = min(100, 100 * counted.balls // planned) if planned else 0
    lines.append(f'<div class="bar"><div style="width: {share}%"></div></div>')
    if drill:
        lines.append(f'<p class="worst">{counted.balls:,} repetitions</p>')
    else:
        worst = "&ndash;" if counted.worst_ns is None else escape(format_ns(counted.worst_ns))
        # a missed ball is later; it has no time, and stands below
        word = "latest answer" if counted.misses else "worst"
        ball = "" if counted.worst_ball is None else f"{word}, ball {counted.worst_ball:,}"
        lines.append(f'<p><span class="worst">{worst}</span> <span class="soft">{ball}</span></p>')
    missed = f', <span class="bad">{counted.misses:,} missed</span>' if counted.misses else ""
    kind = "warn" if bad else "soft"
    lines.append(
        f'<p class="soft">{counted.balls:,} of {planned:,}{"" if drill else missed} &middot; '
        f'<span class="{kind}">{safe(said, 300)}</span></p>'
    )
    return "".join([*lines, "</div>"])


def summary(score: Score, failure: str = "") -> str:
    """Return one line about everything; ``failure``: why the folders could not be read."""
    read_at = time.strftime("%H:%M:%S", time.localtime(score.read_at))
    balls = sum(playing.counted.balls for playing in score.playing.values())
    waiting = sum(queue.waiting for queue in score.queues)
    parts = [
        f"{format_count(len(score.playing), 'rally', 'rallies')} being played, {balls:,} balls",
        f"{waiting:,} waiting",
        f"{score.sealed_in_all:,} sealed",
        f"read at {read_at}",
    ]
    warning = f' <span class="warn">{safe(failure, 400)}</span>' if failure else ""
    return f"<p>{' &middot; '.join(map(escape, parts))}{warning}</p>"


def queues(some: Sequence[Queue]) -> str:
    """Return a table of matches."""
    if not some:
        return '<p class="soft">No match in these folders.</p>'
    rows = [
        f"<tr><th scope=row>{safe(queue.name)}</th><td>{safe(queue.title, 80)}</td>"
        f"<td class=number>{queue.there:,} of {queue.scheduled:,}</td><td class=number>"
        f"{queue.playing:,}</td><td class=number>{queue.waiting:,}</td>"
        f"<td class=number>{len(queue.troubles):,}</td></tr>"
        for queue in some
    ]
    head = "<th>match<th>title<th class=number>played<th class=number>playing"
    head += "<th class=number>waiting<th class=number>failed"
    return _table(head, rows)


def benches(rows: Sequence[BenchRow] | str | None) -> str:
    """Return a table of benches and who holds them; a line where there is none."""
    if rows is None:
        return '<p class="soft">No bench has been queried yet.</p>'
    if isinstance(rows, str):
        return f'<p class="warn">{safe(rows, 400)}</p>'
    lines = [
        "<tr><th scope=row>"
        + "<td>".join(
            safe(cell, 100)
            for cell in (row.bench, row.held_by, row.kernel, row.pico, row.verified, row.last_rally)
        )
        + f"<td>{safe(row.trouble, 400)}</tr>"
        for row in rows
    ]
    head = "<th>bench<th>held by<th>kernel<th>Pico<th>verified<th>last rally<th>trouble"
    return _table(head, lines)


def troubles(score: Score) -> str:
    """Return what fails, as a list."""
    lines = list(score.troubles)
    for queue in score.queues:
        lines += [f"{queue.name}/{name}: {why}" for name, why in list(queue.troubles.items())[:20]]
    lines += [f"{entry.name}: {entry.trouble}" for entry in score.sealed if entry.trouble]
    if not lines:
        return '<p class="soft">Nothing.</p>'
    shown = "".join(f"<li>{safe(line, 400)}</li>" for line in lines[:60])
    more = f"<li>and {len(lines) - 60:,} more</li>" if len(lines) > 60 else ""
    return f"<ul>{shown}{more}</ul>"


def sealed(score: Score) -> str:
    """Return a table of the newest rallies, each with its way to the explorer."""
    if not score.sealed:
        return '<p class="soft">No sealed rally in these folders.</p>'
    rows = [
        f'<tr><th scope=row><a href="{EXPLORER}?rally={quote(entry.name, safe="")}">'
        f"{safe(entry.name)}</a></th><td>{safe(entry.label)}</td>"
        f"<td class=number>{entry.manifest.counts.balls:,}</td>"
        f"<td class=number>{entry.manifest.counts.misses:,}</td>"
        f"<td>{safe(entry.manifest.ended)}</td>"
        f"<td>{time.strftime('%H:%M', time.localtime(entry.sealed))}</td></tr>"
        for entry in score.sealed
    ]
    more = score.sealed_in_all - len(score.sealed)
    below = f'<p class="soft">and {more:,} older ones</p>' if more > 0 else ""
    head = "<th>rally<th>what<th class=number>balls<th class=number>missed<th>ended<th>sealed"
    return _table(head, rows) + below


def _table(head: str, rows: Sequence[str]) -> str:
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="table"><table><thead><tr>{head}'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def describe(entry: Sealed) -> str:
    """Return a sealed rally in a line."""
    manifest = entry.manifest
    trouble = f' <span class="warn">{safe(entry.trouble, 300)}</span>' if entry.trouble else ""
    return (
        f"<p>{safe(entry.label)} &middot; {manifest.counts.balls:,} balls, "
        f"{manifest.counts.misses:,} missed &middot; {safe(manifest.bench)}: "
        f"{safe(manifest.time_note)}{trouble}</p>"
    )
