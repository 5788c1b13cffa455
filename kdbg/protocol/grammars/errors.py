"""Kafka's error codes: code -> name, whether a retry may help, what happened and what to do about it.

Codes, names, former names and retriable flags are those of Kafka's `Errors` (org.apache.kafka.common.protocol), and
the names in CamelCase those of the protocol guide's table "Error Codes" as of 0.8, as are meanings before 0.9. `since`
is the oldest of the releases looked at that has the code, so its first one may be a little older. The texts are kdbg's
own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Error(NamedTuple):
    """One error code; `former_names` are the names older releases and the guide have for it."""

    code: int
    name: str
    retriable: bool
    text: str
    former_names: tuple[str, ...] = ()
    since: str = ""


class Change(NamedTuple):
    """What a code was before a release: its name, whether a retry was to help, its meaning; each only if it changed."""

    release: str
    name: str = ""
    retriable: bool | None = None
    meaning: str = ""


# fmt: off
SINCE: dict[str, Iterable[int]] = {
    "0.8.2.2": (*range(-1, 4), 5, 6, 7, 10, 12, 13, *range(17, 21)),
    "0.9.0.1": (8, 9, 11, 14, 15, 16, *range(21, 32)), "0.10.0.1": (4, *range(32, 36)), "0.10.2.2": range(36, 45),
    "0.11.0.2": range(45, 56), "1.0.2": range(56, 61), "1.1.0": range(61, 72), "2.0.1": (72,), "2.1.1": range(73, 77),
    "2.2.2": range(77, 82), "2.3.1": (82,), "2.4.1": range(83, 88), "2.5.1": (88,), "2.7.2": range(89, 97),
    "2.8.2": (97, 98, *range(100, 105)), "3.0.2": (105,), "3.1.2": (106,), "3.3.2": (107, 108),
    "3.5.1": range(109, 113), "3.6.2": (113,), "3.7.2": range(114, 120), "3.8.1": (120,), "3.9.2": range(121, 128),
    "4.0.1": (128, 129), "4.1.1": (99, *range(130, 134)), "4.4.0": (134, 135, 136),
}
"""Release -> the codes that it has and older ones that were looked at have not."""
_SINCE = {code: release for release, codes in SINCE.items() for code in codes}
ERRORS: dict[int, Error] = {error.code: error._replace(since=_SINCE[error.code]) for error in (
    Error(-1, "UNKNOWN_SERVER_ERROR", False,
          "The broker failed with an error that has no code of its own. Check the broker's log.",
          ("UNKNOWN", "Unknown")),
    Error(0, "NONE", False, "The operation succeeded.", ("NoError",)),
    Error(1, "OFFSET_OUT_OF_RANGE", False,
          "The partition has no record at this offset: it was deleted, or is not written yet. Reset the position.",
          ("OffsetOutOfRange",)),
    Error(2, "CORRUPT_MESSAGE", True,
          "A batch is damaged: its CRC or its lengths are wrong. Retry; if it persists, suspect the sender.",
          ("InvalidMessage",)),
    Error(3, "UNKNOWN_TOPIC_OR_PARTITION", True,
          "The topic or partition does not exist, or not yet on this broker. Refresh the metadata and retry.",
          ("UnknownTopicOrPartition",)),
    Error(4, "INVALID_FETCH_SIZE", False, "The fetch size is not valid. Correct the request.",
          ("InvalidMessageSize",)),
    Error(5, "LEADER_NOT_AVAILABLE", True,
          "The partition has no leader; an election is in progress. Refresh the metadata and retry.",
          ("LeaderNotAvailable",)),
    Error(6, "NOT_LEADER_OR_FOLLOWER", True,
          "This broker is not the leader of the partition, or has no replica of it. Refresh the metadata and retry.",
          ("NOT_LEADER_FOR_PARTITION", "NotLeaderForPartition")),
    Error(7, "REQUEST_TIMED_OUT", True,
          "The broker did not finish within the timeout of the request, but may still do so. Retry.",
          ("RequestTimedOut",)),
    Error(8, "BROKER_NOT_AVAILABLE", False,
          "A broker is down or not ready. Brokers send this code to each other, not to clients.",
          ("BrokerNotAvailable",)),
    Error(9, "REPLICA_NOT_AVAILABLE", True,
          "The replica is not available here. Refresh the metadata and retry; in a Metadata response, ignore it.",
          ("Unused",)),
    Error(10, "MESSAGE_TOO_LARGE", False,
          "A record or batch exceeds message.max.bytes (max.message.bytes of the topic). Send smaller ones.",
          ("MessageSizeTooLarge",)),
    Error(11, "STALE_CONTROLLER_EPOCH", False,
          "The sender is no longer the controller. Only between brokers.",
          ("StaleControllerEpochCode",)),
    Error(12, "OFFSET_METADATA_TOO_LARGE", False,
          "The metadata string of a commit exceeds offset.metadata.max.bytes. Shorten it.",
          ("OffsetMetadataTooLargeCode",)),
    Error(13, "NETWORK_EXCEPTION", True,
          "The connection closed before the response arrived. Only clients set this code. Reconnect and retry."),
    Error(14, "COORDINATOR_LOAD_IN_PROGRESS", True,
          "The coordinator is loading its state after a change of leader. Retry after a backoff.",
          ("GROUP_LOAD_IN_PROGRESS", "OffsetsLoadInProgressCode")),
    Error(15, "COORDINATOR_NOT_AVAILABLE", True,
          "No coordinator is available; its topic may be new or without a leader. Retry FindCoordinator.",
          ("GROUP_COORDINATOR_NOT_AVAILABLE", "ConsumerCoordinatorNotAvailableCode")),
    Error(16, "NOT_COORDINATOR", True,
          "Another broker is the coordinator of this group or transaction. Send FindCoordinator and retry there.",
          ("NOT_COORDINATOR_FOR_GROUP", "NotCoordinatorForConsumerCode")),
    Error(17, "INVALID_TOPIC_EXCEPTION", False,
          "The topic name is not valid, or the topic is internal and not open to this request."),
    Error(18, "RECORD_LIST_TOO_LARGE", False,
          "The batch does not fit into a log segment (segment.bytes). Send smaller batches."),
    Error(19, "NOT_ENOUGH_REPLICAS", True,
          "Too few replicas are in sync (min.insync.replicas); nothing was written. Retry later."),
    Error(20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", True,
          "Written, but then too few replicas were in sync. Without idempotence, a retry may write duplicates."),
    Error(21, "INVALID_REQUIRED_ACKS", False, "The acks of a Produce request must be 0, 1 or -1."),
    Error(22, "ILLEGAL_GENERATION", False,
          "The generation is not the current one of the group: the member missed a rebalance. Rejoin the group."),
    Error(23, "INCONSISTENT_GROUP_PROTOCOL", False,
          "The member and the group have no protocol in common. Check partition.assignment.strategy."),
    Error(24, "INVALID_GROUP_ID", False, "The group id is empty or not allowed here. Set group.id."),
    Error(25, "UNKNOWN_MEMBER_ID", False,
          "The coordinator does not know this member; its session may have expired. Rejoin with an empty member id."),
    Error(26, "INVALID_SESSION_TIMEOUT", False,
          "The session timeout must be between group.min.session.timeout.ms and group.max.session.timeout.ms."),
    Error(27, "REBALANCE_IN_PROGRESS", False, "The group is rebalancing. Rejoin it."),
    Error(28, "INVALID_COMMIT_OFFSET_SIZE", False,
          "The record of the commit is too large for the offsets topic. Commit fewer partitions or less metadata."),
    Error(29, "TOPIC_AUTHORIZATION_FAILED", False,
          "The principal is not authorized for a topic. Do not retry; add an ACL."),
    Error(30, "GROUP_AUTHORIZATION_FAILED", False,
          "The principal is not authorized for the group. Do not retry; add an ACL."),
    Error(31, "CLUSTER_AUTHORIZATION_FAILED", False,
          "The principal is not authorized for this operation on the cluster. Do not retry; add an ACL."),
    Error(32, "INVALID_TIMESTAMP", False,
          "A record's timestamp is too far from the broker's clock (message.timestamp.*). Correct the timestamp."),
    Error(33, "UNSUPPORTED_SASL_MECHANISM", False,
          "The broker does not offer this SASL mechanism; its response lists those it offers."),
    Error(34, "ILLEGAL_SASL_STATE", False,
          "The request is out of order in the SASL exchange. Send SaslHandshake first, then SaslAuthenticate."),
    Error(35, "UNSUPPORTED_VERSION", False,
          "The broker does not support this version of the request. Choose one that its ApiVersions response lists."),
    Error(36, "TOPIC_ALREADY_EXISTS", False, "A topic of this name already exists."),
    Error(37, "INVALID_PARTITIONS", False,
          "The partition count is not positive, or not higher than the current one."),
    Error(38, "INVALID_REPLICATION_FACTOR", False,
          "The replication factor is not positive, or higher than the number of brokers."),
    Error(39, "INVALID_REPLICA_ASSIGNMENT", False,
          "The assignment names unknown brokers, repeats some, or leaves out partitions."),
    Error(40, "INVALID_CONFIG", False, "A configuration key or its value is not allowed."),
    Error(41, "NOT_CONTROLLER", True,
          "This node is not the active controller. Refresh the metadata and retry at the controller."),
    Error(42, "INVALID_REQUEST", False,
          "The fields of the request contradict each other: a bug in the client. See the broker's log for the reason."),
    Error(43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", False,
          "The topic's message format does not support this request. Upgrade the format of the topic."),
    Error(44, "POLICY_VIOLATION", False,
          "A policy of the broker (create.topic.policy.*, alter.config.policy.*) rejected the request."),
    Error(45, "OUT_OF_ORDER_SEQUENCE_NUMBER", False,
          "The sequence number of this producer has a gap: batches may be lost. Increase the producer epoch."),
    Error(46, "DUPLICATE_SEQUENCE_NUMBER", False, "The broker already has this batch. Count it as written."),
    Error(47, "INVALID_PRODUCER_EPOCH", False,
          "The producer epoch is old: a newer instance uses the transactional id. Close this producer."),
    Error(48, "INVALID_TXN_STATE", False,
          "The state of the transaction does not allow this request. Check the order of calls."),
    Error(49, "INVALID_PRODUCER_ID_MAPPING", False,
          "The producer id does not belong to the transactional id, or has expired. Send InitProducerId again."),
    Error(50, "INVALID_TRANSACTION_TIMEOUT", False,
          "The transaction timeout exceeds transaction.max.timeout.ms of the broker. Lower it."),
    Error(51, "CONCURRENT_TRANSACTIONS", True,
          "The coordinator has not completed an earlier step of this transaction. Retry after a backoff."),
    Error(52, "TRANSACTION_COORDINATOR_FENCED", False,
          "The coordinator that sent this marker has been replaced. Only between brokers."),
    Error(53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", False,
          "The principal is not authorized for the transactional id. Do not retry; add an ACL."),
    Error(54, "SECURITY_DISABLED", False, "The broker runs without authorizer.class.name, so it has no ACLs."),
    Error(55, "OPERATION_NOT_ATTEMPTED", False,
          "Not attempted, because another part of the same request failed. See the other results."),
    Error(56, "KAFKA_STORAGE_ERROR", True,
          "The broker cannot access the log on its disk. Refresh the metadata and retry at the new leader."),
    Error(57, "LOG_DIR_NOT_FOUND", False, "The broker has no such log directory, or it is offline. See log.dirs."),
    Error(58, "SASL_AUTHENTICATION_FAILED", False,
          "The broker rejected the credentials. Do not retry with the same ones."),
    Error(59, "UNKNOWN_PRODUCER_ID", False,
          "The partition has no state of this producer; its records were possibly deleted. Increase the epoch."),
    Error(60, "REASSIGNMENT_IN_PROGRESS", False,
          "The partition is being reassigned. Wait until the reassignment ends."),
    Error(61, "DELEGATION_TOKEN_AUTH_DISABLED", False,
          "Delegation tokens are disabled: set delegation.token.secret.key on all brokers."),
    Error(62, "DELEGATION_TOKEN_NOT_FOUND", False, "The delegation token does not exist."),
    Error(63, "DELEGATION_TOKEN_OWNER_MISMATCH", False, "Only the owner of the token and its renewers may do this."),
    Error(64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", False,
          "Send this request over SASL or mutual TLS, on a connection that no token authenticated."),
    Error(65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED", False,
          "The principal is not authorized for the delegation token. Do not retry; add an ACL."),
    Error(66, "DELEGATION_TOKEN_EXPIRED", False, "The delegation token has expired. Create a new one."),
    Error(67, "INVALID_PRINCIPAL_TYPE", False, "The broker does not support principals of this type. Use User."),
    Error(68, "NON_EMPTY_GROUP", False, "The group still has members. Stop them first."),
    Error(69, "GROUP_ID_NOT_FOUND", False, "The group does not exist."),
    Error(70, "FETCH_SESSION_ID_NOT_FOUND", True,
          "The broker no longer has this fetch session. Open a new session with a full fetch, epoch 0."),
    Error(71, "INVALID_FETCH_SESSION_EPOCH", True,
          "The epoch of the fetch session is not the expected one. Open a new session with a full fetch, epoch 0."),
    Error(72, "LISTENER_NOT_FOUND", True,
          "A leader lacks the listener this connection uses. Retry; compare the listeners of the brokers."),
    Error(73, "TOPIC_DELETION_DISABLED", False, "The brokers run with delete.topic.enable=false."),
    Error(74, "FENCED_LEADER_EPOCH", True,
          "The client has an older leader epoch than the broker. Refresh the metadata, check the position."),
    Error(75, "UNKNOWN_LEADER_EPOCH", True,
          "The client has a newer leader epoch than the broker. Retry."),
    Error(76, "UNSUPPORTED_COMPRESSION_TYPE", False,
          "Requests of this version cannot carry the codec: zstd needs Fetch v10 or Produce v7."),
    Error(77, "STALE_BROKER_EPOCH", False,
          "The broker epoch is one from before a restart. Only between broker and controller."),
    Error(78, "OFFSET_NOT_AVAILABLE", True, "The new leader does not know its high watermark yet. Retry."),
    Error(79, "MEMBER_ID_REQUIRED", False, "A new member needs an id first: join again with the one in this response."),
    Error(80, "PREFERRED_LEADER_NOT_AVAILABLE", True,
          "The preferred replica is offline or not in sync, so it cannot become leader."),
    Error(81, "GROUP_MAX_SIZE_REACHED", False,
          "The group is full (group.max.size). Use fewer members or raise the limit."),
    Error(82, "FENCED_INSTANCE_ID", False,
          "Another member uses this group.instance.id. Stop this member; set a different id for each."),
    Error(83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", True, "No replica is eligible to become leader."),
    Error(84, "ELECTION_NOT_NEEDED", True, "The preferred replica is already the leader."),
    Error(85, "NO_REASSIGNMENT_IN_PROGRESS", False, "The partition is not being reassigned."),
    Error(86, "GROUP_SUBSCRIBED_TO_TOPIC", False,
          "The group is still subscribed to the topic, so its offsets cannot be deleted."),
    Error(87, "INVALID_RECORD", False,
          "The broker rejected a record; see record_errors and error_message. Correct the record."),
    Error(88, "UNSTABLE_OFFSET_COMMIT", True,
          "A transaction that commits these offsets is still open. Retry until it ends."),
    Error(89, "THROTTLING_QUOTA_EXCEEDED", True,
          "The quota for topic changes is exceeded. Wait throttle_time_ms, then retry."),
    Error(90, "PRODUCER_FENCED", False, "A newer producer uses the same transactional id. Close this producer."),
    Error(91, "RESOURCE_NOT_FOUND", False, "The resource that the request names does not exist."),
    Error(92, "DUPLICATE_RESOURCE", False, "The request names the same resource twice."),
    Error(93, "UNACCEPTABLE_CREDENTIAL", False,
          "The credential is too weak or malformed, for example in its number of iterations."),
    Error(94, "INCONSISTENT_VOTER_SET", False,
          "Sender and receiver have different sets of voters. Compare controller.quorum.voters."),
    Error(95, "INVALID_UPDATE_VERSION", False, "A feature cannot be set to this level."),
    Error(96, "FEATURE_UPDATE_FAILED", False,
          "The feature levels were not changed. See error_message or the controller's log."),
    Error(97, "PRINCIPAL_DESERIALIZATION_FAILURE", False,
          "The forwarded principal cannot be decoded. Set the same principal.builder.class on all nodes."),
    Error(98, "SNAPSHOT_NOT_FOUND", False,
          "The leader no longer has this snapshot. Fetch again to get the id of a newer one."),
    Error(99, "POSITION_OUT_OF_RANGE", False,
          "The position is past the end of the snapshot. Fetch the snapshot from its start."),
    Error(100, "UNKNOWN_TOPIC_ID", True,
          "The topic id does not exist on this broker, or does not exist yet. Refresh the metadata and retry."),
    Error(101, "DUPLICATE_BROKER_REGISTRATION", False,
          "Another running broker is registered with the same node.id. Stop one of the two."),
    Error(102, "BROKER_ID_NOT_REGISTERED", False, "The controller has no registration of this broker."),
    Error(103, "INCONSISTENT_TOPIC_ID", True,
          "The log has another topic id: the topic was probably deleted and created again. Refresh the metadata."),
    Error(104, "INCONSISTENT_CLUSTER_ID", False,
          "The cluster id of the request is not that of this cluster. Check bootstrap.servers."),
    Error(105, "TRANSACTIONAL_ID_NOT_FOUND", False,
          "The coordinator has no such transactional id; it has possibly expired."),
    Error(106, "FETCH_SESSION_TOPIC_ID_ERROR", True,
          "The fetch session mixes topics with and without topic ids. Open a new session with a full fetch."),
    Error(107, "INELIGIBLE_REPLICA", False,
          "A replica proposed for the ISR is fenced or shutting down. Only between broker and controller."),
    Error(108, "NEW_LEADER_ELECTED", False,
          "The change was applied, and another replica became the leader. Only between broker and controller."),
    Error(109, "OFFSET_MOVED_TO_TIERED_STORAGE", False,
          "The offset has moved to tiered storage. Followers continue from the leader's local log."),
    Error(110, "FENCED_MEMBER_EPOCH", False,
          "The coordinator has fenced this member. Release all partitions and rejoin with epoch 0."),
    Error(111, "UNRELEASED_INSTANCE_ID", False,
          "A member with this group.instance.id is still in the group. Retry after it leaves or its session expires."),
    Error(112, "UNSUPPORTED_ASSIGNOR", False,
          "The coordinator has no assignor of this name. Choose another group.remote.assignor."),
    Error(113, "STALE_MEMBER_EPOCH", False,
          "The member epoch is old. Retry with the epoch of the next heartbeat response."),
    Error(114, "MISMATCHED_ENDPOINT_TYPE", False,
          "The request was sent to a controller instead of a broker, or the reverse. Check bootstrap.servers."),
    Error(115, "UNSUPPORTED_ENDPOINT_TYPE", False, "The node cannot describe endpoints of this type."),
    Error(116, "UNKNOWN_CONTROLLER_ID", False, "The active controller has no registration of this controller id."),
    Error(117, "UNKNOWN_SUBSCRIPTION_ID", False,
          "The telemetry subscription has changed. Send GetTelemetrySubscriptions, then push."),
    Error(118, "TELEMETRY_TOO_LARGE", False, "The pushed metrics exceed telemetry_max_bytes. Push fewer."),
    Error(119, "INVALID_REGISTRATION", False, "The controller rejected this registration. Check the controller's log."),
    Error(120, "TRANSACTION_ABORTABLE", False, "Abort this transaction; the producer may then begin another."),
    Error(121, "INVALID_RECORD_STATE", False,
          "The member has not acquired this record, so it cannot acknowledge it. The record may be delivered again."),
    Error(122, "SHARE_SESSION_NOT_FOUND", True, "The share session does not exist. Open a new one with epoch 0."),
    Error(123, "INVALID_SHARE_SESSION_EPOCH", True,
          "The epoch of the share session is not the expected one. Open a new session with epoch 0."),
    Error(124, "FENCED_STATE_EPOCH", False, "The state epoch of the share group is old. Only between brokers."),
    Error(125, "INVALID_VOTER_KEY", False, "The voter id or directory id of the request is not that of this node."),
    Error(126, "DUPLICATE_VOTER", False, "The voter is already in the set of voters."),
    Error(127, "VOTER_NOT_FOUND", False, "The voter is not in the set of voters."),
    Error(128, "INVALID_REGULAR_EXPRESSION", False,
          "The regular expression is not valid. Use the syntax of RE2/J."),
    Error(129, "REBOOTSTRAP_REQUIRED", False,
          "The client's metadata is no longer usable. Connect again from bootstrap.servers."),
    Error(130, "STREAMS_INVALID_TOPOLOGY", False,
          "The topology that the application sent is not valid. Correct the application."),
    Error(131, "STREAMS_INVALID_TOPOLOGY_EPOCH", False, "The topology epoch of this application is not valid."),
    Error(132, "STREAMS_TOPOLOGY_FENCED", False, "The group has a newer topology than this member. Update the member."),
    Error(133, "SHARE_SESSION_LIMIT_REACHED", True, "The limit of share sessions is reached. Retry later."),
    Error(134, "GROUP_DELETION_FAILED", False, "The group could not be deleted. See error_message."),
    Error(135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", False,
          "The coordinator could not store the description of this topology. See error_message."),
    Error(136, "CONTROLLER_ID_NOT_REGISTERED", False, "No controller of this id is registered in the cluster."),
)}

JAVA_CLASSES: dict[str, int] = {
    "CorruptRecordException": 2, "TimeoutException": 7, "RecordTooLargeException": 10, "ControllerMovedException": 11,
    "RecordBatchTooLargeException": 18, "TopicAuthorizationException": 29, "GroupAuthorizationException": 30,
    "ClusterAuthorizationException": 31, "TopicExistsException": 36, "InvalidConfigurationException": 40,
    "OutOfOrderSequenceException": 45, "DuplicateSequenceException": 46, "InvalidPidMappingException": 49,
    "InvalidTxnTimeoutException": 50, "TransactionalIdAuthorizationException": 53, "SaslAuthenticationException": 58,
    "DelegationTokenDisabledException": 61, "UnsupportedByAuthenticationException": 64,
    "DelegationTokenAuthorizationException": 65, "GroupNotEmptyException": 68, "PrincipalDeserializationException": 97,
}
"""The exceptions of Kafka's Java client that are not just the error's name in CamelCase."""
CHANGES: Mapping[int, tuple[Change, ...]] = {
    -1: (Change("1.0", name="UNKNOWN"),),
    1: (Change("0.9.0", retriable=True),),
    2: (Change("0.9.0", meaning="InvalidMessage, for a wrong CRC alone (0.8 guide)"),),
    4: (Change("0.10.0", meaning="InvalidMessageSize, for a message of negative size (0.8 guide)"),),
    6: (Change("2.6", name="NOT_LEADER_FOR_PARTITION"),),
    9: (
        Change("0.9.0", meaning="Unused (0.8 guide)"),
        Change("2.6", retriable=False),
    ),
    14: (
        Change("0.9.0", meaning="OffsetsLoadInProgress, in answers to offset fetches alone (0.8 guide)"),
        Change("0.11.0", name="GROUP_LOAD_IN_PROGRESS"),
    ),
    15: (
        Change("0.9.0", meaning="ConsumerCoordinatorNotAvailable, while the offsets topic is missing (0.8 guide)"),
        Change("0.11.0", name="GROUP_COORDINATOR_NOT_AVAILABLE"),
    ),
    16: (
        Change("0.9.0", meaning="NotCoordinatorForConsumer, for offset fetches and commits (0.8 guide)"),
        Change("0.11.0", name="NOT_COORDINATOR_FOR_GROUP"),
    ),
    46: (Change("1.0", retriable=True),),
    51: (Change("3.3", retriable=False),),
}
"""Code -> its changes, the oldest first."""
# fmt: on


def describe(code: int) -> str:
    """Return the name of a code, with a hint if a retry may help: `NOT_LEADER_OR_FOLLOWER (retriable)`."""
    error = ERRORS.get(code)
    if error is None:
        return f"unknown error {code}"
    return f"{error.name} (retriable)" if error.retriable else error.name


def named(name: str) -> Error | None:
    """Return the error of a name in any spelling, of a former name, or of a Java exception; None for any other."""
    key = _key(name)
    stem = _stem(key)
    found = (error for error in ERRORS.values() if stem in map(_stem, _names(error)) or key in _classes(error))
    return next(found, None)


def find(query: str) -> list[Error]:
    """Return the errors that match a query: a code, a name in any spelling, else a part of a name, else of a text."""
    query = query.strip()
    if re.fullmatch(r"-?[0-9]{1,6}", query):
        error = ERRORS.get(int(query))
        return [error] if error else []
    key = _key(query)
    if not key:
        return []
    stem = _stem(key)
    return (
        [error for error in ERRORS.values() if stem in map(_stem, _names(error)) or key in _classes(error)]
        or [error for error in ERRORS.values() if any(key in name for name in (*_names(error), *_classes(error)))]
        or [error for error in ERRORS.values() if any(stem in name for name in _names(error))]
        or [error for error in ERRORS.values() if query.lower() in error.text.lower()]
    )


def _key(name: str) -> str:
    """Return a name in lower case without dashes, underscores and spaces, in which spellings differ."""
    return re.sub(r"[-_\s]", "", name).lower()


def _stem(key: str) -> str:
    """Return a key without a "code", "exception" or "error" at the end, as Java's classes and the old guide have."""
    return re.sub(r"(?<=.)(code|exception|error)$", "", key)


def _names(error: Error) -> list[str]:
    """Return the keys of an error's name and former names."""
    return [_key(name) for name in (error.name, *error.former_names)]


def _classes(error: Error) -> list[str]:
    """Return the keys of an error's Java exceptions, in full: a bare "timeout" is part of some but equals none."""
    return [_key(name) for name, code in JAVA_CLASSES.items() if code == error.code]


def error_name(code: int) -> str:
    """Return Kafka's name of an error code, or `error N` for one that has none."""
    return ERRORS[code].name if code in ERRORS else f"error {code}"
