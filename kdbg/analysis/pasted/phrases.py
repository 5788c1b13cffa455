"""Phrases of Kafka's clients and brokers: what each one defines, and what it means.

A phrase is a regular expression with three shorthands: `{name}` is a value of the kind GROUPS has for it, `…` up to 200
characters of the same line, `¶` up to 800 characters of the lines after. A sentence has the values by the same names
(`{name:byte}`: a number with its noun); a part of it in square brackets is left out where the phrase did not define its
values. Phrases are looked for in the order of the table: the first that fits a place of a text defines it. Numbers
outside phrases mean nothing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

NUMBER = r"-?\d{1,11}(?![\d.]*\d)"
NAME = r"[A-Za-z]\w{1,60}"
GROUPS = {
    "api": rf"(?:{NAME}?|\d{{1,3}})", "direction": "(?i:request|response)", "version": r"\d{1,5}",
    "fields": r"(?:Error reading field '\w+': ){1,9}", "field": r"\w+", "kind": r"array|string|bytes", "type": r"\w+?",
    "size": NUMBER, "length": NUMBER, "count": NUMBER, "id": NUMBER, "seen": NUMBER, "awaited": NUMBER,
    "left": r"\d{1,10}", "limit": r"\d{1,11}", "at": r"\d{1,11}", "crc": r"0x[0-9a-fA-F]{1,8}|\d{1,10}",
    "sum": r"0x[0-9a-fA-F]{1,8}|\d{1,10}", "magic": r"\d{1,3}", "error": rf"-?\d{{1,3}}\b|{NAME}",
    "exception": rf"(?!Timeout){NAME}?",
    "topic": r"[\w.-]{1,249}", "partition": r"[\w.-]{1,249}", "offset": r"\d{1,19}", "last": r"\d{1,19}",
    "records": r"\d{1,10}", "position": r"\d{1,19}", "node": r"-?\d{1,10}",
    "setting": r"[\w.]+", "time": r"[\d.]{1,12}",
    "structure": r"\w+", "call": r"\w+", "shown": r".{1,1000}", "payload": r"Subscription|Assignment",
    "told": r"[^\n\"]{1,200}",
}  # fmt: skip
"""What each name stands for. `size`, `length`, `count`, `id`, `seen`: numbers as they were read from the wire."""


class Phrase(NamedTuple):
    """A phrase of a program (`format`), what it means, and what to do."""

    format: str
    phrase: str
    sentence: str
    advice: str = ""


OTHER_LAYOUT = (
    "The bytes have the layout of another version, or of another API, than the reader expects. Compare the version in "
    "the request header with the layout that the sender writes; give the bytes to `kdbg explain`."
)
ENDS_EARLY = (
    "The sender uses an older layout than that of the version in the header, or the bytes are truncated. Give the "
    "bytes to `kdbg explain` to see where they end."
)
DAMAGED = (
    "The bytes changed after the checksum was computed, on disk or in transit, or the producer computed it over other "
    "bytes. Read the batch with `kdbg decode` on the segment file or on a capture."
)
OLD_MAGIC = (
    "The reader knows only message sets (magic 0 and 1). Set the client's protocol version to 0.11 or later (sarama: "
    "Config.Version), or upgrade the client."
)
ANOTHER_LISTENER = (
    "Check security.protocol and sasl.mechanism against the listener's: a TLS or SASL listener closes a connection "
    "that does not begin with its handshake."
)
UNKNOWN_VERSION = "Send ApiVersions first and use a version that both sides support; or upgrade the older program."

TABLE: tuple[tuple[str, ...], ...] = (
    # Java: clients and brokers
    ("Java", r"{fields}Error reading {kind} of (?:size|length) {length}, only {left} bytes available",
     "{fields}: {kind} of length {length}, only {left:byte} left", OTHER_LAYOUT),
    ("Java", r"{fields}java\.nio\.BufferUnderflowException¶ConsumerProtocol\.deserialize{payload}",
     "the ConsumerProtocol{payload} ends before its field {fields}",
     "The bytes are empty or have another layout: the member has no assignment yet, or is not a consumer."),
    ("Java", r"{fields}java\.nio\.BufferUnderflowException(?:¶readOffsetMessage{payload})?",
     "the message ends before its field {fields}", ENDS_EARLY),
    ("Java", r"Error (?:getting|parsing|reading) request for apiKey: {api}(?: and|,) apiVersion: {version}¶"
     r"Invalid version for API key \w+: \d+",
     "the broker does not know {api} v{version}: the broker is older than the client", UNKNOWN_VERSION),
    ("Java", r"[Ee]rror (?:getting|parsing|reading) request for apiKey: {api}(?: and|,) apiVersion: {version}"
     r"(?:¶(?:BufferUnderflow|remaining|only \d+ bytes|Tried to allocate)¶Data\${structure}\.read)?",
     "the broker could not parse a {api} v{version} request[: the request ends inside {structure}]", "{older}"),
    ("Java", r"Invalid version for API key {api}: {version}",
     "the program does not know {api} v{version}: it is older than the other side", UNKNOWN_VERSION),
    ("Java", r"Received request api key {api} with version {version} which is not (?:enabled|supported)",
     "the broker does not accept {api} v{version}", f"Kafka 4.0 removed old versions (KIP-896). {UNKNOWN_VERSION}"),
    ("Java", r"Received request for api with key \d+ \({api}\) and unsupported version {version}",
     "the broker does not accept {api} v{version}", f"Kafka 4.0 removed old versions (KIP-896). {UNKNOWN_VERSION}"),
    ("Java", r"Unexpected ApiKeys id `{api}`", "the broker does not know the API {api}", UNKNOWN_VERSION),
    ("Java", r"Correlation id for response \({seen}\) does not match request \({awaited}\)"
     r"(?:, request header: RequestHeader\(apiKey={api}, apiVersion={version})?",
     "correlation id {seen}, expected {awaited}[, that of {api} v{version}]: the response to a request "
     "sent {apart}", "{order}"),
    ("Java", r"baseOffset: {offset} lastOffset: {last} count: {records}…position: {position}…isvalid: true",
     "a valid batch: offsets {offset} to {last}, {records:record} at position {position}; its checksum is correct"),
    ("Java", r"baseOffset: {offset} lastOffset: {last} count: {records}…position: {position}…isvalid: false",
     "a damaged batch: offsets {offset} to {last}, {records:record} at position {position}; its checksum is wrong",
     DAMAGED),
    ("Java", r"offset: {offset} (?:position: {position} )?…isvalid: true",
     "a valid message: offset {offset}[ at position {position}]; its checksum is correct"),
    ("Java", r"offset: {offset} (?:position: {position} )?…isvalid: false",
     "a damaged message: offset {offset}[ at position {position}]; its checksum is wrong", DAMAGED),
    ("Java", r"(?:Record for partition {partition} at offset {offset} is invalid, cause: )?"
     r"Record is corrupt \(stored crc = {crc}, computed crc = {sum}\)",
     "[partition {partition}, offset {offset}: ]the record has checksum {crc}, computed {sum}", DAMAGED),
    ("Java", r"Tried to allocate a collection of size {count}, but there are only {left} bytes remaining",
     "an array of {count:item}, only {left:byte} left", OTHER_LAYOUT),
    ("Java", r"Error reading byte array of {length} byte\(s\): only {left} byte\(s\) available",
     "a field of {length:byte}, only {left:byte} left", OTHER_LAYOUT),
    ("Java", r"parsing {direction} for request with header RequestHeader\(apiKey={api}, apiVersion={version}",
     "the client could not parse the {direction} to {api} v{version}", OTHER_LAYOUT),
    ("Java", r"BufferUnderflowException¶ByteBufferAccessor\.read{type}\(¶message\.{api}{direction}Data"
     r"(?:\${structure})?\.read", "a {api} {direction} ends before an {type}[ of {structure}]", ENDS_EARLY),
    ("Java", r"message\.{api}{direction}Data(?:\${structure})?\.read\(",
     "the program was parsing a {api} {direction}[, inside {structure}]"),
    ("Java", r"\b{api}{direction}Data\({shown}", "fields of a {api} {direction}, as Java prints them: {shown}"),
    ("Java", r"Invalid receive \(size = {size}(?: larger than {limit})?\)", "size {size}"),
    ("Java", r"The message is {size} bytes when serialized which is larger than {limit}, which is the value of the "
     r"{setting} configuration", "the record has {size:byte}, above {setting} ({limit}): the producer rejects it "
     "with MESSAGE_TOO_LARGE",
     "Raise {setting}, and message.max.bytes of the broker or topic, or send smaller records."),
    ("Java", r"Cancelled in-flight {api} request with correlation id {awaited} due to node {node} being "
     r"disconnected", "{api} request with correlation id {awaited} has no response: the connection to node {node} "
     "closed", "Find out from the broker's log whether the broker or the network closed the connection, and why."),
    ("Java", r"Error deserializing (?:key/value|KEY|VALUE|key|value) for partition {partition} at offset {offset}",
     "the deserializer rejects the record of partition {partition} at offset {offset}; the Kafka protocol is not "
     "involved"),
    ("Java", r"Unknown magic byte!", "the value does not begin with 00, the magic byte of Schema Registry's "
     "serializers", "Use the deserializer that matches the producer's serializer."),
    # librdkafka: Confluent's clients for Python, Go and .NET, kcat
    ("librdkafka", r"Protocol parse failure for ApiVersions? v{version}¶ApiArrayCnt -1 out of range",
     "the broker responds to ApiVersions v{version} with UNSUPPORTED_VERSION in the layout of v0; librdkafka then "
     "sends v0", "This is harmless: the broker is older than 2.4."),
    ("librdkafka", r"Protocol parse failure at {at}/{size} \(rd_kafka_msgset_reader¶expected {length} bytes > {left} "
     r"remaining bytes", "the message set is truncated after {size:byte}: its last message has {length:byte}, "
     "{left} present", "This is normal: a fetch size ends inside a message, which the next Fetch returns complete."),
    ("librdkafka", r"Protocol (?:parse failure|read buffer underflow) for {api} v{version}(?:\(flex\))? at {at}/{size}…"
     r"¶expected {length} bytes > {left} remaining bytes",
     "{api} response v{version}: at byte {at} of {size}, a field of {length:byte}, only {left:byte} left",
     OTHER_LAYOUT),
    ("librdkafka", r"Protocol parse failure for {api} v{version}(?:\(flex\))? at {at}/{size}[^\n]*",
     "{api} response v{version}: librdkafka stops at byte {at} of {size}", OTHER_LAYOUT),
    ("librdkafka", r"expected {length} bytes > {left} remaining bytes",
     "a field of {length:byte}, only {left:byte} left",
     "Set api.version.request=true (the default), or broker.version.fallback to the broker's version."),
    ("librdkafka", r"Invalid (?:message|response) size {size} \(0\.\.{limit}\)", "size {size}"),
    ("librdkafka", r"Timed out {api}Request in flight \(after {time}ms",
     "{api} request without a response for {time} ms", ANOTHER_LISTENER),
    ("librdkafka", r"Disconnected while requesting {api}: might be caused by incorrect security\.protocol",
     "the broker closed the connection instead of responding to {api}", ANOTHER_LISTENER),
    ("librdkafka", r"Message at offset {offset} \({left} bytes\) failed CRC32 check \(original {crc} != "
     r"calculated {sum}\)", "message at offset {offset}, {left:byte}: it has checksum {crc}, computed {sum}",
     DAMAGED),
    ("librdkafka", r"SASL authentication error: {told}", "the broker rejects the login: SASL_AUTHENTICATION_FAILED",
     "Check the user, the password and the mechanism against the broker's."),
    # Go: sarama, franz-go
    ("sarama", r"message of length {size} too large or too small", "size {size}"),
    ("sarama", r"CRC didn't match(?: expected {crc} got {sum})?",
     "a checksum is wrong[: the message has {crc}, computed {sum}]", f"{OLD_MAGIC} Otherwise: {DAMAGED}"),
    ("sarama", r"unknown magic byte \({magic}\)", "a record batch of magic {magic}", OLD_MAGIC),
    ("sarama", r"insufficient data to decode packet, more bytes expected",
     "the response ends before its layout does", "Set Config.Version to the broker's version. " + ENDS_EARLY),
    ("sarama", r"run out of available brokers to talk to¶\bEOF\b",
     "the broker closed the connection before it sent a response", ANOTHER_LISTENER),
    ("franz-go", r"read {api} v{version};…invalid large response size {size} > limit {limit}",
     "{api} response v{version}: size {size}, above the limit of {limit:byte}",
     "Raise kgo.BrokerMaxReadBytes above the fetch sizes."),
    ("franz-go", r"invalid large response size {size} > limit {limit}", "size {size}"),
    # Python: kafka-python, aiokafka, pykafka
    ("Python", r"(?i:correlation ids) do not match: sent {awaited}, recv {seen}",
     "correlation id {seen}, expected {awaited}: the response to a request sent {apart}", "{order}"),
    ("Python", r"unpack(?:_from)? requires a \w+(?: \w+)? of (?:at least |length |size )?{length}(?: bytes)?",
     "the bytes end before a field of {length:byte}", ENDS_EARLY),
    ("Python", r"Invalid frame length: {size}", "size {size}"),
    ("Python", r"Failed to update metadata after {time} secs", "no broker sent usable metadata for {time} s",
     "Check bootstrap_servers, and that the topic exists. " + ANOTHER_LISTENER),
    ("Python", r"OffsetOutOfRangeError: …topic='{topic}', partition={partition}\): {offset}",
     "OFFSET_OUT_OF_RANGE (1): topic {topic}, partition {partition} has no offset {offset}",
     "Set auto_offset_reset, or seek to an offset between the log's start and end."),
    ("Python", r"topic='{topic}', partition={partition}\): {offset}\} whose size is larger than the fetch size {limit}",
     "topic {topic}, partition {partition}: the record at offset {offset} exceeds the fetch size of {limit:byte}",
     "Raise max_partition_fetch_bytes (Java: max.partition.fetch.bytes)."),
    # KafkaJS, ruby-kafka, brod
    ("KafkaJS", r'Response without match"¶"correlationId":\s*{awaited}',
     "a response with correlation id {awaited}, for which no request is pending",
     "Raise requestTimeout: the response arrived after the request had timed out."),
    ("KafkaJS", r"ERR_BUFFER_OUT_OF_BOUNDS¶Decoder\.read{type} ¶requests/{api}/v{version}/{direction}",
     "{api} {direction} v{version}: the bytes end before an {type}", ENDS_EARLY),
    ("KafkaJS", r"ERR_BUFFER_OUT_OF_BOUNDS(?:¶Decoder\.read{type} )?",
     "the bytes end before a field[ of type {type}]", ENDS_EARLY),
    ("KafkaJS", r"type: '{error}'", "error code {error}", "{error_text}"),
    ("ruby-kafka", r"Sending {api} API request {awaited} to¶Connection error EOFError",
     "the broker closed the connection instead of responding to {api}, correlation id {awaited}", ANOTHER_LISTENER),
    ("ruby-kafka", r"Invalid magic byte: {magic}", "a record batch of magic {magic}", OLD_MAGIC),
    ("brod", r"\{:?kpro_rsp,\s*(?:#Ref<[\d.]+>,\s*)?:?{api},\s*{version},", "{api} response v{version}"),
    # Any program
    ("any", r"(?i)corr\w*[\s_-]*ids?\D{0,40}response\D{0,8}{seen}\D{0,40}(?:match|request|expect)\D{0,30}{awaited}",
     "correlation id {seen}, expected {awaited}: the response to a request sent {apart}", "{order}"),
    ("any", r"(?i)corr\w*[\s_-]*ids?\D{0,40}(?:sent|want|expect|await)\D{0,20}{awaited}\D{0,40}"
     r"(?:rec|got|actual|found|but|was)\D{0,30}{seen}",
     "correlation id {seen}, expected {awaited}: the response to a request sent {apart}", "{order}"),
    ("any", r"(?i)(?:got|rec\w*|unexpected)\D{0,40}corr\w*[\s_-]*ids?\D{0,12}{seen}\D{0,40}"
     r"(?:want|expect|sent|await)\D{0,30}{awaited}",
     "correlation id {seen}, expected {awaited}: the response to a request sent {apart}", "{order}"),
    ("any", r"(?i)(?:want|expect)\D{0,40}corr\w*[\s_-]*ids?\D{0,12}{awaited}\D{0,40}"
     r"(?:rec|got|actual|found|but|was)\D{0,30}{seen}",
     "correlation id {seen}, expected {awaited}: the response to a request sent {apart}", "{order}"),
    ("any", r"(?i:corr(?:elation)?[\s_-]*id)\W{1,4}(?:is |of |= )?{id}", "correlation id {id}"),
    ("any", r"(?i:array (?:of )?(?:size|length))\s*[=:]?\s*{count}, only {left} bytes",
     "an array of {count:item}, only {left:byte} left", OTHER_LAYOUT),
    ("any", r"slice bounds out of range \[:{length}\] with (?:capacity|length) {left}",
     "a field that ends at byte {length}, only {left:byte} present", OTHER_LAYOUT),
    ("any", r"(?i:(?:frame|message|receive|response|request|packet)[ _]?(?:size|length))\W{1,4}{size}"
     r"(?: (?:larger|greater|more) than {limit})?", "size {size}"),
    ("any", r"(?:readableBytes|minimumReadableBytes)\s*[=:]\s*{size}", "size {size}"),
    ("any", r"(?i:error[\s_-]*code)\W{1,6}{error}\b", "error code {error}", "{error_text}"),
    ("any", r"\[Error {error}\]", "error code {error}", "{error_text}"),
    ("any", r"\bBroker: {told}", "error code {told}", "{error_text}"),
    ("any", r"\bkafka server: {told}", "error code {told}", "{error_text}"),
    ("any", r'"error":\s*"{told}"', "error code {told}", "{error_text}"),
    ("any", r"\b{exception}(?:Exception|Error)\b", "error code {exception}", "{error_text}"),
    ("any", r"\bKafka::{exception}\b", "error code {exception}", "{error_text}"),
)  # fmt: skip
PHRASES = tuple(Phrase(*row) for row in TABLE)


class Match(NamedTuple):
    """A phrase in a text, from `start` to `end`, and the values that it defines."""

    phrase: Phrase
    values: dict[str, str]
    start: int
    end: int


MOST = 64
"""Phrases of a text that are distinguished."""
LONGEST = 1 << 20
"""Characters of a text that are searched for phrases."""


@cache
def compiled() -> tuple[tuple[Phrase, re.Pattern[str]], ...]:
    """Return each phrase with its regular expression."""

    def expression(phrase: str) -> re.Pattern[str]:
        text = re.sub(r"\{([a-z]+)\}", lambda found: f"(?P<{found[1]}>{GROUPS[found[1]]})", phrase)
        return re.compile(text.replace("…", r"[^\n]{0,200}?").replace("¶", r"[\s\S]{0,800}?"))

    return tuple((phrase, expression(phrase.phrase)) for phrase in PHRASES)


def matches(text: str) -> list[Match]:
    """Return the phrases in a text in the order of their places; of those that say the same, the first."""
    text = text[:LONGEST]
    found: dict[tuple[object, ...], Match] = {}
    taken = bytearray(len(text))
    for phrase, expression in compiled():
        for match in expression.finditer(text):
            start, end = match.span()
            if any(taken[start:end]) or len(found) == MOST:
                continue
            taken[start:end] = b"\1" * (end - start)
            values = {name: value for name, value in match.groupdict().items() if value is not None}
            found.setdefault((phrase.sentence, *sorted(values.items())), Match(phrase, values, start, end))
    return sorted(found.values(), key=lambda match: match.start)


TEXTS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (-1, ("unexpected (unknown?) server error", "the server experienced an unexpected error")),
    (1, ("the requested offset is outside the range", "the requested offset is not within the range")),
    (2, ("message contents does not match its crc", "this message has failed its crc checksum")),
    (3, ("request was for a topic or partition that does not exist", "this server does not host this topic-partition")),
    (4, ("the message has a negative size", "the requested fetch size is invalid")),
    (5, ("in the middle of a leadership election", "there is no leader for this topic-partition")),
    (6, ("tried to send a message to a replica that is not the leader", "for requests intended only for the leader",
         "this server is not the leader for that topic-partition")),
    (7, ("request exceeded the user-specified time limit", "the request timed out")),
    (9, ("replica information not available", "the replica is not available")),
    (10, ("message was too large, server rejected it", "the request included a message larger than")),
    (14, ("offset's topic has not yet been created", "the coordinator is loading", "offsets loading")),
    (15, ("the coordinator is not available", "group coordinator not available")),
    (16, ("request was for a consumer group that is not coordinated", "this is not the correct coordinator",
          "not coordinator for group")),
    (17, ("the request attempted to perform an operation on an invalid topic",)),
    (19, ("messages are rejected since there are fewer in-sync", "not enough in-sync replicas")),
    (22, ("the provided generation id is not the current", "specified group generation id is not valid")),
    (23, ("the provided protocol type is not compatible", "the group member's supported protocols are incompatible",
          "inconsistent group protocol")),
    (25, ("the provided member is not known", "the coordinator is not aware of this member", "unknown member")),
    (27, ("a rebalance for the group is in progress", "the group is rebalancing", "group rebalance in progress")),
    (29, ("the client is not authorized to access this topic", "not authorized to access topic")),
    (30, ("the client is not authorized to access this group", "not authorized to access group")),
    (33, ("the broker does not support the requested sasl mechanism",)),
    (35, ("the version of api is not supported", "local: required feature not supported")),
    (36, ("topic with this name already exists",)),
    (41, ("this is not the correct controller",)),
    (47, ("producer attempted an operation with an old epoch", "producer attempted to produce with an old epoch")),
    (58, ("sasl authentication failed",)),
    (74, ("leader epoch in the request is older", "the leader epoch in the request is older")),
    (82, ("the broker rejected this static consumer", "static consumer fenced")),
)  # fmt: skip


def code_of(text: str) -> int | None:
    """Return the error code whose text begins `text`; None where no client words a code so."""
    said = text.strip().lower()
    return next((code for code, texts in TEXTS if said.startswith(texts)), None)
