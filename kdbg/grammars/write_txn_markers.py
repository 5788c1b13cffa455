"""WriteTxnMarkers (key 27): the transaction coordinator has commit or abort markers written to the partitions.

KIP-98; between brokers only. v2 adds the transaction version (KIP-1228).
"""

from ..wire import Api, Array, ErrorCode, Ignorable, Int32, Partition, Since, Struct, TopicName
from .meanings import Partitions, ProducerEpoch, ProducerId, TransactionResult, TransactionVersion

request = Struct(
    "markers" / Array(
        "producer_id" / ProducerId,
        "producer_epoch" / ProducerEpoch,
        "transaction_result" / TransactionResult,
        "topics" / Array("name" / TopicName, "partition_indexes" / Partitions),
        "coordinator_epoch" / Int32,
        "transaction_version" / Since(2, Ignorable(TransactionVersion)),
    ),
)
response = Struct(
    "markers" / Array(
        "producer_id" / ProducerId,
        "topics" / Array(
            "name" / TopicName,
            "partitions" / Array("partition_index" / Partition, "error_code" / ErrorCode),
        ),
    ),
)
api = Api(27, "WriteTxnMarkers", request, response, versions=range(3), flexible=1)
