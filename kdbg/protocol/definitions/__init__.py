"""Kafka's JSON message definitions, and the KIP-482 draft's, as a second front end to the grammars of kdbg.

    definition = read(text, "FooRequest.json")      # checked; DefinitionError with file, line and field
    declare(definition).at(2)                       # its grammar at version 2: every reading works on it
    apis([definition, ...])                         # APIs for grammars.serving
    declared(text, "FooValue.json")                 # both steps, for a message that is no API
    MessageType.defined(definition)(bar=1).write(2)  # MessageData: one Message for every version
    compare(definition, changed).broken             # the rules on compatible change that a newer one breaks
    history([definition, changed, ...])             # the same over all releases, oldest first

Text becomes objects that know their lines (text), these a model (parse, model), this the very declarations that kdbg's
own grammars are, and those APIs (declaration). MessageData stands in message_data, the rules on
compatible change in compatible. No I/O: `kdbg.using_definitions` and `kdbg.library.read_definitions` read the files.
"""

from .compatible import DefinitionDiff, compare, history
from .declaration import Declared, DefinedApis, apis, declare, declared, pairs
from .message_data import MessageData, MessageStruct, MessageType
from .model import FieldDefinition, MessageDefinition, StructDefinition, Versions
from .parse import read
from .text import LARGEST

__all__ = [
    "LARGEST", "Declared", "DefinedApis", "DefinitionDiff", "FieldDefinition", "MessageData", "MessageDefinition",
    "MessageStruct", "MessageType", "StructDefinition", "Versions", "apis", "compare", "declare", "declared", "history",
    "pairs", "read",
]  # fmt: skip
