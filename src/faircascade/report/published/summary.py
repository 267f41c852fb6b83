"""What a page says on top about published numbers, where it shows any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from faircascade.experiment.study_results import StudyResults
from faircascade.paper.published import DATA, GENUINE, published
from faircascade.report.blocks import Notice
from faircascade.report.formatting import listed, published_name
from faircascade.report.published.comparison import shown, summary


def published_facts(studies: Sequence[StudyResults]) -> list[tuple[str, str]]:
    """Return what the published numbers came to, as terms and descriptions; some may be empty."""
    found = [numbers for numbers in map(shown, studies) if numbers]
    return [
        ("Against the published numbers", " ".join(map(summary, found))),
        ("Published, and not here", _elsewhere(studies)),
    ]


def not_the_papers_data(studies: Sequence[StudyResults]) -> list[Notice]:
    """Say of every data set that is not the paper's that it can confirm nothing."""
    names = dict.fromkeys(str(e.data["name"]) for study in studies for e in study.environments)
    return [_label(name) for name in names if name not in GENUINE]


def _elsewhere(studies: Sequence[StudyResults]) -> str:
    """Say which published numbers no study of the page is held against."""
    here = {(n.row, n.metric) for study in studies for n in shown(study)}
    if not here:
        return ""
    data = {row.data for row, _ in here}
    left = [(row, metric) for row, of in published().items() for metric in of]
    missing = Counter(row.data for row, metric in left if (row, metric) not in here)
    return listed(
        f"{count:,} numbers on {published_name(name)}"
        + (" (no such environment or policy in the specs)" if name in data else " (other data)")
        for name, count in missing.items()
    )


def _label(name: str) -> Notice:
    lead, words = "NOT THE PAPER'S DATA", "are none that the paper used"
    if name in DATA:
        lead = "SYNTHETIC DATA"
        words = f"were generated to resemble {published_name(DATA[name])}"
    warning = "No number here can confirm or refute a published one."
    return Notice(lead, f"The ratings ({name}) {words}. {warning}")
