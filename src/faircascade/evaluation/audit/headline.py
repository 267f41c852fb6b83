"""The outcome of an audit in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from faircascade.metrics.top_items import TopItems

if TYPE_CHECKING:
    from faircascade.evaluation.audit.audit import Audit
    from faircascade.evaluation.audit.intervals import Estimate

_CLOSE = 0.1
"""Ratios this close to 1 are called about even."""


def headline(audit: Audit) -> str:
    """Return a few sentences: how concentrated exposure is, and which group has least and most."""
    items = audit.items
    few = TopItems().few(len(items))
    top = audit.metrics["top_items"]
    which = "The most shown item" if few == 1 else f"The {few:,} most shown"
    said = [f"{which} of {len(items):,} items had {_percent(top)} of the exposure."]
    never = int((items.appearances == 0).sum())
    if never:
        share = f"{100 * never / len(items):.1f}%"
        was = "item was" if never == 1 else "items were"
        said.append(f"{never:,} {was} never shown ({share} of the table).")
    for column, table in audit.groups.items():
        if len(table) < 2:
            continue
        least, most = int(np.argmin(table.ratio.value)), int(np.argmax(table.ratio.value))
        if table.ratio.value[most] - table.ratio.value[least] < _CLOSE:
            said.append(f"By {column}, every group had about the share that its merit asks for.")
            continue
        said.append(
            f"By {column}, {_name(table.groups[most])} had {_times(table.ratio[most])} the share "
            f"that its merit asks for, and {_name(table.groups[least])} "
            f"{_times(table.ratio[least])}."
        )
    return " ".join(said)


def _name(group: str) -> str:
    return f"‘{group.strip() or '(none)'}’"


def _percent(of: Estimate) -> str:
    value = f"{100 * of.value:.1f}%"
    if np.isnan(of.low):
        return value
    return f"{value} (95% interval {100 * of.low:.1f}% to {100 * of.high:.1f}%)"


def _times(of: Estimate) -> str:
    value = f"{of.value:.2f} times"
    return value if np.isnan(of.low) else f"{value} ({of.low:.2f} to {of.high:.2f})"
