"""AddPartitionsToTxn (key 24): adds partitions to a transaction before records are written to them.

KIP-98. Clients send up to v3. Brokers send v4 and later among themselves: many transactions at once, and a
mode that only checks whether partitions belong to one (KIP-890). v2 PRODUCER_FENCED (KIP-588).
"""

from .meanings import *

request: Final = Struct(
    "transactions" / Since(4, Array(
        "transactional_id" / TransactionalId,
        "producer_id" / ProducerId,
        "producer_epoch" / ProducerEpoch,
        "verify_only" / Boolean * "true only checks that the partitions are part of the transaction already",
        "topics" / Array("name" / TopicName, "partitions" / Partitions) * "partitions to add or to verify, by topic",
    )) * "sent by brokers: transactions of several producers, to be checked or extended at once",
    "v3_and_below_transactional_id" / Until(3, String) * "the one transaction that a client adds to",
    "v3_and_below_producer_id" / Until(3, Int64) * "id of that transaction's producer, from InitProducerId",
    "v3_and_below_producer_epoch" / Until(3, Int16)
        * "epoch of that producer; an older one than the coordinator's is fenced",
    "v3_and_below_topics" / Until(3, Array("name" / TopicName, "partitions" / Partitions))
        * "partitions to add, by topic",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / Since(4, Ignorable(RequestError)),
    "results_by_transaction" / Since(4, Array(
        "transactional_id" / TransactionalId,
        "topic_results" / Array(
            "name" / TopicName,
            "results_by_partition" / Array(
                "partition_index" / Partition,
                "partition_error_code" / ErrorCode
                    * "0 when the transaction has the partition now, else why it has not",
            ) * "what became of each partition of the topic",
        ) * "what became of the partitions, by topic",
    )) * "one result for each transaction of the request",
    "results_by_topic_v3_and_below" / Until(3, Array(
        "name" / TopicName,
        "results_by_partition" / Array(
            "partition_index" / Partition,
            "partition_error_code" / ErrorCode
                * "0 when the partition was added; OPERATION_NOT_ATTEMPTED when another one failed",
        ) * "what became of each partition of the topic",
    )) * "what became of the partitions, by topic",
)
api: Final = Api(24, "AddPartitionsToTxn", request, response, versions=range(6), flexible=3)
