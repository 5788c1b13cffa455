"""How much the tests notice: small faults are put into kdbg, one at a time, and the tests of that room must fail.

`python -m tests.mutation [ROOM…] [--sample N] [--seed S]` takes a random sample of each module's mutants, the same one
for the same seed, and writes what came out into `result.json` here: how many mutants a module has, how many were
tried, how many of them were killed by the first run and by the last, and those that survived the last. `--survivors`
runs these alone, after tests were written for them: what has no reason there has not been run again since, or lives.
`argued.json` says why a survivor may: it is equivalent, costs time or memory alone, or
changes a bound or a wording that nothing promises.

mutmut works on this project too, at about the same speed, but takes every mutant that a pattern names, where a random
sample is wanted, and leaves decorated functions and whatever stands outside functions as they are. cosmic-ray starts a
process for each mutant. Here a mutant costs a fork and the tests that run its line, shortest first; no file is written.
A test that starts kdbg in a process of its own sees it without the mutant.
"""
