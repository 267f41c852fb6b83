"""Whether an event log says what happened: each slate and each answer once, and nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from faircascade.service.bootstrap import start_service
from faircascade.service.event_log.config import EventLogConfig
from faircascade.service.event_log.folder import journal_files
from faircascade.service.event_log.rebuild import latest_log, rebuild_store
from tests.service.crashes import Witness
from tests.service.event_log.histories import held


async def check_log(folder: Path, address: str, target: str, witness: Witness) -> dict[str, Any]:
    """Compare the log of a store with what visitors were told, and with the store.

    What services that were killed left in the store is written first.
    """
    service = await start_service(address)
    writer = EventLogConfig.of(folder).writer(service)
    assert await writer.start()
    await writer.stop()
    assert await service.store.changes("", 1) == []
    await service.stop()

    shown: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    answers: dict[str, Any] = {}
    files = latest_log(journal_files(folder), folder)
    for file in files:
        for record in file.read():
            if record["kind"] == "shown":
                shown[record["impression"]] += 1
            elif record["kind"] == "answered":
                answered[record["impression"]] += 1
                answers[record["impression"]] = (tuple(record["clicked"]), record["examined"])
    assert set(shown.values()) <= {1}, "each slate is there once"
    assert set(answered.values()) <= {1}, "each answer is there once"
    assert witness.slates.keys() <= shown.keys(), "each slate that was handed out is there"
    assert {name: answers.get(name) for name in witness.answers} == witness.answers

    rows = [
        row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]
    assert Counter(row["impression"] for row in rows) == answered, "each answer has a row"
    for row in rows:
        if row["impression"] in witness.slates:
            assert tuple(row["items"]) == tuple(witness.slates[row["impression"]].items)
        if row["impression"] in witness.answers:
            told = witness.answers[row["impression"]][0]
            assert tuple(row["clicked_positions"]) == tuple(told)

    await rebuild_store(folder, target)
    expected, found = await held(address), await held(target)
    for part in ("shape", "items", "cohorts", "slates", "meta"):
        assert found[part] == expected[part], part
    begun = 0
    for name, (sums, rounds, account) in expected["users"].items():
        kept = found["users"].get(name, (bytes(len(sums)), 0, {}))
        assert (kept[0], kept[2]) == (sums, account), name
        assert kept[1] <= rounds, name
        begun += rounds - kept[1]
    assert begun <= witness.asked - len(witness.slates), "rounds whose slates nobody got"
    return {
        "slates in the journal": len(shown),
        "answers in the journal": len(answered),
        "files": len(files),
        "rounds begun in vain": begun,
    }
