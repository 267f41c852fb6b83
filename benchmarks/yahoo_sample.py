"""Pick the Yahoo R2 sample out of a generated folder: speed, memory and use of the cores.

    python benchmarks/yahoo_sample.py --rows 50000000

One file with as many rows as asked for is written to a temporary folder in the layout of
Yahoo R2, with a long tail of songs. A child process picks the default sample (1,000 songs, 1,000
users), so that its peak memory is that of the sampling alone.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CHILD = """
import sys
from pathlib import Path
from faircascade.data.load import load_dataset
print(load_dataset("yahoo-r2", path=Path(sys.argv[1])))
"""


def write_folder(folder: Path, *, rows: int, users: int, songs: int, chunk: int = 2_000_000) -> int:
    """Write `train_0.txt` and `song-attributes.txt`; return the bytes of the ratings."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(0)
    relabel = rng.permutation(songs).astype(np.int32)
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    schema = pa.schema([(name, pa.int32()) for name in ("user", "song", "rating")])
    path = folder / "train_0.txt"
    with csv.CSVWriter(path, schema, write_options=options) as writer:
        for start in range(0, rows, chunk):
            n = min(chunk, rows - start)
            user = (users * rng.random(n) ** 2).astype(np.int32)
            song = relabel[(songs * rng.random(n) ** 4).astype(np.int32)]
            rating = rng.integers(1, 6, n, dtype=np.int32)
            writer.write_table(pa.table([user, song, rating], schema=schema))
    attributes = [f"{song}\t{song // 3}\t{song // 10}\t{song % 50}" for song in range(songs)]
    (folder / "song-attributes.txt").write_text("\n".join(attributes) + "\n")
    return path.stat().st_size


def main() -> None:
    """Write, sample, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--users", type=int, default=500_000)
    parser.add_argument("--songs", type=int, default=130_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        start = time.perf_counter()
        size = write_folder(Path(name), rows=given.rows, users=given.users, songs=given.songs)
        print(f"generated  {size / 1e6:,.0f} MB in {time.perf_counter() - start:.1f} s")

        start = time.perf_counter()
        child = subprocess.run(
            [sys.executable, "-c", CHILD, name], check=True, capture_output=True, text=True
        )
        seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(f"sample     {child.stdout.strip()}")
    print(f"rows       {given.rows:,}")
    print(f"seconds    {seconds:.1f} (three passes)")
    print(f"rows/s     {given.rows / seconds:,.0f}")
    print(f"peak RSS   {peak / 1e6:,.0f} MB")
    cpu = (used.ru_utime + used.ru_stime) / seconds
    print(f"CPU        {cpu:.2f} cores of {os.cpu_count()}")


if __name__ == "__main__":
    main()
