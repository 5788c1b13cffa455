"""Kafka's error codes: code -> name, whether a retry may help, what happened and what to do about it.

Codes, names, former names and retriable flags are those of Kafka's `Errors` (org.apache.kafka.common.protocol), and
the names in CamelCase those of the protocol guide's table "Error Codes" as of 0.8. `since` is the oldest
of the releases looked at that has the code, so its first one may be a little older. The texts are kdbg's own.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Error(NamedTuple):
    """One error code; `former_names` are the names older releases and the guide have for it."""

    code: int
    name: str
    retriable: bool
    text: str
    former_names: tuple[str, ...] = ()
    since: str = ""


# fmt: off
ERRORS: dict[int, Error] = {error.code: error for error in (
    Error(-1, "UNKNOWN_SERVER_ERROR", False,
          "The broker failed in a way that has no code of its own. Its log says more.",
          ("UNKNOWN", "Unknown"), "0.8.2.2"),
    Error(0, "NONE", False, "All went well.", ("NoError",), "0.8.2.2"),
    Error(1, "OFFSET_OUT_OF_RANGE", False,
          "The partition has no record at this offset: deleted, or not written yet. Reset the position.",
          ("OffsetOutOfRange",), "0.8.2.2"),
    Error(2, "CORRUPT_MESSAGE", True,
          "A batch is damaged: its CRC or its lengths are wrong. Retry; if it persists, suspect the sender.",
          ("InvalidMessage",), "0.8.2.2"),
    Error(3, "UNKNOWN_TOPIC_OR_PARTITION", True,
          "The broker has no such topic or partition, or not yet. Refresh the metadata and retry.",
          ("UnknownTopicOrPartition",), "0.8.2.2"),
    Error(4, "INVALID_FETCH_SIZE", False, "The fetch asks for an impossible number of bytes. Fix the request.",
          ("InvalidMessageSize",), "0.10.0.1"),
    Error(5, "LEADER_NOT_AVAILABLE", True,
          "The partition has no leader just now; one is being elected. Refresh the metadata and retry.",
          ("LeaderNotAvailable",), "0.8.2.2"),
    Error(6, "NOT_LEADER_OR_FOLLOWER", True,
          "This broker does not lead the partition, or has no replica of it. Refresh the metadata, ask the leader.",
          ("NOT_LEADER_FOR_PARTITION", "NotLeaderForPartition"), "0.8.2.2"),
    Error(7, "REQUEST_TIMED_OUT", True,
          "The broker did not finish in the time the request allows, but may yet do so. Retry.",
          ("RequestTimedOut",), "0.8.2.2"),
    Error(8, "BROKER_NOT_AVAILABLE", False,
          "A broker is down or not ready. Brokers tell this each other; clients should not meet it.",
          ("BrokerNotAvailable",), "0.9.0.1"),
    Error(9, "REPLICA_NOT_AVAILABLE", True,
          "No usable replica here. Refresh the metadata and retry; in a Metadata response, ignore it.",
          ("Unused",), "0.9.0.1"),
    Error(10, "MESSAGE_TOO_LARGE", False,
          "A record or batch exceeds message.max.bytes (max.message.bytes of the topic). Send smaller ones.",
          ("MessageSizeTooLarge",), "0.8.2.2"),
    Error(11, "STALE_CONTROLLER_EPOCH", False,
          "The sender was controller once and has been replaced. Only between brokers.",
          ("StaleControllerEpochCode",), "0.9.0.1"),
    Error(12, "OFFSET_METADATA_TOO_LARGE", False,
          "The metadata string of a commit exceeds offset.metadata.max.bytes. Shorten it.",
          ("OffsetMetadataTooLargeCode",), "0.8.2.2"),
    Error(13, "NETWORK_EXCEPTION", True,
          "The connection broke before the answer came. Clients make this one up; reconnect and retry.",
          since="0.8.2.2"),
    Error(14, "COORDINATOR_LOAD_IN_PROGRESS", True,
          "The coordinator is still reading its state after a move. Wait a little and retry there.",
          ("GROUP_LOAD_IN_PROGRESS", "OffsetsLoadInProgressCode"), "0.9.0.1"),
    Error(15, "COORDINATOR_NOT_AVAILABLE", True,
          "No coordinator can be named now; its topic may be new or without leader. Retry FindCoordinator.",
          ("GROUP_COORDINATOR_NOT_AVAILABLE", "ConsumerCoordinatorNotAvailableCode"), "0.9.0.1"),
    Error(16, "NOT_COORDINATOR", True,
          "Another broker coordinates this group or transaction. Find the coordinator again and retry.",
          ("NOT_COORDINATOR_FOR_GROUP", "NotCoordinatorForConsumerCode"), "0.9.0.1"),
    Error(17, "INVALID_TOPIC_EXCEPTION", False,
          "The name is not a legal topic name, or the topic is internal and closed to this request.", since="0.8.2.2"),
    Error(18, "RECORD_LIST_TOO_LARGE", False,
          "The batch does not fit into a log segment (segment.bytes). Send smaller batches.", since="0.8.2.2"),
    Error(19, "NOT_ENOUGH_REPLICAS", True,
          "Too few replicas are in sync (min.insync.replicas); nothing was written. Retry later.", since="0.8.2.2"),
    Error(20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", True,
          "Written, but then too few replicas were in sync. A retry may write it twice unless idempotent.",
          since="0.8.2.2"),
    Error(21, "INVALID_REQUIRED_ACKS", False, "Produce knows the acks 0, 1 and -1 only.", since="0.9.0.1"),
    Error(22, "ILLEGAL_GENERATION", False,
          "The generation is not the current one of the group: a rebalance was missed. Rejoin the group.",
          since="0.9.0.1"),
    Error(23, "INCONSISTENT_GROUP_PROTOCOL", False,
          "The member shares no protocol with the rest of the group, or named none. Align the assignors.",
          since="0.9.0.1"),
    Error(24, "INVALID_GROUP_ID", False, "The group id is empty or not allowed here. Set group.id.", since="0.9.0.1"),
    Error(25, "UNKNOWN_MEMBER_ID", False,
          "The coordinator does not know this member; its session may have expired. Rejoin with an empty id.",
          since="0.9.0.1"),
    Error(26, "INVALID_SESSION_TIMEOUT", False,
          "Choose a session timeout from group.min.session.timeout.ms to group.max.session.timeout.ms.",
          since="0.9.0.1"),
    Error(27, "REBALANCE_IN_PROGRESS", False, "The group is rebalancing. Rejoin it, then go on.", since="0.9.0.1"),
    Error(28, "INVALID_COMMIT_OFFSET_SIZE", False,
          "The commit makes too large a record for the offsets topic. Commit less metadata.", since="0.9.0.1"),
    Error(29, "TOPIC_AUTHORIZATION_FAILED", False, "No permission for a topic. Do not retry; an ACL has to allow it.",
          since="0.9.0.1"),
    Error(30, "GROUP_AUTHORIZATION_FAILED", False, "No permission for the group. Do not retry; an ACL has to allow it.",
          since="0.9.0.1"),
    Error(31, "CLUSTER_AUTHORIZATION_FAILED", False,
          "No permission for this on the cluster. Do not retry; an ACL has to allow it.", since="0.9.0.1"),
    Error(32, "INVALID_TIMESTAMP", False,
          "A record's time is too far from the broker's clock (message.timestamp.*). Fix the time.", since="0.10.0.1"),
    Error(33, "UNSUPPORTED_SASL_MECHANISM", False,
          "The broker does not offer this SASL mechanism; its answer lists those it has.", since="0.10.0.1"),
    Error(34, "ILLEGAL_SASL_STATE", False,
          "This request has no place in the SASL exchange now. Handshake first, then authenticate.", since="0.10.0.1"),
    Error(35, "UNSUPPORTED_VERSION", False,
          "The broker does not know this version of the request. Ask ApiVersions and take a common one.",
          since="0.10.0.1"),
    Error(36, "TOPIC_ALREADY_EXISTS", False, "There is a topic of this name already.", since="0.10.2.2"),
    Error(37, "INVALID_PARTITIONS", False,
          "The partition count is not positive, or does not exceed the present one. Fix it.", since="0.10.2.2"),
    Error(38, "INVALID_REPLICATION_FACTOR", False,
          "The replication factor is not positive, or higher than the number of brokers.", since="0.10.2.2"),
    Error(39, "INVALID_REPLICA_ASSIGNMENT", False,
          "The assignment names unknown brokers, repeats some, or leaves out partitions. Fix it.", since="0.10.2.2"),
    Error(40, "INVALID_CONFIG", False, "A configuration key or its value is not allowed. Fix it.", since="0.10.2.2"),
    Error(41, "NOT_CONTROLLER", True,
          "This node is not the active controller. Look it up again in the metadata and retry there.",
          since="0.10.2.2"),
    Error(42, "INVALID_REQUEST", False,
          "The fields of the request contradict each other: a bug in the client. See the broker's log for the reason.",
          since="0.10.2.2"),
    Error(43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", False,
          "The topic's old message format cannot do this. Convert the topic or do without.", since="0.10.2.2"),
    Error(44, "POLICY_VIOLATION", False,
          "A policy plugged into the broker (create.topic.policy.*, alter.config.policy.*) says no.", since="0.10.2.2"),
    Error(45, "OUT_OF_ORDER_SEQUENCE_NUMBER", False,
          "The sequence of this producer has a gap, so batches may be lost. Raise the epoch or start anew.",
          since="0.11.0.2"),
    Error(46, "DUPLICATE_SEQUENCE_NUMBER", False, "The broker has this batch already. Count it as written.",
          since="0.11.0.2"),
    Error(47, "INVALID_PRODUCER_EPOCH", False,
          "The producer's epoch is old: an instance after it has the transactional id. Give up this producer.",
          since="0.11.0.2"),
    Error(48, "INVALID_TXN_STATE", False,
          "The transaction is in a state that rules this request out. Check the order of calls.", since="0.11.0.2"),
    Error(49, "INVALID_PRODUCER_ID_MAPPING", False,
          "The producer id does not belong to the transactional id, or has expired. Initialise again.",
          since="0.11.0.2"),
    Error(50, "INVALID_TRANSACTION_TIMEOUT", False,
          "The transaction timeout exceeds transaction.max.timeout.ms of the broker. Lower it.", since="0.11.0.2"),
    Error(51, "CONCURRENT_TRANSACTIONS", True,
          "The coordinator still works on an earlier step of this transaction. Pause, then retry.", since="0.11.0.2"),
    Error(52, "TRANSACTION_COORDINATOR_FENCED", False,
          "The coordinator that sent this marker has been replaced. Only between brokers.", since="0.11.0.2"),
    Error(53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", False,
          "No permission for the transactional id. Do not retry; an ACL has to allow it.", since="0.11.0.2"),
    Error(54, "SECURITY_DISABLED", False, "The broker runs without authorizer.class.name, so it has no ACLs.",
          since="0.11.0.2"),
    Error(55, "OPERATION_NOT_ATTEMPTED", False,
          "Left undone because another part of the same request failed. See the other results.", since="0.11.0.2"),
    Error(56, "KAFKA_STORAGE_ERROR", True,
          "The disk of the partition fails on this broker. Refresh the metadata and ask the next leader.",
          since="1.0.2"),
    Error(57, "LOG_DIR_NOT_FOUND", False, "The broker has no such log directory, or it is offline. See log.dirs.",
          since="1.0.2"),
    Error(58, "SASL_AUTHENTICATION_FAILED", False, "The credentials were refused. Do not retry with the same ones.",
          since="1.0.2"),
    Error(59, "UNKNOWN_PRODUCER_ID", False,
          "The partition has forgotten this producer, perhaps with its deleted records. Raise the epoch.",
          since="1.0.2"),
    Error(60, "REASSIGNMENT_IN_PROGRESS", False, "The partition is being moved to other brokers. Wait for the end.",
          since="1.0.2"),
    Error(61, "DELEGATION_TOKEN_AUTH_DISABLED", False,
          "Delegation tokens are switched off: the brokers have no secret key for them.", since="1.1.0"),
    Error(62, "DELEGATION_TOKEN_NOT_FOUND", False, "The broker knows no such delegation token.", since="1.1.0"),
    Error(63, "DELEGATION_TOKEN_OWNER_MISMATCH", False, "Only the owner of the token and its renewers may do this.",
          since="1.1.0"),
    Error(64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", False,
          "Tokens are handled only over SASL or two-way TLS, and not after a login by token.", since="1.1.0"),
    Error(65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED", False,
          "No permission for the delegation token. Do not retry; an ACL has to allow it.", since="1.1.0"),
    Error(66, "DELEGATION_TOKEN_EXPIRED", False, "The delegation token has run out. Get a new one.", since="1.1.0"),
    Error(67, "INVALID_PRINCIPAL_TYPE", False, "The broker cannot take principals of this type; User is the usual one.",
          since="1.1.0"),
    Error(68, "NON_EMPTY_GROUP", False, "The group still has members. Stop them first.", since="1.1.0"),
    Error(69, "GROUP_ID_NOT_FOUND", False, "The coordinator has no group of this id.", since="1.1.0"),
    Error(70, "FETCH_SESSION_ID_NOT_FOUND", True,
          "The broker has dropped this fetch session. Open a new one with a full fetch, epoch 0.", since="1.1.0"),
    Error(71, "INVALID_FETCH_SESSION_EPOCH", True,
          "The epoch of the fetch session is out of turn. Open a new one with a full fetch, epoch 0.", since="1.1.0"),
    Error(72, "LISTENER_NOT_FOUND", True,
          "A leader lacks the listener this connection uses. Retry; compare the listeners of the brokers.",
          since="2.0.1"),
    Error(73, "TOPIC_DELETION_DISABLED", False, "The brokers run with delete.topic.enable=false.", since="2.1.1"),
    Error(74, "FENCED_LEADER_EPOCH", True,
          "The client has an older leader epoch than the broker. Refresh the metadata, check the position.",
          since="2.1.1"),
    Error(75, "UNKNOWN_LEADER_EPOCH", True,
          "The client has a newer leader epoch than the broker, which is behind. Retry.", since="2.1.1"),
    Error(76, "UNSUPPORTED_COMPRESSION_TYPE", False,
          "Requests of this version cannot carry the codec: zstd needs Fetch v10 or Produce v7.", since="2.1.1"),
    Error(77, "STALE_BROKER_EPOCH", False,
          "The epoch belongs to an earlier life of the broker. Only between broker and controller.", since="2.2.2"),
    Error(78, "OFFSET_NOT_AVAILABLE", True, "The new leader cannot vouch for its high watermark yet. Retry.",
          since="2.2.2"),
    Error(79, "MEMBER_ID_REQUIRED", False, "A new member needs an id first: join again with the one in this response.",
          since="2.2.2"),
    Error(80, "PREFERRED_LEADER_NOT_AVAILABLE", True,
          "The preferred replica is dead or not in sync, so it cannot become leader.", since="2.2.2"),
    Error(81, "GROUP_MAX_SIZE_REACHED", False,
          "The group is full (group.max.size). Use fewer members or raise the limit.", since="2.2.2"),
    Error(82, "FENCED_INSTANCE_ID", False,
          "Another member took over this group.instance.id. Stop, and give each member its own.", since="2.3.1"),
    Error(83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", True, "None of the replicas may become leader at present.",
          since="2.4.1"),
    Error(84, "ELECTION_NOT_NEEDED", True, "The right replica leads already; nothing to elect.", since="2.4.1"),
    Error(85, "NO_REASSIGNMENT_IN_PROGRESS", False, "The partition is not being moved, so there is nothing to cancel.",
          since="2.4.1"),
    Error(86, "GROUP_SUBSCRIBED_TO_TOPIC", False, "The group still consumes the topic, so its offsets must stay.",
          since="2.4.1"),
    Error(87, "INVALID_RECORD", False,
          "The broker refuses a record; record_errors and error_message say which and why. Fix the data.",
          since="2.4.1"),
    Error(88, "UNSTABLE_OFFSET_COMMIT", True,
          "A transaction that commits these offsets is still open. Retry until it has ended.", since="2.5.1"),
    Error(89, "THROTTLING_QUOTA_EXCEEDED", True,
          "The quota for changes of topics is used up. Wait throttle_time_ms, then retry.", since="2.7.2"),
    Error(90, "PRODUCER_FENCED", False, "A newer producer has the same transactional id. Stop this one.",
          since="2.7.2"),
    Error(91, "RESOURCE_NOT_FOUND", False, "What the request names does not exist.", since="2.7.2"),
    Error(92, "DUPLICATE_RESOURCE", False, "The request names the same thing twice.", since="2.7.2"),
    Error(93, "UNACCEPTABLE_CREDENTIAL", False,
          "The credential is too weak or malformed, say by its number of iterations.", since="2.7.2"),
    Error(94, "INCONSISTENT_VOTER_SET", False,
          "Sender and receiver have different voters for the quorum. Compare their configurations.", since="2.7.2"),
    Error(95, "INVALID_UPDATE_VERSION", False, "A feature cannot be set to this level.", since="2.7.2"),
    Error(96, "FEATURE_UPDATE_FAILED", False,
          "The levels of features stay as they were; the message or the controller's log says why.", since="2.7.2"),
    Error(97, "PRINCIPAL_DESERIALIZATION_FAILURE", False,
          "The forwarded principal is unreadable. Check that all nodes have the same principal.builder.class.",
          since="2.8.2"),
    Error(98, "SNAPSHOT_NOT_FOUND", False,
          "The leader does not have this snapshot any more. Fetch again to learn of a newer one.", since="2.8.2"),
    Error(99, "POSITION_OUT_OF_RANGE", False, "The position is past the end of the snapshot. Start the snapshot over.",
          since="4.1.1"),
    Error(100, "UNKNOWN_TOPIC_ID", True,
          "The broker does not know this topic id, or not yet. Refresh the metadata and retry.", since="2.8.2"),
    Error(101, "DUPLICATE_BROKER_REGISTRATION", False,
          "A living broker is registered with the same node.id. Stop one of the two.", since="2.8.2"),
    Error(102, "BROKER_ID_NOT_REGISTERED", False, "The controller has no registration of this broker.", since="2.8.2"),
    Error(103, "INCONSISTENT_TOPIC_ID", True,
          "The log here has another topic id; the topic was perhaps created anew. Refresh the metadata.",
          since="2.8.2"),
    Error(104, "INCONSISTENT_CLUSTER_ID", False,
          "The request is for another cluster id. It has reached the wrong cluster.", since="2.8.2"),
    Error(105, "TRANSACTIONAL_ID_NOT_FOUND", False,
          "The coordinator has no such transactional id, perhaps because it expired.", since="3.0.2"),
    Error(106, "FETCH_SESSION_TOPIC_ID_ERROR", True,
          "The fetch session mixes topics with and without ids. Open a new one with a full fetch.", since="3.1.2"),
    Error(107, "INELIGIBLE_REPLICA", False,
          "A replica proposed for the ISR is fenced or shutting down. Only between broker and controller.",
          since="3.3.2"),
    Error(108, "NEW_LEADER_ELECTED", False,
          "The change is made, and it moved the leadership elsewhere. Only between broker and controller.",
          since="3.3.2"),
    Error(109, "OFFSET_MOVED_TO_TIERED_STORAGE", False,
          "This offset lies in tiered storage by now. Followers go on from the leader's local log.", since="3.5.1"),
    Error(110, "FENCED_MEMBER_EPOCH", False,
          "The coordinator has fenced this member. Let go of all partitions and rejoin with epoch 0.", since="3.5.1"),
    Error(111, "UNRELEASED_INSTANCE_ID", False,
          "The last user of this instance id is still a member. Wait until it has left or timed out.", since="3.5.1"),
    Error(112, "UNSUPPORTED_ASSIGNOR", False,
          "The coordinator has no assignor of this name. Choose another group.remote.assignor.", since="3.5.1"),
    Error(113, "STALE_MEMBER_EPOCH", False,
          "The member epoch is behind. Retry with the one of the next heartbeat response.", since="3.6.2"),
    Error(114, "MISMATCHED_ENDPOINT_TYPE", False,
          "A controller got a request for brokers, or the other way round. Check the bootstrap addresses.",
          since="3.7.2"),
    Error(115, "UNSUPPORTED_ENDPOINT_TYPE", False, "The node cannot describe endpoints of this type.", since="3.7.2"),
    Error(116, "UNKNOWN_CONTROLLER_ID", False, "The active controller has no registration of this controller id.",
          since="3.7.2"),
    Error(117, "UNKNOWN_SUBSCRIPTION_ID", False,
          "The telemetry subscription has changed. Get the subscriptions again, then push.", since="3.7.2"),
    Error(118, "TELEMETRY_TOO_LARGE", False, "The pushed metrics exceed telemetry_max_bytes. Push fewer.",
          since="3.7.2"),
    Error(119, "INVALID_REGISTRATION", False, "The controller refuses this registration. Its log says why.",
          since="3.7.2"),
    Error(120, "TRANSACTION_ABORTABLE", False, "Abort this transaction; the producer may then begin another.",
          since="3.8.1"),
    Error(121, "INVALID_RECORD_STATE", False,
          "The member does not hold this record now, so it cannot acknowledge it. It may come again.", since="3.9.2"),
    Error(122, "SHARE_SESSION_NOT_FOUND", True, "The broker has no such share session. Open a new one with epoch 0.",
          since="3.9.2"),
    Error(123, "INVALID_SHARE_SESSION_EPOCH", True,
          "The epoch of the share session is out of turn. Open a new one with epoch 0.", since="3.9.2"),
    Error(124, "FENCED_STATE_EPOCH", False, "The share group's state was set up anew since. Only between brokers.",
          since="3.9.2"),
    Error(125, "INVALID_VOTER_KEY", False, "The request is meant for a voter of another id or directory id.",
          since="3.9.2"),
    Error(126, "DUPLICATE_VOTER", False, "The quorum has this voter already.", since="3.9.2"),
    Error(127, "VOTER_NOT_FOUND", False, "The quorum has no such voter.", since="3.9.2"),
    Error(128, "INVALID_REGULAR_EXPRESSION", False,
          "The broker cannot read this regular expression. Write it in the syntax of RE2.", since="4.0.1"),
    Error(129, "REBOOTSTRAP_REQUIRED", False,
          "What the client knows of the cluster is useless by now. Start again from bootstrap.servers.", since="4.0.1"),
    Error(130, "STREAMS_INVALID_TOPOLOGY", False,
          "The brokers cannot use the topology this application sent. Fix the application.", since="4.1.1"),
    Error(131, "STREAMS_INVALID_TOPOLOGY_EPOCH", False, "The topology epoch of this application is not a possible one.",
          since="4.1.1"),
    Error(132, "STREAMS_TOPOLOGY_FENCED", False, "The group has a newer topology than this member. Update the member.",
          since="4.1.1"),
    Error(133, "SHARE_SESSION_LIMIT_REACHED", True, "The broker has as many share sessions as it allows. Retry later.",
          since="4.1.1"),
    Error(134, "GROUP_DELETION_FAILED", False, "The group could not be deleted; the error message says why.",
          since="4.4.0"),
    Error(135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", False,
          "The coordinator could not keep this topology's description; the error message says why.", since="4.4.0"),
    Error(136, "CONTROLLER_ID_NOT_REGISTERED", False, "No controller of this id is registered in the cluster.",
          since="4.4.0"),
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
