"""The manifest of a run's folder: its specs, and the origin of every cell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from faircascade.experiment.machine import platform_versions
from faircascade.experiment.spec import Spec
from faircascade.experiment.spec.errors import SpecSource
from faircascade.experiment.store.files import write_json
from faircascade.experiment.store.locks import claimed
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study

MANIFEST = "manifest.json"
VERSION = 2
"""Goes up with the format of cells, too: older folders hold cells that nobody would find."""

_OF_CELLS = ("engine", "seconds", "threads", "machine", "versions", "finished")
"""What is told of every finished cell."""


def record(studies: Sequence[Study], folder: Path) -> None:
    """Write down what a folder was asked for, and every cell that is finished by now.

    Studies of other names that are there stay; one of the same name is replaced. The cells tell
    for themselves how they came about, so that a manifest that is behind loses nothing.
    """
    with claimed(folder / MANIFEST, wait=True):
        specs = _read(folder).get("specs", {}) if (folder / MANIFEST).exists() else {}
        specs |= {study.spec.name: _entry(study) for study in studies}
        names = {study.spec.name for study in studies}
        rest = [entry for name, entry in specs.items() if name not in names]
        asked = [*studies, *_others(rest, folder)]
        write_json(
            folder / MANIFEST,
            {
                "version": VERSION,
                "versions": platform_versions(),
                "specs": specs,
                "cells": {key: cell for study in asked for key, cell in _cells(study).items()},
            },
        )


def read_studies(folder: str | Path) -> list[Study]:
    """Return the studies of a run's folder, as far as they are finished."""
    folder = Path(folder)
    return [_study(entry, folder) for entry in _read(folder)["specs"].values()]


def check_format(folder: Path) -> None:
    """Refuse a folder with results of a release whose cells this one would not find."""
    if (folder / MANIFEST).exists():
        _read(folder)


def _entry(study: Study) -> dict[str, Any]:
    return {
        "file": study.spec.source.name,
        "spec": study.spec.document(),
        "fingerprints": [
            next(cell.fingerprint for cell in study.cells if cell.data == source)
            for source in (study.spec.sources() if study.cells else ())
        ],
        "cells": len({cell.key for cell in study.cells}),
        "keys": [cell.key for cell in study.cells],
    }


def _others(entries: Iterable[Mapping[str, Any]], folder: Path) -> Iterator[Study]:
    """Yield studies that were recorded before, but for those that cannot be read any more."""
    for entry in entries:
        with suppress(ValueError):  # it has a policy, say, that is not installed here
            yield _study(entry, folder)


def _study(entry: Mapping[str, Any], folder: Path) -> Study:
    """Return a recorded study; parts of one's own may have changed since, and results stay."""
    spec = Spec.of(entry["spec"], source=SpecSource(str(folder / MANIFEST)))
    cells = spec.cells(entry["fingerprints"])
    keys = entry.get("keys", ())
    if len(keys) == len(cells):
        cells = [replace(c, recorded_key=key) for c, key in zip(cells, keys, strict=True)]
    return Study(spec, tuple(cells), Results(folder))


def _cells(study: Study) -> dict[str, dict[str, Any]]:
    """Return every cell of a study by its key."""
    found = {}
    for cell in study.cells:
        finished = study.results.find(cell)
        about = {} if finished is None else finished.about
        found[cell.key] = {
            "policy": cell.label,
            "data": dict(cell.data),
            "environment": dict(cell.environment),
            "seed": cell.seed,
            "rounds": cell.rounds,
            **{name: about.get(name) for name in _OF_CELLS},
        }
    return found


def _read(folder: Path) -> dict[str, Any]:
    place = folder / MANIFEST
    if not place.is_file():
        raise ValueError(f"{folder}: not the folder of a run (it has no {MANIFEST})")
    try:
        document: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{place}: not a manifest, or a damaged one") from None
    if document.get("version") != VERSION:
        raise ValueError(
            f"{folder}: has results in format {document.get('version')}, this release uses format "
            f"{VERSION}; use another folder, or read it with the release that wrote it"
        )
    return document
