"""Results as text: a comparison as a table, one run as a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from faircascade.cli.console import percent, print_table
from faircascade.registry import components

if TYPE_CHECKING:
    from faircascade.experiment import Comparison


def print_comparison(comparison: Comparison) -> None:
    """Print the headline metrics, with the change against the baseline in percent."""
    from faircascade.engine import HEADLINE
    from faircascade.experiment.comparison import title_of

    best = {metric: comparison.best(metric) for metric in HEADLINE}
    rows = []
    for label in comparison.labels:
        row = [label]
        for metric in HEADLINE:
            mark = "★" if label in best[metric] and len(comparison.labels) > 1 else " "
            cell = f"{comparison.mean(label, metric):.4g}{mark}"
            if label != comparison.baseline:
                cell += f"\n{percent(comparison.change(label, metric))} "
            row.append(cell)
        rows.append(row)
    print_table(
        ["Policy", *(title_of(metric) for metric in HEADLINE)],
        rows,
        title=f"Change against {comparison.baseline} in percent; ★ marks the best",
        numbers=True,
    )


def print_summary(summary: dict[str, Any]) -> None:
    """Print the result of one run, one line per metric."""
    from faircascade.engine import HEADLINE

    typer.echo(
        f"{summary['label']} on {summary['data']}: {summary['users']:,} users, "
        f"{summary['items']:,} items, d={summary['dim']}, k={summary['k']}, "
        f"{summary['rounds']:,} rounds, seed {summary['seed']}"
    )
    others = [name for name in components("metric") if name not in HEADLINE]
    realised = ["realised_regret"] if "realised_regret" in summary else []
    for metric in (*HEADLINE, *realised, "optimal_value", *others):
        value = summary[metric]
        why = f"–  ({summary['missing'].get(metric, 'unknown')})"
        typer.echo(f"  {metric:<16} {why if value is None else f'{value:.4f}'}")
    typer.echo(
        f"  {summary['seconds']:.1f} s, {summary['recommendations_per_second']:,.0f} "
        f"recommendations/s (engine {summary['engine']})"
    )
