"""faircascade report: tables and figures of a run, finished or not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from faircascade.cli.console import counted, print_json, remark
from faircascade.cli.options import AsJson, ItemsOver, MLflow
from faircascade.cli.run_output import log_cells
from faircascade.cli.study_output import print_results, study_document
from faircascade.storage import check_folder


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    baseline: Annotated[str | None, typer.Option(help="Label of the baseline policy.")] = None,
    test: Annotated[str, typer.Option(help="Paired test over seeds: t or wilcoxon.")] = "t",
    over: ItemsOver = "catalogue",
    out: Annotated[Path | None, typer.Option(help="Folder for the page; default: RUN.")] = None,
    mlflow: MLflow = None,
    as_json: AsJson = False,
) -> None:
    """Write a page of a run: tables, statistics, figures."""
    from faircascade.experiment.stats import Test, check_test
    from faircascade.experiment.store.files import write_table
    from faircascade.experiment.store.manifest import read_studies
    from faircascade.experiment.store.tables import tidy
    from faircascade.metrics.tally import check_over
    from faircascade.report import write_report

    chosen = cast(Test, test)
    check_test(chosen)
    items = check_over(over)
    studies = [study.against(baseline).measured(items) for study in read_studies(run)]
    folder = check_folder(out or run)
    page = write_report(studies, folder, test=chosen)
    write_table(folder / "results.parquet", tidy(studies))
    if as_json:
        print_json(
            {"page": str(page), "studies": [study_document(study, chosen) for study in studies]}
        )
    else:
        for study in studies:
            print_results(study, chosen)
    left = sum(study.missing for study in studies)
    if left:
        cells = counted(left, "cell")
        remark(f"Not finished: {cells}. Run 'faircascade run' with the same spec to continue.")
    if mlflow is not None:
        log_cells(run, mlflow)
    remark(f"Page: {page}")
