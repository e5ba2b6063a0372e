"""Run the studies of papers again: results as JSON, a page and pictures for each under docs/reproductions.

``make reproduce`` runs all; name some to run those alone. ``--small`` takes few rows and repetitions, to see that everything
runs. ``--pages`` makes the pages again from the results that are there.
"""

import argparse
import importlib
import sys
import time
from pathlib import Path

from experiments.reproductions.study import PAGES, RESULTS, Study, as_page, data_folder, load, save

STUDIES = ("variation", "entropic", "survey", "practical", "beyond")


def run_study(name: str, small: bool, pictures: Path) -> Study:
    """Run one study; its pictures go to `pictures`."""
    module = importlib.import_module(f"experiments.reproductions.{name}")
    pictures.mkdir(parents=True, exist_ok=True)
    return module.run(small, data_folder(), pictures)


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(STUDIES)}; all if none is named")
    parser.add_argument("--small", action="store_true", help="few rows and repetitions")
    parser.add_argument("--pages", action="store_true", help="only make the pages again from the results")
    parser.add_argument("--out", type=Path, help="a folder for everything, instead of the repository's own")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.names) - set(STUDIES)
    if unknown:
        parser.error(f"no study is called {', '.join(sorted(unknown))}; there are {', '.join(STUDIES)}")
    if chosen.small and chosen.out is None:
        parser.error("--small needs --out: small results must not replace the real ones")
    pages = chosen.out or PAGES
    for name in chosen.names or STUDIES:
        start = time.monotonic()
        if chosen.pages:
            study = load((chosen.out or RESULTS) / f"{name}.json")
        else:
            study = run_study(name, chosen.small, pages)
            save(study, chosen.out or RESULTS)
        (pages / f"{name}.md").write_text(as_page(study))
        print(f"{name}: {time.monotonic() - start:.0f} s; {pages / name}.md", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
