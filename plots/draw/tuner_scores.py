"""The tuner laboratory in one figure: regret over the share of samples, wrong winners, false switches, by machine."""

from matplotlib.ticker import FixedFormatter, FixedLocator

from draw import style
from draw.labels import end_labels, halo
from palette import BAD, FAINT, INK, MUTED, PAPER
from units import percent_text, plural, words

WIDTH, LEFT = 10.8, 0.62
MOST_MACHINES, COLUMNS = 8, 4
METHODS = {"racing": ("#D55E00", "o"), "exhaustive": (INK, "s"), "plain": ("#0072B2", "^")}
OTHERS = (("#009E73", "D"), ("#BC5090", "v"), ("#B3A34A", "P"))
LINEAR = 0.1  # percent; below, the regret axis is linear, so that 0 has a place
REGRET_TICKS = (0, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
QUARTER = 0.25
FALSE_SWITCH_LIMIT = 1  # percent


def score_figure(scores):
    """The whole figure. `scores` are rows with machine, method, budget_share, regret, wrong_winner, false_switch."""
    machines = sorted({row["machine"] for row in scores})
    rows = -(-min(len(machines), MOST_MACHINES) // COLUMNS) if len(machines) > 1 else 0
    height = 4.62 + rows * 1.95
    figure = style.new_figure(WIDTH, height)
    searches = plural(len(scores), "search").replace("searchs", "searches")
    scope = f"{searches} of {plural(len(machines), 'simulated machine')}."
    style.heading(figure, headline(scores), scope, size=14)
    bottom = height - 4.05
    _regret(style.axes_at(figure, LEFT, bottom, 4.35, 3.05), scores)
    _rate(
        style.axes_at(figure, 6.65, bottom + 1.78, 3.1, 1.27),
        scores,
        "wrong_winner",
        "choices that are not the best plan",
    )
    limit = (FALSE_SWITCH_LIMIT, "limit 1 %")
    _rate(
        style.axes_at(figure, 6.65, bottom, 3.1, 1.1),
        scores,
        "false_switch",
        "switches away from a default that was best",
        limit,
    )
    if rows:
        _machines(figure, scores, machines[:MOST_MACHINES], rows)
    return figure


def headline(scores):
    """The finding in one line: median regrets at the budget of racing nearest to a quarter."""
    racing = curve(scores, "racing", "regret", median)
    if not racing:
        return "Tuner laboratory: regret of the choice"
    share, regret = min(racing, key=lambda point: abs(point[0] - QUARTER))
    text = f"Median regret with {percent_text(share)} of the samples: racing {percent_text(regret)}"
    plain = dict(curve(scores, "plain", "regret", median)).get(share)
    whole = curve(scores, "exhaustive", "regret", median)
    text += f", plain {percent_text(plain)}" if plain is not None else ""
    return text + (f"; with all, exhaustive {percent_text(whole[-1][1])}" if whole else "")


def look(method, methods):
    """Colour and marker of a method, fixed for the known ones."""
    others = [name for name in methods if name not in METHODS]
    return METHODS.get(method) or OTHERS[others.index(method) % len(OTHERS)]


def methods_of(scores):
    """Known methods first, then others by name."""
    known = list(METHODS)
    return sorted({row["method"] for row in scores}, key=lambda m: (known.index(m) if m in known else len(known), m))


def quantile(values, share):
    """Linear interpolation between order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values):
    return quantile(values, 0.5)


def mean(values):
    return sum(values) / len(values)


def curve(scores, method, column, summary):
    """[(budget share, summary of the column)] sorted by share."""
    groups = {}
    for row in scores:
        if row["method"] == method:
            groups.setdefault(row["budget_share"], []).append(row[column])
    return [(share, summary(groups[share])) for share in sorted(groups)]


def _regret(axes, scores):
    _share_axis(axes, scores)
    _regret_axis(axes, scores)
    _lines(axes, scores, "regret", median, band=True)
    axes.axvline(QUARTER, color=FAINT, linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
    note = axes.annotate(
        "¼ of the samples",
        (QUARTER, 1),
        (3, -2),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="left",
        va="top",
        fontsize=7.5,
        color=MUTED,
    )
    halo(note)
    axes.set_xlabel("samples, as a share of what exhaustive measuring takes", fontsize=8.5)
    style.axis_title(axes, "regret: chosen plan's time over the best plan's, minus 1 (median, quartiles)")


def _rate(axes, scores, column, title, limit=None):
    _share_axis(axes, scores)
    top = max(
        [100 * value for method in methods_of(scores) for _, value in curve(scores, method, column, mean)]
        + [limit[0] if limit else 0]
    )
    axes.set_ylim(-0.04 * max(top, 1), max(top, 1) * 1.15)
    axes.yaxis.set_major_locator(style.matplotlib.ticker.MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda value, _: percent_text(value / 100))
    if limit:
        axes.axhline(limit[0], color=BAD, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
        axes.annotate(
            limit[1],
            (1, limit[0]),
            (-2, 2),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=7.5,
            color=BAD,
        )
    _lines(axes, scores, column, mean)
    style.axis_title(axes, title)


def _lines(axes, scores, column, summary, band=False, labels=True):
    """A line per method; a method with one budget is a point with its level carried through."""
    ends, methods = [], methods_of(scores)
    for method in methods:
        colour, marker = look(method, methods)
        points = curve(scores, method, column, summary)
        shares, values = [share for share, _ in points], [100 * value for _, value in points]
        if band and len(points) > 1:
            lows, highs = (
                [100 * value for _, value in curve(scores, method, column, lambda v, q=q: quantile(v, q))]
                for q in (0.25, 0.75)
            )
            axes.fill_between(shares, lows, highs, color=colour, alpha=0.13, linewidth=0)
        if len(points) == 1:
            axes.axhline(values[0], color=colour, linewidth=1, alpha=0.5, linestyle=(0, (1, 2)))
        axes.plot(
            shares,
            values,
            color=colour,
            marker=marker,
            linewidth=2.2 if method == "racing" else 1.6,
            markersize=5,
            markeredgecolor=PAPER,
            markeredgewidth=0.7,
            zorder=4 if method == "racing" else 3,
            clip_on=False,
        )
        ends.append((shares[-1], values[-1], words(method), colour, method == "racing"))
    if labels:
        end_labels(axes, ends)


def _share_axis(axes, scores, most=7):
    shares = sorted({row["budget_share"] for row in scores})
    low, high = shares[0], max(1.0, shares[-1])
    axes.set_xscale("log")
    axes.set_xlim(low / 1.15, high * 1.15)
    ticks = [tick for tick in (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4) if low / 1.15 <= tick <= high * 1.15][-most:]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([percent_text(tick) for tick in ticks]))
    axes.xaxis.set_minor_locator(FixedLocator([]))


def _regret_axis(axes, scores, most=8):
    """Symmetric log, so that 0 has a place, one scale for all panels; `most` ticks."""
    upper = lambda values: quantile(values, 0.75)
    sets = [scores] + [[row for row in scores if row["machine"] == name] for name in {row["machine"] for row in scores}]
    top = max(
        value for some in sets for method in methods_of(some) for _, value in curve(some, method, "regret", upper)
    )
    top = max(100 * top, 0.3) * 1.3
    axes.set_yscale("symlog", linthresh=LINEAR, linscale=0.5)
    axes.set_ylim(-0.006, top)
    ticks = [tick for tick in REGRET_TICKS if tick <= top]
    ticks = ticks[:: -(-len(ticks) // most)]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FixedFormatter([percent_text(tick / 100) for tick in ticks]))
    axes.yaxis.set_minor_locator(FixedLocator([]))


def _machines(figure, scores, machines, rows):
    """The same regret, one small panel for each machine, on one scale."""
    for index, machine in enumerate(machines):
        row, column = divmod(index, COLUMNS)
        axes = style.axes_at(figure, LEFT + column * 2.56, 0.36 + (rows - 1 - row) * 1.95, 2.05, 1.15)
        mine = [score for score in scores if score["machine"] == machine]
        _share_axis(axes, scores, most=4)
        _regret_axis(axes, scores, most=5)
        _lines(axes, mine, "regret", median, labels=False)
        axes.annotate(
            words(machine),
            (0, 1),
            (0, 6),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=9,
            fontweight="bold",
        )
