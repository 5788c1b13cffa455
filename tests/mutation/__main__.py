"""The command of this room: run a sample of mutants, print what survived, and keep the figures."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .measure import Clean, Result, clean, measured
from .rooms import ROOMS, TOP

HERE = Path(__file__).parent
RESULT, ARGUED = HERE / "result.json", HERE / "argued.json"


def main() -> None:
    """Look at the rooms that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Put small faults in, and run tests.")
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)}; all if none is named")
    parser.add_argument("--sample", type=int, default=30, help="mutants of each module (default 30)")
    parser.add_argument("--seed", type=int, default=1, help="of the random sample (default 1)")
    parser.add_argument("--module", action="append", help="only modules whose path has this in it")
    parser.add_argument("--survivors", action="store_true", help="only those that survived last time")
    options = parser.parse_args()
    for name in options.rooms or ROOMS:
        if name not in ROOMS:
            parser.error(f"there is no room {name!r}; there are {', '.join(ROOMS)}")
        modules = [path for path in ROOMS[name].modules if any(word in path for word in options.module or [""])]
        if options.survivors:
            modules = [path for path in modules if table().get(path, {}).get("survivors")]
        ran = clean(ROOMS[name], modules)
        print(f"{name}: {len(ran.took)} tests in {sum(ran.took.values()):.0f} s", flush=True)
        for module in modules:
            keep(module, look(module, ran, options))


def look(module: str, ran: Clean, options: argparse.Namespace) -> dict[str, Any]:
    """Try the mutants of one module, say at once what survives, and return the row of the table."""
    argued = json.loads(ARGUED.read_text()).get(module, {})
    again = set(table().get(module, {}).get("survivors", {})) if options.survivors else None
    there, results = measured(module, ran, options.sample, options.seed, again)
    sampled, survivors = 0, {}
    for result in results:
        sampled += 1
        if not result.killed:
            survivors[result.mutant.name] = argued.get(result.mutant.name, "")
            if not survivors[result.mutant.name]:
                print(f"  {module}:{result.mutant.line}: {result.mutant.name}{unreached(result)}", flush=True)
    print(f"{module}: {sampled} of {there}, {sampled - len(survivors)} killed", flush=True)
    if again is not None:
        row = table()[module]
        return row | {"killed": row["sampled"] - len(survivors), "survivors": survivors}
    killed = sampled - len(survivors)
    return {"mutants": there, "sampled": sampled, "seed": options.seed, "killed_first": killed, "killed": killed,
            "survivors": survivors}  # fmt: skip


def unreached(result: Result) -> str:
    """Say where no test runs the line."""
    return "" if result.by is not None else "  [no test runs it]"


def table() -> dict[str, Any]:
    """Return the figures of the last runs."""
    return dict(json.loads(RESULT.read_text())) if RESULT.exists() else {}


def keep(module: str, row: dict[str, Any]) -> None:
    """Write a module's row into the table, and take those of modules that are gone away."""
    rows = {path: one for path, one in sorted((table() | {module: row}).items()) if (TOP / path).exists()}
    RESULT.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
