"""The state of a KRaft voter between restarts: its vote and the leader (KIP-595).

It never stands in bytes like these: the file quorum-state holds it as JSON, with its version as "data_version". v1
the directory of the voter (KIP-853); the voters themselves are in the log since then.
"""

from ...wire.language.payload import Payload
from ..meanings import *

quorum_state: Final = Payload("QuorumStateData", Struct(
    "cluster_id" / Until(0, ClusterId),
    "leader_id" / Default(LeaderId, -1),
    "leader_epoch" / Default(LeaderEpoch, -1) * "epoch the voter is in; it never goes back; -1 means none so far",
    "voted_id" / Default(Int32, -1) * "candidate the voter has voted for in this epoch; -1 means none",
    "voted_directory_id" / Since(1, Uuid) * "metadata directory of that candidate; zero means none",
    "applied_offset" / Until(0, Int64) * "unused by Kafka",
    "current_voters" / Until(0, Nullable(Array("voter_id" / VoterId))) * "all voters of the quorum; null means unknown",
), versions=range(2), flexible=0)
