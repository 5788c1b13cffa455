"""The words grammars are written in: a declaration for all versions of a message, and `at(version)` to make it one.

    request = Struct(
        "topics" / NullableSince(1, Array(
            "topic_id" / Since(10, TopicId),
            "name" / NullableSince(10, TopicName),
        )) * "topics to describe; null means all",
        "allow_auto_topic_creation" / Since(4, Default(Boolean, True)) * "whether a missing topic may be created",
    )

Version words stand in front of the type and say nothing where a field has always been there. What a field means stands
after it, in construct's own way; where it does not, the type may say it (`TopicName`). In flexible versions
(KIP-482) strings, bytes and arrays become compact and every structure ends with tagged fields, by themselves; in
versions with optional fields (the draft of KIP-482) every structure begins with those.
A declaration holds no bytes and reads none: `specialise` turns it into nodes (wire/nodes).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from ....errors import GrammarError
from ..nodes import NO_DEFAULT, Field, LengthPrefixed, NullableStruct, UnreadStruct, WireArray, WireStruct
from ..nodes.leaves import (
    COMPACT_LENGTH,
    INT32,
    AnyConstruct,
    AnySubconstruct,
    DocumentedConstruct,
    Fixed,
    Length,
    Node,
    RemainingBytes,
    Renamed,
    Sized,
    Stream,
    Varint,
)

if TYPE_CHECKING:
    from .payload import Holding

FOREVER = 1 << 15
"""One more than any version: API versions are INT16."""
Release = tuple[int, int]
"""A release of Kafka, as (3, 6)."""
NEWEST: Release = (FOREVER, 0)


class At(NamedTuple):
    """Which version a declaration is specialised to, and whether that version is flexible.

    `release` asks for the form that the version had in an older release of Kafka; see `BeforeRelease`.
    `optional`: the version has optional fields (the draft of KIP-482); it is not flexible then.
    """

    version: int
    flexible: bool
    release: Release = NEWEST
    optional: bool = False


class Declaration(DocumentedConstruct):
    """A type whose wire form depends on the version; `"name" / declaration` makes it a field, as in construct.

    It is a construct that reads and writes by itself once construct's context says which version is meant:
    `metadata.request.parse(data, version=4)`, also inside constructs of other kinds. Whether that version is flexible
    is known to the declarations of an Api; elsewhere `flexible=True` says so.
    """

    flexible_from: int | None = None
    optional_in: range = range(0)

    def bind(self, flexible: int, optional: range) -> None:
        """Remember which versions are flexible; raise `TypeError` where another Api has said otherwise before."""
        if self.flexible_from is not None and (self.flexible_from, self.optional_in) != (flexible, optional):
            raise TypeError(f"two APIs with different flexible versions share {self!r}")
        self.flexible_from, self.optional_in = flexible, optional

    def at_context(self, context: Any) -> At:
        """Return the version that construct's context asks for; `GrammarError` where it names none."""
        said = (context.get("_params") or context) if context is not None else {}
        version = said.get("version")
        if type(version) is not int:
            raise GrammarError(f"{type(self).__name__} needs a version in the context: parse(data, version=4)")
        flexible = said.get("flexible", self.flexible_from is not None and version >= self.flexible_from)
        return At(version, bool(flexible), optional=version in self.optional_in)

    def _parse(self, stream: Stream, context: Any, path: str) -> Any:
        return self.at(self.at_context(context))._parse(stream, context, "")

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        return self.at(self.at_context(context))._build(value, stream, context, "")

    def at(self, at: At, *, nullable: bool = False) -> Node:
        raise NotImplementedError


def specialise(subcon: AnyConstruct, at: At, *, nullable: bool = False) -> Node:
    """Return the node that a declaration becomes at one version; a node is returned as it is.

    Raise `TypeError` for a `nullable` type that cannot be null.
    """
    if isinstance(subcon, Declaration):
        return subcon.at(at, nullable=nullable)
    if nullable:
        raise TypeError(f"{subcon!r} cannot be null")
    assert isinstance(subcon, Node)
    return subcon


@dataclass(eq=False, repr=False)
class Text(Declaration):
    """STRING or BYTES in the form the version wants; `number` is the classic length's type."""

    bnf: str
    number: Fixed | Varint
    _: KW_ONLY
    text: bool
    kind: str = ""
    when: str = ""
    holds: Holding | None = None

    def means(self, kind: str, when: str = "", holds: Holding | None = None) -> Text:
        """Return the same type on the wire with another meaning; see `Secret` and `Holds`."""
        meant = copy.copy(self)
        meant.kind, meant.when, meant.holds = kind, when, holds
        return meant

    def at(self, at: At, *, nullable: bool = False) -> Sized:
        compact = at.flexible and isinstance(self.number, Fixed)
        name = f"{'COMPACT_' * compact}{'NULLABLE_' * nullable}{self.bnf}"
        length = COMPACT_LENGTH if compact else Length(self.number, 0)
        return Sized(name, length, text=self.text, nullable=nullable, kind=self.kind, when=self.when, holds=self.holds)


