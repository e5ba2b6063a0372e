"""Compare calibrant with other packages, store the differences and write the tables of docs/migration.md.

``python -m experiments.migration`` makes the environments of benchmarks/environments.py where they are not there; ``--page`` writes the
tables from the stored values, and names of packages compare these only.
"""

import argparse
import sys
from typing import Any

from benchmarks.environments import ENVIRONMENTS, PEERS, ready
from experiments.migration.calls import CALLS
from experiments.migration.compare import elsewhere, r_rows
from experiments.migration.table import EVERYTHING, PAGE, cell, everything, load, store, written

DRAWS = (0, 11, 12, 13)
"""Of each data set; the long form of the tests has others."""


def tidy(stored: dict[str, Any]) -> None:
    """Store the comparisons in the order of the calls, without those that no longer exist."""
    stored["rows"] = {call.key: stored["rows"][call.key] for call in CALLS if call.key in stored["rows"]}
    stored["versions"] = {peer.name: stored["versions"][peer.name] for peer in PEERS if peer.name in stored["versions"]}
    store(stored)


def main(arguments: list[str] | None = None) -> int:
    """Compare, print, store and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--page", action="store_true", help="write the tables from the stored values only")
    parser.add_argument("peers", nargs="*", help="compare these packages only")
    given = parser.parse_args(arguments)
    stored = load()
    if not given.page:
        wanted = [peer for peer in PEERS if not given.peers or peer.name in given.peers]
        pythons, facts = ready({peer.environment for peer in wanted})
        for id in ENVIRONMENTS:
            peers = [peer.name for peer in wanted if peer.environment == id]
            if not peers:
                continue
            if id not in pythons:
                print(f"{', '.join(peers)}: {facts[id]['absent']}; the stored values are kept")
                continue
            stored["versions"] |= {name: facts[id]["versions"][name] for name in peers}
            for row in elsewhere(pythons[id], peers, DRAWS):
                if "public" in row:
                    stored["public"][row["peer"]] = row["public"]
                else:
                    stored["rows"][row["key"]] = row["found"]
                    print(f"{row['key']}   {cell(row['found'])}", flush=True)
            tidy(stored)
        stored["rows"] |= {row["key"]: row["found"] for row in r_rows()}
        tidy(stored)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), stored), encoding="utf-8")
    EVERYTHING.write_text(everything(stored), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
