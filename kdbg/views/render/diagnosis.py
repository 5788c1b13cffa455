"""What analysis found, for people: causes with their evidence, lint, stories, readiness for another release."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ...analysis.diagnosis.text import advice, alternatives, case_object, checked, rivals, rule_object, sentence
from ...analysis.diagnosis.trials import certainty
from ...protocol.findings import Severity, amounts
from .columns import aligned, beside
from .findings import MARKS
from .style import Look
from .values import Clock, escape

if TYPE_CHECKING:
    from ...analysis.diagnosis import Case, Rule
    from ...analysis.diagnosis.lint import Party, Remark
    from ...analysis.diagnosis.readiness import Client, Missing
    from ...analysis.diagnosis.stories import Event, Subject
    from ...analysis.ledgers import Ledgers

INDENT = "    "
PLACEHOLDER = re.compile(r"\{(\w+)[^}]*\}")
"""What stands in the texts of a rule for a name of a case."""


class CaseView:
    """Writes cases; `file` is the capture as a command takes it, for those that show the evidence; "" where none is."""

    def __init__(self, look: Look, file: str) -> None:
        self.look, self.file = look, file
        self.clock = Clock(local=look.local)

    def lines(self, cases: Sequence[Case], ledgers: Ledgers | None = None) -> Iterator[str]:
        """Yield the lines of all cases: causes one by one, after-effects and notes in a line each, what was checked."""
        loud = [case for case in cases if case.severity is not Severity.NOTE]
        if not loud:
            yield self.look.paint("good", "no root cause found") + "\n"
        for case in loud:
            yield from self.one(case)
        for case in cases:
            if case.severity is Severity.NOTE:
                mark, style = MARKS[case.severity]
                after = f" (after-effect of {case.because})" if case.because else ""
                yield from self._text("", f"{mark} {case.code}{after}: {sentence(case)}", style, indent="")
        if ledgers is not None:
            yield from self._text("", f"checked {checked(ledgers)}", "dim", indent="")

    def one(self, case: Case) -> Iterator[str]:
        """Yield the lines of a cause."""
        mark, style = MARKS[case.severity]
        paint = self.look.paint
        head = f"{paint(style, f'{mark} {case.code}')}  {paint('dim', case.certainty)}"
        yield f"{head}  {paint('dim', escape(self.clock.seen(case.since, case.until, case.count)))}\n"
        yield from self._text("", f"{sentence(case)}.", "")
        yield from self._text("fix", advice(case), "good")
        if shown := evidence_text(case, self.file):
            yield from self._text("evidence", shown, "name", whole=True)
        if others := [one for one in alternatives(case) if one not in rivals(case)]:
            yield from self._text("alternatively", "; ".join(others), "dim")
        for one in rivals(case):
            yield from self._text("or", one, "dim")
        yield from self._text("milestone", case.milestone, "dim")
        yield from self._text("see", case.rule.document, "dim")
        yield "\n"

    def _text(self, label: str, text: str, style: str, *, whole: bool = False, indent: str = INDENT) -> Iterator[str]:
        """Yield a text in lines that fit; `whole` is never broken."""
        said = escape(f"{label}: {text}" if label else text)
        for line in [said] if whole else beside(said, self.look, indent, hanging="  " if label else ""):
            yield f"{indent}{self.look.paint(style, line) if style else line}\n"


def rule_lines(rule: Rule, look: Look) -> Iterator[str]:
    """Yield the lines of a rule: what it looks for, and how often its cases were right in trials."""
    known = rule_object(rule)
    yield f"{look.paint(MARKS[rule.severity][1], rule.code)}  {rule.severity.value}: {rule.title}\n"
    labels = {"looks_for": "looks for", "milestone": "milestone", "advice": "fix", "document": "see"}
    texts = {label: str(known[name]) for name, label in labels.items()}
    texts |= {"alternatively": "; ".join(rule.alternatives), "explains": ", ".join(known["explains"])}
    for label, text in texts.items():
        text = PLACEHOLDER.sub(lambda found: found[1].upper(), text)
        for line in beside(f"{label}: {text}", look, INDENT, hanging="  ") if text else ():
            yield f"{INDENT}{line}\n"
    for claim, by_kind in known["trials"].items():
        hits, misses = (sum(counts) for counts in zip(*by_kind.values(), strict=True))
        total = f"{claim}: right in {hits} of {amounts.count(hits + misses, 'trial')}"
        shown = certainty(rule.code, claim)
        yield f"\n{INDENT}{total}{f', so printed as {shown}' if shown != claim else ''}\n"
        rows = [(kind, f"{right} of {right + wrong}") for kind, (right, wrong) in by_kind.items()]
        yield from (f"{line}\n" for line in aligned(rows, look, ("name", ""), indent=2 * len(INDENT)))
    if not known["trials"]:
        yield f"\n{INDENT}no trials, so at most likely\n"


def command(case: Case, file: str) -> str:
    """Return the command that shows the first exchange of the evidence; "" where there is none, or no file."""
    numbers = case.evidence.exchanges
    return f"kdbg decode {shlex.quote(file)}#{numbers[0]}" if numbers and file else ""


def evidence_text(case: Case, file: str) -> str:
    """Return the command that shows an exchange of the evidence, and where else to look."""
    numbers, packets, shown = case.evidence.exchanges, case.evidence.packets, command(case, file)
    parts = []
    if numbers:
        others = ", ".join(f"#{number}" for number in numbers[1 if shown else 0 :])
        parts.append(" ".join(filter(None, (shown, f"(and {others})" if shown and others else others))))
    if packets:
        parts.append(f"packet{'s' * (len(packets) > 1)} {', '.join(map(str, packets))}")
    if case.evidence.fields and numbers:
        parts.append(f"fields {', '.join(case.evidence.fields)}")
    return " · ".join(parts)


def case_line(case: Case) -> bytes:
    """Return a case as a line of JSON."""
    import orjson  # which texts do without

    return orjson.dumps(case_object(case)) + b"\n"


class LintView:
    """Writes remarks."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.clock = Clock(local=look.local)

    def lines(self, remarks: Sequence[Remark]) -> Iterator[str]:
        """Yield the lines: a heading for each party, a line for each remark."""
        if not remarks:
            yield self.look.paint("good", "no violations found") + "\n"
        for party, some in groupby(remarks, key=lambda remark: remark.party):
            yield self.look.paint("heading", escape(named(party))) + "\n"
            for remark in some:
                mark, style = MARKS[remark.lint.severity]
                first, at = remark.seen.first, ""
                if first is not None:
                    when = f" at {self.clock.times[first.time // 1_000_000]}" if first.time else ""
                    at = f", first #{first.number}{when}"
                about = f" ({escape(remark.about)})" if remark.about else ""
                what = remark.lint.what if remark.mistake is None else escape(remark.mistake.text)
                times = amounts.times(remark.seen.count)
                said = f"{mark} {remark.lint.code}: {what}{about}; {times}{at} · {remark.lint.document}"
                for line in beside(said, self.look, "  ", hanging="  "):
                    yield f"  {self.look.paint(style, line)}\n"