class Struct(Declaration):
    """Fields in wire order, each `"name" / type`.

    Two fields may share a name or a tag only when their versions do not meet; `TypeError` where they do.
    """

    def __init__(self, *fields: Renamed) -> None:
        self.declared = fields
        self._said = [(field.name or "", *rules_of(field)) for field in fields]
        groups: dict[object, list[tuple[int, str, FieldRules]]] = {}
        for place, (name, rules, _) in enumerate(self._said, 1):
            groups.setdefault(name, []).append((place, name, rules))
            if rules.tag is not None:
                groups.setdefault((rules.tag, rules.optional), []).append((place, name, rules))
        pairs = ((key, *pair) for key, group in groups.items() if len(group) > 1 for pair in combinations(group, 2))
        for key, (place, name, one), (other_place, other_name, other) in pairs:
            first, last = max(one.first, other.first), min(one.last, other.last)
            releases = max(one.since_release, other.since_release) < min(one.before_release, other.before_release)
            forms = one.tag is None or other.tag is None or one.optional == other.optional
            if first > last or not releases or not forms:
                continue  # no version has both
            where = f"from version {first} on" if last >= FOREVER else f"in versions {first} to {last}"
            where = f"in version {first}" if first == last else where
            if key == name:
                raise TypeError(f"fields {place} and {other_place} are both called {name!r} {where}")
            raise TypeError(f"{name!r} and {other_name!r} both have tag {one.tag} {where}")

    def at(self, at: At, *, nullable: bool = False) -> Node:
        struct = self.structure(at)
        return NullableStruct(struct) if nullable else struct

    def structure(self, at: At) -> WireStruct:
        """Return the structure as it is at one version, with the fields that the version has."""
        fields, tags = [], {}
        for name, rules, type in self._said:
            if not rules.has(at):
                continue
            node = specialise(type, at, nullable=rules.nullable(at.version))
            if rules.tag is not None and not rules.optional and isinstance(node, NullableStruct):
                node = NullableStruct(node.struct, null=0)
            field = Field(name, node, rules.initial, rules.tag, rules.about)
            if field.tag is None:
                fields.append(field)
            else:
                tags[field.tag] = field
        return WireStruct(tuple(fields), tags if at.flexible or at.optional else None, front=at.optional)


class Unread(Struct):
    """A body without a known grammar: its bytes as they are, with no tagged fields after them."""

    def __init__(self, *, secret: bool = False) -> None:
        super().__init__()
        self.body: RemainingBytes = RemainingBytes("secret") if secret else RemainingBytes()

    def structure(self, at: At) -> UnreadStruct:
        return UnreadStruct((Field("body", self.body),), None)


class Array(Declaration):
    """A count, then items: of one type, or of the anonymous structure that the given fields make."""

    def __init__(self, *of: Any, number: Fixed | Varint = INT32) -> None:
        self.of: Any | Struct = of[0] if len(of) == 1 and of[0].name is None else Struct(*of)
        self.number = number

    def at(self, at: At, *, nullable: bool = False) -> WireArray:
        compact = at.flexible and isinstance(self.number, Fixed)
        name = f"{'COMPACT_' * compact}{'NULLABLE_' * nullable}ARRAY"
        length = COMPACT_LENGTH if compact else Length(self.number, 0)
        return WireArray(name, length, specialise(self.of, at), nullable=nullable)


@dataclass(eq=False, repr=False)
class Prefixed(Declaration):
    """A length in bytes, then one structure that fills it."""

    number: Fixed | Varint
    of: Struct

    def at(self, at: At, *, nullable: bool = False) -> LengthPrefixed:
        return LengthPrefixed(self.number, self.of.structure(at))


@dataclass(eq=False, repr=False)
class Classic(Declaration):
    """What never becomes compact, whatever the version: the client id of request header v2 (KIP-511)."""

    of: Declaration

    def at(self, at: At, *, nullable: bool = False) -> Node:
        return self.of.at(at._replace(flexible=False), nullable=nullable)


