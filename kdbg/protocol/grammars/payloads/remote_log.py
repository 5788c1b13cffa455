"""Records of tiered storage in `__remote_log_metadata`: the segments in remote storage, and what becomes of them.

KIP-405. A value begins with the frame that the records of the KRaft log have as well. Kafka 3.6 added what the
storage itself wants to keep (KIP-917), 4.0 whether a segment has an index of aborted transactions.
"""

from ...wire.language.payload import Payload
from ..meanings import *
from .cluster_metadata import FRAME

topic_id_partition: Final = Struct("name" / TopicName, "id" / TopicId, "partition" / Partition)
segment_id: Final = Struct(
    "topic_id_partition" / topic_id_partition * "partition the segment belongs to",
    "id" / Uuid * "random id of the segment in remote storage",
)
segment: Final = (
    "start_offset" / Int64 * "first offset of the segment",
    "end_offset" / Int64 * "last offset of the segment, inclusive",
    "broker_id" / BrokerId * "broker that wrote this record",
    "max_timestamp_ms" / Timestamp * "latest time of a record in the segment, in ms since 1970",
    "event_timestamp_ms" / Timestamp * "when this record was written, in ms since 1970",
    "segment_leader_epochs" / Array(
        "leader_epoch" / LeaderEpoch,
        "offset" / Int64 * "first offset of that epoch",
    ) * "leader epochs in the segment",
    "segment_size_in_bytes" / Int32 * "size of the segment, without its indexes",
    "custom_metadata" / SinceRelease((3, 6), Default(Nullable(Bytes), None))
        * "what the plug-in for the remote storage keeps for itself; null means nothing",
    "remote_log_segment_state" / RemoteLogSegmentState,
    "txn_index_empty" / SinceRelease((4, 0), Tag(0, Boolean)) * "true if the segment has no aborted transactions",
)
RECORDS = {
    0: Payload("RemoteLogSegmentMetadataRecord", Struct(
        "remote_log_segment_id" / segment_id * "partition and id of the segment",
        *segment,
    ), flexible=0, frame=FRAME, releases=((3, 5),)),
    1: Payload("RemoteLogSegmentMetadataUpdateRecord", Struct(
        "remote_log_segment_id" / segment_id * "partition and id of the segment",
        "broker_id" / BrokerId * "broker that wrote this record",
        "event_timestamp_ms" / Timestamp * "when this record was written, in ms since 1970",
        "custom_metadata" / SinceRelease((3, 6), Default(Nullable(Bytes), None))
            * "what the plug-in for the remote storage keeps for itself; null means nothing",
        "remote_log_segment_state" / RemoteLogSegmentState,
    ), flexible=0, frame=FRAME, releases=((3, 5),)),
    2: Payload("RemotePartitionDeleteMetadataRecord", Struct(
        "topic_id_partition" / topic_id_partition * "partition that is deleted from remote storage",
        "broker_id" / BrokerId * "broker that wrote this record",
        "event_timestamp_ms" / Timestamp * "when this record was written, in ms since 1970",
        "remote_partition_delete_state" / RemotePartitionDeleteState,
    ), flexible=0, frame=FRAME),
    3: Payload("RemoteLogSegmentMetadataSnapshotRecord", Struct(
        "segment_id" / Uuid * "random id of the segment in remote storage",
        *segment,
    ), flexible=0, frame=FRAME, releases=((3, 5),)),
}