def named(party: Party) -> str:
    """Return who did it; not escaped."""
    if party.broker:
        return f"broker {party.broker}"
    name = f"client {party.client_id}" if party.client_id else "client without client.id"
    return f"{name} · {party.host} · {party.software or 'unknown software'}"


class StoryView:
    """Writes stories, and lists of them."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.clock = Clock(local=look.local)

    def lines(self, events: Sequence[Event]) -> Iterator[str]:
        """Yield the lines of a story."""
        from ...analysis.diagnosis.stories.text import sentence  # which other views do without

        for event in events:
            at = self.clock.times[event.time // 1_000_000] if event.time > 0 else "            "
            style = MARKS[event.case.severity][1] if event.case is not None else "bad" if event.kind == "error" else ""
            text = escape(sentence(event)) + "".join(f"  #{number}" for number in event.exchanges[:1])
            indent = " " * (len(at) + 1)
            for number, piece in enumerate(beside(text, self.look, indent)):
                head = self.look.paint("dim", at) + " " if not number else indent
                yield f"{head}{self.look.paint(style, piece) if style else piece}\n"

    def listing(self, subjects: Iterable[tuple[str, Subject]]) -> Iterator[str]:
        """Yield a line for everything there is a story of, as the option that tells it."""
        from ...analysis.diagnosis.stories.text import about

        rows = [(f"--{kind} {escape(subject.name)}", about(subject)) for kind, subject in subjects]
        widest = min(max((len(option) for option, _ in rows), default=0), 48)
        for option, what in rows:
            yield f"{self.look.paint('name', option.ljust(widest))}  {self.look.paint('dim', what)}\n"


VERDICT_MARKS = {"stops": ("✗", "bad"), "unclear": ("?", "note")}
VERDICTS = {"stops": "breaks", "unclear": "may break"}


class ReadinessView:
    """Writes clients; `release` is what they are held against."""

    def __init__(self, look: Look, release: str) -> None:
        self.look, self.release = look, release
        self.clock = Clock(local=look.local)

    def lines(self, clients: Sequence[Client]) -> Iterator[str]:
        """Yield the lines: those that stop, those that may, then how many are fine."""
        for client in clients:
            if client.verdict in VERDICT_MARKS:
                yield from self._client(client)
        counts = {verdict: sum(client.verdict == verdict for client in clients) for verdict in ("fine", "broker")}
        clients_fine = f"{amounts.count(counts['fine'], 'client')} compatible with Kafka {self.release}"
        brokers = f", {amounts.count(counts['broker'], 'broker')} not checked" if counts["broker"] else ""
        yield self.look.paint("good" if counts["fine"] else "dim", f"{clients_fine}{brokers}") + "\n"

    def _client(self, client: Client) -> Iterator[str]:
        mark, style = VERDICT_MARKS[client.verdict]
        name = f"client {client.client_id}" if client.client_id else "client without client.id"
        where = f"{client.host} · {client.software or 'unknown software'}"
        count = amounts.count(client.connections, "connection")
        text = self.look.paint(style, f"{mark} {escape(name)} {VERDICTS[client.verdict]}")
        yield f"{text}  {self.look.paint('dim', escape(f'{where} · {count}'))}\n"
        for one in client.missing:
            for line in beside(self._missing(one), self.look, INDENT, hanging="  "):
                yield f"{INDENT}{line}\n"

    def _missing(self, one: Missing) -> str:
        if one.lowest is None:
            has = f"Kafka {self.release} does not have {one.api}"
        elif one.lowest == one.highest:
            has = f"Kafka {self.release} supports only v{one.lowest}"
        else:
            has = f"Kafka {self.release} supports v{one.lowest} to v{one.highest}"
        last = f"; Kafka {one.until} is the last that supports v{one.version}" if one.until else ""
        came = f"; Kafka {one.since} is the first that supports v{one.version}" if one.since and not one.until else ""
        first = self.clock.times[one.first.time // 1_000_000] if one.first.time > 0 else "an unknown time"
        more = ""
        if one.negotiable:
            above = one.highest is not None and one.version > one.highest
            more = "; the client negotiates versions and may support a lower one" if above else (
                "; its broker offered no higher version, so the client may support one"
            )  # fmt: skip
        return f"{one.api} v{one.version}: {has}{last}{came}; first #{one.first.number} at {first}{more}"