class FieldRules(NamedTuple):
    """What the words in front of a field's type have said of it so far."""

    first: int = 0
    last: int = FOREVER
    nullable_from: int = FOREVER
    nullable_until: int = FOREVER
    initial: Any = NO_DEFAULT
    tag: int | None = None
    optional: bool = False
    since_release: Release = (0, 0)
    before_release: Release = (FOREVER + 1, 0)
    ignorable: bool = False
    about: str = ""
    """What the field means: its own text, or that of its type."""

    def has(self, at: At) -> bool:
        """Return whether a version has the field: a tagged one only where the version has tags, and in this form."""
        here = self.first <= at.version <= self.last and self.since_release <= at.release < self.before_release
        return here and (self.tag is None or (at.optional if self.optional else at.flexible))

    def nullable(self, version: int) -> bool:
        return self.nullable_from <= version <= self.nullable_until


class Word(AnySubconstruct):
    """A word in front of a type: it changes the field's rules, never the bytes of the type after it."""

    def __init__(self, subcon: AnyConstruct, **rules: Any) -> None:
        super().__init__(subcon)
        self.rules: Mapping[str, Any] = rules


def rules_of(declared: Renamed) -> tuple[FieldRules, AnyConstruct]:
    """Return the rules that the words in front of a field's type give, the text after it included, and the type."""
    said, about = dict[str, Any](), ""
    subcon: AnyConstruct = declared
    while isinstance(subcon, (Renamed, Word)):
        about = about or subcon.docs
        if isinstance(subcon, Word):
            said.update(subcon.rules)
        subcon = subcon.subcon
    return FieldRules(**said | {"about": about or subcon.docs}), subcon


def Since(first: int, of: AnyConstruct) -> Word:
    """Declare a field that is there from version `first` on."""
    return Word(of, first=first)


def Until(last: int, of: AnyConstruct) -> Word:
    """Declare a field that is there up to version `last`, included."""
    return Word(of, last=last)


def Between(first: int, last: int, of: AnyConstruct) -> Word:
    """Declare a field that is there in the versions `first` to `last`, both included."""
    return Word(of, first=first, last=last)


def Only(version: int, of: AnyConstruct) -> Word:
    """Declare a field that is there in one version only."""
    return Word(of, first=version, last=version)


def BeforeRelease(release: Release, of: AnyConstruct) -> Word:
    """Declare a field that releases of Kafka before `release` wrote in the same version.

    Kafka has changed the layout of versions that were already in use.
    """
    return Word(of, before_release=release)


def SinceRelease(release: Release, of: AnyConstruct) -> Word:
    """Declare a field that releases of Kafka before `release` did not write in the same version."""
    return Word(of, since_release=release)


def Nullable(of: AnyConstruct) -> Word:
    """Declare that a string, bytes, array, record set or structure may be null in every version."""
    return Word(of, nullable_from=0)


def NullableSince(first: int, of: AnyConstruct) -> Word:
    """Declare that a field may be null from version `first` on."""
    return Word(of, nullable_from=first)


def NullableUntil(last: int, of: AnyConstruct) -> Word:
    """Declare that a field may be null up to version `last`, included."""
    return Word(of, nullable_from=0, nullable_until=last)


def Default(of: AnyConstruct, value: Any) -> Word:
    """Declare the value that a field takes when it is left out, where that is not zero, empty or false."""
    return Word(of, initial=value)


def Tag(number: int, of: AnyConstruct) -> Word:
    """Declare a tagged field (KIP-482): it follows the plain ones, and only when it was set."""
    return Word(of, tag=number)


def Optional(number: int, of: AnyConstruct) -> Word:
    """Declare an optional field (draft of KIP-482): it stands in front of the plain ones, and only when it was set."""
    return Word(of, tag=number, optional=True)


def Ignorable(of: AnyConstruct) -> Word:
    """Declare that a field may be dropped: a version that lacks it is written without it, even where it was set."""
    return Word(of, ignorable=True)


def Secret(of: Text, when: str = "") -> Text:
    """Declare bytes or a string that no view shows by default.

    `when` names a sibling that decides it: a boolean, or a name that looks like that of a secret.
    """
    return of.means("secret", when)


def Holds(of: Text, holding: Holding) -> Text:
    """Declare bytes with a grammar of their own.

    `holding` picks the grammar by the bytes and the values around them (payload.py).
    """
    return of.means(of.kind, of.when, holding)


def Enum(of: Fixed, names: Mapping[int, str]) -> Fixed:
    """Declare a number of which some or all values have names: value -> name."""
    return of.means("enum", names)


def Bits(of: Fixed, names: Mapping[int, str]) -> Fixed:
    """Declare a number that is a bit set, with the names of its bits: bit number, 0 for the lowest -> name."""
    return of.means("bits", names)
