"""What decoding returns, by key or name, for type checkers alone.

Made by `make codec` from protocol/schema: do not edit.
"""

from typing import Any, Literal, Protocol, overload

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

Buffer = memoryview | bytes | bytearray


class DecodeRequest(Protocol):
    @overload
    def __call__(self, api_key: Literal[ApiKey.PRODUCE], version: int, body: memoryview) -> messages.ProduceRequest: ...
    @overload
    def __call__(self, api_key: Literal[ApiKey.FETCH], version: int, body: memoryview) -> messages.FetchRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LIST_OFFSETS], version: int, body: memoryview
    ) -> messages.ListOffsetsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.METADATA], version: int, body: memoryview
    ) -> messages.MetadataRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LEADER_AND_ISR], version: int, body: memoryview
    ) -> messages.LeaderAndIsrRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.STOP_REPLICA], version: int, body: memoryview
    ) -> messages.StopReplicaRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.UPDATE_METADATA], version: int, body: memoryview
    ) -> messages.UpdateMetadataRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CONTROLLED_SHUTDOWN], version: int, body: memoryview
    ) -> messages.ControlledShutdownRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.OFFSET_COMMIT], version: int, body: memoryview
    ) -> messages.OffsetCommitRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.OFFSET_FETCH], version: int, body: memoryview
    ) -> messages.OffsetFetchRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.FIND_COORDINATOR], version: int, body: memoryview
    ) -> messages.FindCoordinatorRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.JOIN_GROUP], version: int, body: memoryview
    ) -> messages.JoinGroupRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.HEARTBEAT], version: int, body: memoryview
    ) -> messages.HeartbeatRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LEAVE_GROUP], version: int, body: memoryview
    ) -> messages.LeaveGroupRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.SYNC_GROUP], version: int, body: memoryview
    ) -> messages.SyncGroupRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_GROUPS], version: int, body: memoryview
    ) -> messages.DescribeGroupsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LIST_GROUPS], version: int, body: memoryview
    ) -> messages.ListGroupsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.SASL_HANDSHAKE], version: int, body: memoryview
    ) -> messages.SaslHandshakeRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.API_VERSIONS], version: int, body: memoryview
    ) -> messages.ApiVersionsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CREATE_TOPICS], version: int, body: memoryview
    ) -> messages.CreateTopicsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DELETE_TOPICS], version: int, body: memoryview
    ) -> messages.DeleteTopicsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DELETE_RECORDS], version: int, body: memoryview
    ) -> messages.DeleteRecordsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.INIT_PRODUCER_ID], version: int, body: memoryview
    ) -> messages.InitProducerIdRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.OFFSET_FOR_LEADER_EPOCH], version: int, body: memoryview
    ) -> messages.OffsetForLeaderEpochRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ADD_PARTITIONS_TO_TXN], version: int, body: memoryview
    ) -> messages.AddPartitionsToTxnRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ADD_OFFSETS_TO_TXN], version: int, body: memoryview
    ) -> messages.AddOffsetsToTxnRequest: ...
    @overload
    def __call__(self, api_key: Literal[ApiKey.END_TXN], version: int, body: memoryview) -> messages.EndTxnRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.WRITE_TXN_MARKERS], version: int, body: memoryview
    ) -> messages.WriteTxnMarkersRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.TXN_OFFSET_COMMIT], version: int, body: memoryview
    ) -> messages.TxnOffsetCommitRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_ACLS], version: int, body: memoryview
    ) -> messages.DescribeAclsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CREATE_ACLS], version: int, body: memoryview
    ) -> messages.CreateAclsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DELETE_ACLS], version: int, body: memoryview
    ) -> messages.DeleteAclsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_CONFIGS], version: int, body: memoryview
    ) -> messages.DescribeConfigsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_CONFIGS], version: int, body: memoryview
    ) -> messages.AlterConfigsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_REPLICA_LOG_DIRS], version: int, body: memoryview
    ) -> messages.AlterReplicaLogDirsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_LOG_DIRS], version: int, body: memoryview
    ) -> messages.DescribeLogDirsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.SASL_AUTHENTICATE], version: int, body: memoryview
    ) -> messages.SaslAuthenticateRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CREATE_PARTITIONS], version: int, body: memoryview
    ) -> messages.CreatePartitionsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CREATE_DELEGATION_TOKEN], version: int, body: memoryview
    ) -> messages.CreateDelegationTokenRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.RENEW_DELEGATION_TOKEN], version: int, body: memoryview
    ) -> messages.RenewDelegationTokenRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.EXPIRE_DELEGATION_TOKEN], version: int, body: memoryview
    ) -> messages.ExpireDelegationTokenRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_DELEGATION_TOKEN], version: int, body: memoryview
    ) -> messages.DescribeDelegationTokenRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DELETE_GROUPS], version: int, body: memoryview
    ) -> messages.DeleteGroupsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ELECT_LEADERS], version: int, body: memoryview
    ) -> messages.ElectLeadersRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.INCREMENTAL_ALTER_CONFIGS], version: int, body: memoryview
    ) -> messages.IncrementalAlterConfigsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_PARTITION_REASSIGNMENTS], version: int, body: memoryview
    ) -> messages.AlterPartitionReassignmentsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LIST_PARTITION_REASSIGNMENTS], version: int, body: memoryview
    ) -> messages.ListPartitionReassignmentsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.OFFSET_DELETE], version: int, body: memoryview
    ) -> messages.OffsetDeleteRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_CLIENT_QUOTAS], version: int, body: memoryview
    ) -> messages.DescribeClientQuotasRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_CLIENT_QUOTAS], version: int, body: memoryview
    ) -> messages.AlterClientQuotasRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS], version: int, body: memoryview
    ) -> messages.DescribeUserScramCredentialsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_USER_SCRAM_CREDENTIALS], version: int, body: memoryview
    ) -> messages.AlterUserScramCredentialsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_PARTITION], version: int, body: memoryview
    ) -> messages.AlterPartitionRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.UPDATE_FEATURES], version: int, body: memoryview
    ) -> messages.UpdateFeaturesRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_CLUSTER], version: int, body: memoryview
    ) -> messages.DescribeClusterRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_PRODUCERS], version: int, body: memoryview
    ) -> messages.DescribeProducersRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_TRANSACTIONS], version: int, body: memoryview
    ) -> messages.DescribeTransactionsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LIST_TRANSACTIONS], version: int, body: memoryview
    ) -> messages.ListTransactionsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALLOCATE_PRODUCER_IDS], version: int, body: memoryview
    ) -> messages.AllocateProducerIdsRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CONSUMER_GROUP_HEARTBEAT], version: int, body: memoryview
    ) -> messages.ConsumerGroupHeartbeatRequest: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CONSUMER_GROUP_DESCRIBE], version: int, body: memoryview
    ) -> messages.ConsumerGroupDescribeRequest: ...
    @overload
    def __call__(self, api_key: int, version: int, body: memoryview) -> Any: ...


class DecodeResponse(Protocol):
    @overload
    def __call__(self, api_key: Literal[ApiKey.PRODUCE], version: int, body: Buffer) -> messages.ProduceResponse: ...
    @overload
    def __call__(self, api_key: Literal[ApiKey.FETCH], version: int, body: Buffer) -> messages.FetchResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LIST_OFFSETS], version: int, body: Buffer
    ) -> messages.ListOffsetsResponse: ...
    @overload
    def __call__(self, api_key: Literal[ApiKey.METADATA], version: int, body: Buffer) -> messages.MetadataResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LEADER_AND_ISR], version: int, body: Buffer
    ) -> messages.LeaderAndIsrResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.STOP_REPLICA], version: int, body: Buffer
    ) -> messages.StopReplicaResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.UPDATE_METADATA], version: int, body: Buffer
    ) -> messages.UpdateMetadataResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CONTROLLED_SHUTDOWN], version: int, body: Buffer
    ) -> messages.ControlledShutdownResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.OFFSET_COMMIT], version: int, body: Buffer
    ) -> messages.OffsetCommitResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.OFFSET_FETCH], version: int, body: Buffer
    ) -> messages.OffsetFetchResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.FIND_COORDINATOR], version: int, body: Buffer
    ) -> messages.FindCoordinatorResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.JOIN_GROUP], version: int, body: Buffer
    ) -> messages.JoinGroupResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.HEARTBEAT], version: int, body: Buffer
    ) -> messages.HeartbeatResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LEAVE_GROUP], version: int, body: Buffer
    ) -> messages.LeaveGroupResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.SYNC_GROUP], version: int, body: Buffer
    ) -> messages.SyncGroupResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_GROUPS], version: int, body: Buffer
    ) -> messages.DescribeGroupsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LIST_GROUPS], version: int, body: Buffer
    ) -> messages.ListGroupsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.SASL_HANDSHAKE], version: int, body: Buffer
    ) -> messages.SaslHandshakeResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.API_VERSIONS], version: int, body: Buffer
    ) -> messages.ApiVersionsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CREATE_TOPICS], version: int, body: Buffer
    ) -> messages.CreateTopicsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DELETE_TOPICS], version: int, body: Buffer
    ) -> messages.DeleteTopicsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DELETE_RECORDS], version: int, body: Buffer
    ) -> messages.DeleteRecordsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.INIT_PRODUCER_ID], version: int, body: Buffer
    ) -> messages.InitProducerIdResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.OFFSET_FOR_LEADER_EPOCH], version: int, body: Buffer
    ) -> messages.OffsetForLeaderEpochResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ADD_PARTITIONS_TO_TXN], version: int, body: Buffer
    ) -> messages.AddPartitionsToTxnResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ADD_OFFSETS_TO_TXN], version: int, body: Buffer
    ) -> messages.AddOffsetsToTxnResponse: ...
    @overload
    def __call__(self, api_key: Literal[ApiKey.END_TXN], version: int, body: Buffer) -> messages.EndTxnResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.WRITE_TXN_MARKERS], version: int, body: Buffer
    ) -> messages.WriteTxnMarkersResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.TXN_OFFSET_COMMIT], version: int, body: Buffer
    ) -> messages.TxnOffsetCommitResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_ACLS], version: int, body: Buffer
    ) -> messages.DescribeAclsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CREATE_ACLS], version: int, body: Buffer
    ) -> messages.CreateAclsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DELETE_ACLS], version: int, body: Buffer
    ) -> messages.DeleteAclsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_CONFIGS], version: int, body: Buffer
    ) -> messages.DescribeConfigsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_CONFIGS], version: int, body: Buffer
    ) -> messages.AlterConfigsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_REPLICA_LOG_DIRS], version: int, body: Buffer
    ) -> messages.AlterReplicaLogDirsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_LOG_DIRS], version: int, body: Buffer
    ) -> messages.DescribeLogDirsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.SASL_AUTHENTICATE], version: int, body: Buffer
    ) -> messages.SaslAuthenticateResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CREATE_PARTITIONS], version: int, body: Buffer
    ) -> messages.CreatePartitionsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CREATE_DELEGATION_TOKEN], version: int, body: Buffer
    ) -> messages.CreateDelegationTokenResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.RENEW_DELEGATION_TOKEN], version: int, body: Buffer
    ) -> messages.RenewDelegationTokenResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.EXPIRE_DELEGATION_TOKEN], version: int, body: Buffer
    ) -> messages.ExpireDelegationTokenResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_DELEGATION_TOKEN], version: int, body: Buffer
    ) -> messages.DescribeDelegationTokenResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DELETE_GROUPS], version: int, body: Buffer
    ) -> messages.DeleteGroupsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ELECT_LEADERS], version: int, body: Buffer
    ) -> messages.ElectLeadersResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.INCREMENTAL_ALTER_CONFIGS], version: int, body: Buffer
    ) -> messages.IncrementalAlterConfigsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_PARTITION_REASSIGNMENTS], version: int, body: Buffer
    ) -> messages.AlterPartitionReassignmentsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LIST_PARTITION_REASSIGNMENTS], version: int, body: Buffer
    ) -> messages.ListPartitionReassignmentsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.OFFSET_DELETE], version: int, body: Buffer
    ) -> messages.OffsetDeleteResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_CLIENT_QUOTAS], version: int, body: Buffer
    ) -> messages.DescribeClientQuotasResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_CLIENT_QUOTAS], version: int, body: Buffer
    ) -> messages.AlterClientQuotasResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS], version: int, body: Buffer
    ) -> messages.DescribeUserScramCredentialsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_USER_SCRAM_CREDENTIALS], version: int, body: Buffer
    ) -> messages.AlterUserScramCredentialsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALTER_PARTITION], version: int, body: Buffer
    ) -> messages.AlterPartitionResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.UPDATE_FEATURES], version: int, body: Buffer
    ) -> messages.UpdateFeaturesResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_CLUSTER], version: int, body: Buffer
    ) -> messages.DescribeClusterResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_PRODUCERS], version: int, body: Buffer
    ) -> messages.DescribeProducersResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.DESCRIBE_TRANSACTIONS], version: int, body: Buffer
    ) -> messages.DescribeTransactionsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.LIST_TRANSACTIONS], version: int, body: Buffer
    ) -> messages.ListTransactionsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.ALLOCATE_PRODUCER_IDS], version: int, body: Buffer
    ) -> messages.AllocateProducerIdsResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CONSUMER_GROUP_HEARTBEAT], version: int, body: Buffer
    ) -> messages.ConsumerGroupHeartbeatResponse: ...
    @overload
    def __call__(
        self, api_key: Literal[ApiKey.CONSUMER_GROUP_DESCRIBE], version: int, body: Buffer
    ) -> messages.ConsumerGroupDescribeResponse: ...
    @overload
    def __call__(self, api_key: int, version: int, body: Buffer) -> Any: ...


class DecodeStruct(Protocol):
    @overload
    def __call__(self, name: Literal["ProduceRequest"], version: int, body: Buffer) -> messages.ProduceRequest: ...
    @overload
    def __call__(self, name: Literal["ProduceResponse"], version: int, body: Buffer) -> messages.ProduceResponse: ...
    @overload
    def __call__(self, name: Literal["FetchRequest"], version: int, body: Buffer) -> messages.FetchRequest: ...
    @overload
    def __call__(self, name: Literal["FetchResponse"], version: int, body: Buffer) -> messages.FetchResponse: ...
    @overload
    def __call__(
        self, name: Literal["ListOffsetsRequest"], version: int, body: Buffer
    ) -> messages.ListOffsetsRequest: ...
    @overload
    def __call__(
        self, name: Literal["ListOffsetsResponse"], version: int, body: Buffer
    ) -> messages.ListOffsetsResponse: ...
    @overload
    def __call__(self, name: Literal["MetadataRequest"], version: int, body: Buffer) -> messages.MetadataRequest: ...
    @overload
    def __call__(self, name: Literal["MetadataResponse"], version: int, body: Buffer) -> messages.MetadataResponse: ...
    @overload
    def __call__(
        self, name: Literal["LeaderAndIsrRequest"], version: int, body: Buffer
    ) -> messages.LeaderAndIsrRequest: ...
    @overload
    def __call__(
        self, name: Literal["LeaderAndIsrResponse"], version: int, body: Buffer
    ) -> messages.LeaderAndIsrResponse: ...
    @overload
    def __call__(
        self, name: Literal["StopReplicaRequest"], version: int, body: Buffer
    ) -> messages.StopReplicaRequest: ...
    @overload
    def __call__(
        self, name: Literal["StopReplicaResponse"], version: int, body: Buffer
    ) -> messages.StopReplicaResponse: ...
    @overload
    def __call__(
        self, name: Literal["UpdateMetadataRequest"], version: int, body: Buffer
    ) -> messages.UpdateMetadataRequest: ...
    @overload
    def __call__(
        self, name: Literal["UpdateMetadataResponse"], version: int, body: Buffer
    ) -> messages.UpdateMetadataResponse: ...
    @overload
    def __call__(
        self, name: Literal["ControlledShutdownRequest"], version: int, body: Buffer
    ) -> messages.ControlledShutdownRequest: ...
    @overload
    def __call__(
        self, name: Literal["ControlledShutdownResponse"], version: int, body: Buffer
    ) -> messages.ControlledShutdownResponse: ...
    @overload
    def __call__(
        self, name: Literal["OffsetCommitRequest"], version: int, body: Buffer
    ) -> messages.OffsetCommitRequest: ...
    @overload
    def __call__(
        self, name: Literal["OffsetCommitResponse"], version: int, body: Buffer
    ) -> messages.OffsetCommitResponse: ...
    @overload
    def __call__(
        self, name: Literal["OffsetFetchRequest"], version: int, body: Buffer
    ) -> messages.OffsetFetchRequest: ...
    @overload
    def __call__(
        self, name: Literal["OffsetFetchResponse"], version: int, body: Buffer
    ) -> messages.OffsetFetchResponse: ...
    @overload
    def __call__(
        self, name: Literal["FindCoordinatorRequest"], version: int, body: Buffer
    ) -> messages.FindCoordinatorRequest: ...
    @overload
    def __call__(
        self, name: Literal["FindCoordinatorResponse"], version: int, body: Buffer
    ) -> messages.FindCoordinatorResponse: ...
    @overload
    def __call__(self, name: Literal["JoinGroupRequest"], version: int, body: Buffer) -> messages.JoinGroupRequest: ...
    @overload
    def __call__(
        self, name: Literal["JoinGroupResponse"], version: int, body: Buffer
    ) -> messages.JoinGroupResponse: ...
    @overload
    def __call__(self, name: Literal["HeartbeatRequest"], version: int, body: Buffer) -> messages.HeartbeatRequest: ...
    @overload
    def __call__(
        self, name: Literal["HeartbeatResponse"], version: int, body: Buffer
    ) -> messages.HeartbeatResponse: ...
    @overload
    def __call__(
        self, name: Literal["LeaveGroupRequest"], version: int, body: Buffer
    ) -> messages.LeaveGroupRequest: ...
    @overload
    def __call__(
        self, name: Literal["LeaveGroupResponse"], version: int, body: Buffer
    ) -> messages.LeaveGroupResponse: ...
    @overload
    def __call__(self, name: Literal["SyncGroupRequest"], version: int, body: Buffer) -> messages.SyncGroupRequest: ...
    @overload
    def __call__(
        self, name: Literal["SyncGroupResponse"], version: int, body: Buffer
    ) -> messages.SyncGroupResponse: ...
    @overload
    def __call__(
        self, name: Literal["DescribeGroupsRequest"], version: int, body: Buffer
    ) -> messages.DescribeGroupsRequest: ...
    @overload
    def __call__(
        self, name: Literal["DescribeGroupsResponse"], version: int, body: Buffer
    ) -> messages.DescribeGroupsResponse: ...
    @overload
    def __call__(
        self, name: Literal["ListGroupsRequest"], version: int, body: Buffer
    ) -> messages.ListGroupsRequest: ...
    @overload
    def __call__(
        self, name: Literal["ListGroupsResponse"], version: int, body: Buffer
    ) -> messages.ListGroupsResponse: ...
    @overload
    def __call__(
        self, name: Literal["SaslHandshakeRequest"], version: int, body: Buffer
    ) -> messages.SaslHandshakeRequest: ...
    @overload
    def __call__(
        self, name: Literal["SaslHandshakeResponse"], version: int, body: Buffer
    ) -> messages.SaslHandshakeResponse: ...
    @overload
    def __call__(
        self, name: Literal["ApiVersionsRequest"], version: int, body: Buffer
    ) -> messages.ApiVersionsRequest: ...
    @overload
    def __call__(
        self, name: Literal["ApiVersionsResponse"], version: int, body: Buffer
    ) -> messages.ApiVersionsResponse: ...
    @overload
    def __call__(
        self, name: Literal["CreateTopicsRequest"], version: int, body: Buffer
    ) -> messages.CreateTopicsRequest: ...
    @overload
    def __call__(
        self, name: Literal["CreateTopicsResponse"], version: int, body: Buffer
    ) -> messages.CreateTopicsResponse: ...
    @overload
    def __call__(
        self, name: Literal["DeleteTopicsRequest"], version: int, body: Buffer
    ) -> messages.DeleteTopicsRequest: ...
    @overload
    def __call__(
        self, name: Literal["DeleteTopicsResponse"], version: int, body: Buffer
    ) -> messages.DeleteTopicsResponse: ...
    @overload
    def __call__(
        self, name: Literal["DeleteRecordsRequest"], version: int, body: Buffer
    ) -> messages.DeleteRecordsRequest: ...
    @overload
    def __call__(
        self, name: Literal["DeleteRecordsResponse"], version: int, body: Buffer
    ) -> messages.DeleteRecordsResponse: ...
    @overload
    def __call__(
        self, name: Literal["InitProducerIdRequest"], version: int, body: Buffer
    ) -> messages.InitProducerIdRequest: ...
    @overload
    def __call__(
        self, name: Literal["InitProducerIdResponse"], version: int, body: Buffer
    ) -> messages.InitProducerIdResponse: ...
    @overload
    def __call__(
        self, name: Literal["OffsetForLeaderEpochRequest"], version: int, body: Buffer
    ) -> messages.OffsetForLeaderEpochRequest: ...
    @overload
    def __call__(
        self, name: Literal["OffsetForLeaderEpochResponse"], version: int, body: Buffer
    ) -> messages.OffsetForLeaderEpochResponse: ...
    @overload
    def __call__(
        self, name: Literal["AddPartitionsToTxnRequest"], version: int, body: Buffer
    ) -> messages.AddPartitionsToTxnRequest: ...
    @overload
    def __call__(
        self, name: Literal["AddPartitionsToTxnResponse"], version: int, body: Buffer
    ) -> messages.AddPartitionsToTxnResponse: ...
    @overload
    def __call__(
        self, name: Literal["AddOffsetsToTxnRequest"], version: int, body: Buffer
    ) -> messages.AddOffsetsToTxnRequest: ...
    @overload
    def __call__(
        self, name: Literal["AddOffsetsToTxnResponse"], version: int, body: Buffer
    ) -> messages.AddOffsetsToTxnResponse: ...
    @overload
    def __call__(self, name: Literal["EndTxnRequest"], version: int, body: Buffer) -> messages.EndTxnRequest: ...
    @overload
    def __call__(self, name: Literal["EndTxnResponse"], version: int, body: Buffer) -> messages.EndTxnResponse: ...
    @overload
    def __call__(
        self, name: Literal["WriteTxnMarkersRequest"], version: int, body: Buffer
    ) -> messages.WriteTxnMarkersRequest: ...
    @overload
    def __call__(
        self, name: Literal["WriteTxnMarkersResponse"], version: int, body: Buffer
    ) -> messages.WriteTxnMarkersResponse: ...
    @overload
    def __call__(
        self, name: Literal["TxnOffsetCommitRequest"], version: int, body: Buffer
    ) -> messages.TxnOffsetCommitRequest: ...
    @overload
    def __call__(
        self, name: Literal["TxnOffsetCommitResponse"], version: int, body: Buffer
    ) -> messages.TxnOffsetCommitResponse: ...
    @overload
    def __call__(
        self, name: Literal["DescribeAclsRequest"], version: int, body: Buffer
    ) -> messages.DescribeAclsRequest: ...
    @overload
    def __call__(
        self, name: Literal["DescribeAclsResponse"], version: int, body: Buffer
    ) -> messages.DescribeAclsResponse: ...
    @overload
    def __call__(
        self, name: Literal["CreateAclsRequest"], version: int, body: Buffer
    ) -> messages.CreateAclsRequest: ...
    @overload
    def __call__(
        self, name: Literal["CreateAclsResponse"], version: int, body: Buffer
    ) -> messages.CreateAclsResponse: ...
    @overload
    def __call__(
        self, name: Literal["DeleteAclsRequest"], version: int, body: Buffer
    ) -> messages.DeleteAclsRequest: ...
    @overload
    def __call__(
        self, name: Literal["DeleteAclsResponse"], version: int, body: Buffer
    ) -> messages.DeleteAclsResponse: ...
    @overload
    def __call__(
        self, name: Literal["DescribeConfigsRequest"], version: int, body: Buffer
    ) -> messages.DescribeConfigsRequest: ...
    @overload
    def __call__(
        self, name: Literal["DescribeConfigsResponse"], version: int, body: Buffer
    ) -> messages.DescribeConfigsResponse: ...
    @overload
    def __call__(
        self, name: Literal["AlterConfigsRequest"], version: int, body: Buffer
    ) -> messages.AlterConfigsRequest: ...
    @overload
    def __call__(
        self, name: Literal["AlterConfigsResponse"], version: int, body: Buffer
    ) -> messages.AlterConfigsResponse: ...
    @overload
    def __call__(
        self, name: Literal["AlterReplicaLogDirsRequest"], version: int, body: Buffer
    ) -> messages.AlterReplicaLogDirsRequest: ...
    @overload
    def __call__(
        self, name: Literal["AlterReplicaLogDirsResponse"], version: int, body: Buffer
    ) -> messages.AlterReplicaLogDirsResponse: ...
    @overload
    def __call__(
        self, name: Literal["DescribeLogDirsRequest"], version: int, body: Buffer
    ) -> messages.DescribeLogDirsRequest: ...
    @overload
    def __call__(
        self, name: Literal["DescribeLogDirsResponse"], version: int, body: Buffer
    ) -> messages.DescribeLogDirsResponse: ...
    @overload
    def __call__(
        self, name: Literal["SaslAuthenticateRequest"], version: int, body: Buffer
    ) -> messages.SaslAuthenticateRequest: ...
    @overload
    def __call__(
        self, name: Literal["SaslAuthenticateResponse"], version: int, body: Buffer
    ) -> messages.SaslAuthenticateResponse: ...
    @overload
    def __call__(
        self, name: Literal["CreatePartitionsRequest"], version: int, body: Buffer
    ) -> messages.CreatePartitionsRequest: ...
    @overload
    def __call__(
        self, name: Literal["CreatePartitionsResponse"], version: int, body: Buffer
    ) -> messages.CreatePartitionsResponse: ...
    @overload
    def __call__(
        self, name: Literal["CreateDelegationTokenRequest"], version: int, body: Buffer
    ) -> messages.CreateDelegationTokenRequest: ...
    @overload
    def __call__(
        self, name: Literal["CreateDelegationTokenResponse"], version: int, body: Buffer
    ) -> messages.CreateDelegationTokenResponse: ...
    @overload
    def __call__(
        self, name: Literal["RenewDelegationTokenRequest"], version: int, body: Buffer
    ) -> messages.RenewDelegationTokenRequest: ...
    @overload
    def __call__(
        self, name: Literal["RenewDelegationTokenResponse"], version: int, body: Buffer
    ) -> messages.RenewDelegationTokenResponse: ...
    @overload
    def __call__(
        self, name: Literal["ExpireDelegationTokenRequest"], version: int, body: Buffer
    ) -> messages.ExpireDelegationTokenRequest: ...
    @overload
    def __call__(
        self, name: Literal["ExpireDelegationTokenResponse"], version: int, body: Buffer
    ) -> messages.ExpireDelegationTokenResponse: ...
    @overload
    def __call__(
        self, name: Literal["DescribeDelegationTokenRequest"], version: int, body: Buffer
    ) -> messages.DescribeDelegationTokenRequest: ...
    @overload
    def __call__(
        self, name: Literal["DescribeDelegationTokenResponse"], version: int, body: Buffer
    ) -> messages.DescribeDelegationTokenResponse: ...
    @overload
    def __call__(
        self, name: Literal["DeleteGroupsRequest"], version: int, body: Buffer
    ) -> messages.DeleteGroupsRequest: ...
    @overload
    def __call__(
        self, name: Literal["DeleteGroupsResponse"], version: int, body: Buffer
    ) -> messages.DeleteGroupsResponse: ...
    @overload
    def __call__(
        self, name: Literal["ElectLeadersRequest"], version: int, body: Buffer
    ) -> messages.ElectLeadersRequest: ...
    @overload
    def __call__(
        self, name: Literal["ElectLeadersResponse"], version: int, body: Buffer
    ) -> messages.ElectLeadersResponse: ...
    @overload
    def __call__(
        self, name: Literal["IncrementalAlterConfigsRequest"], version: int, body: Buffer
    ) -> messages.IncrementalAlterConfigsRequest: ...
    @overload
    def __call__(
        self, name: Literal["IncrementalAlterConfigsResponse"], version: int, body: Buffer
    ) -> messages.IncrementalAlterConfigsResponse: ...
    @overload
    def __call__(
        self, name: Literal["AlterPartitionReassignmentsRequest"], version: int, body: Buffer
    ) -> messages.AlterPartitionReassignmentsRequest: ...
    @overload
    def __call__(
        self, name: Literal["AlterPartitionReassignmentsResponse"], version: int, body: Buffer
    ) -> messages.AlterPartitionReassignmentsResponse: ...
    @overload
    def __call__(
        self, name: Literal["ListPartitionReassignmentsRequest"], version: int, body: Buffer
    ) -> messages.ListPartitionReassignmentsRequest: ...
    @overload
    def __call__(
        self, name: Literal["ListPartitionReassignmentsResponse"], version: int, body: Buffer
    ) -> messages.ListPartitionReassignmentsResponse: ...
    @overload
    def __call__(
        self, name: Literal["OffsetDeleteRequest"], version: int, body: Buffer
    ) -> messages.OffsetDeleteRequest: ...
    @overload
    def __call__(
        self, name: Literal["OffsetDeleteResponse"], version: int, body: Buffer
    ) -> messages.OffsetDeleteResponse: ...
    @overload
    def __call__(
        self, name: Literal["DescribeClientQuotasRequest"], version: int, body: Buffer
    ) -> messages.DescribeClientQuotasRequest: ...
    @overload
    def __call__(
        self, name: Literal["DescribeClientQuotasResponse"], version: int, body: Buffer
    ) -> messages.DescribeClientQuotasResponse: ...
    @overload
    def __call__(
        self, name: Literal["AlterClientQuotasRequest"], version: int, body: Buffer
    ) -> messages.AlterClientQuotasRequest: ...
    @overload
    def __call__(
        self, name: Literal["AlterClientQuotasResponse"], version: int, body: Buffer
    ) -> messages.AlterClientQuotasResponse: ...
    @overload
    def __call__(
        self, name: Literal["DescribeUserScramCredentialsRequest"], version: int, body: Buffer
    ) -> messages.DescribeUserScramCredentialsRequest: ...
    @overload
    def __call__(
        self, name: Literal["DescribeUserScramCredentialsResponse"], version: int, body: Buffer
    ) -> messages.DescribeUserScramCredentialsResponse: ...
    @overload
    def __call__(
        self, name: Literal["AlterUserScramCredentialsRequest"], version: int, body: Buffer
    ) -> messages.AlterUserScramCredentialsRequest: ...
    @overload
    def __call__(
        self, name: Literal["AlterUserScramCredentialsResponse"], version: int, body: Buffer
    ) -> messages.AlterUserScramCredentialsResponse: ...
    @overload
    def __call__(
        self, name: Literal["AlterPartitionRequest"], version: int, body: Buffer
    ) -> messages.AlterPartitionRequest: ...
    @overload
    def __call__(
        self, name: Literal["AlterPartitionResponse"], version: int, body: Buffer
    ) -> messages.AlterPartitionResponse: ...
    @overload
    def __call__(
        self, name: Literal["UpdateFeaturesRequest"], version: int, body: Buffer
    ) -> messages.UpdateFeaturesRequest: ...
    @overload
    def __call__(
        self, name: Literal["UpdateFeaturesResponse"], version: int, body: Buffer
    ) -> messages.UpdateFeaturesResponse: ...
    @overload
    def __call__(
        self, name: Literal["DescribeClusterRequest"], version: int, body: Buffer
    ) -> messages.DescribeClusterRequest: ...
    @overload
    def __call__(
        self, name: Literal["DescribeClusterResponse"], version: int, body: Buffer
    ) -> messages.DescribeClusterResponse: ...
    @overload
    def __call__(
        self, name: Literal["DescribeProducersRequest"], version: int, body: Buffer
    ) -> messages.DescribeProducersRequest: ...
    @overload
    def __call__(
        self, name: Literal["DescribeProducersResponse"], version: int, body: Buffer
    ) -> messages.DescribeProducersResponse: ...
    @overload
    def __call__(
        self, name: Literal["DescribeTransactionsRequest"], version: int, body: Buffer
    ) -> messages.DescribeTransactionsRequest: ...
    @overload
    def __call__(
        self, name: Literal["DescribeTransactionsResponse"], version: int, body: Buffer
    ) -> messages.DescribeTransactionsResponse: ...
    @overload
    def __call__(
        self, name: Literal["ListTransactionsRequest"], version: int, body: Buffer
    ) -> messages.ListTransactionsRequest: ...
    @overload
    def __call__(
        self, name: Literal["ListTransactionsResponse"], version: int, body: Buffer
    ) -> messages.ListTransactionsResponse: ...
    @overload
    def __call__(
        self, name: Literal["AllocateProducerIdsRequest"], version: int, body: Buffer
    ) -> messages.AllocateProducerIdsRequest: ...
    @overload
    def __call__(
        self, name: Literal["AllocateProducerIdsResponse"], version: int, body: Buffer
    ) -> messages.AllocateProducerIdsResponse: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupHeartbeatRequest"], version: int, body: Buffer
    ) -> messages.ConsumerGroupHeartbeatRequest: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupHeartbeatResponse"], version: int, body: Buffer
    ) -> messages.ConsumerGroupHeartbeatResponse: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupDescribeRequest"], version: int, body: Buffer
    ) -> messages.ConsumerGroupDescribeRequest: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupDescribeResponse"], version: int, body: Buffer
    ) -> messages.ConsumerGroupDescribeResponse: ...
    @overload
    def __call__(self, name: Literal["RequestHeader"], version: int, body: Buffer) -> messages.RequestHeader: ...
    @overload
    def __call__(self, name: Literal["ResponseHeader"], version: int, body: Buffer) -> messages.ResponseHeader: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerProtocolSubscription"], version: int, body: Buffer
    ) -> messages.ConsumerProtocolSubscription: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerProtocolAssignment"], version: int, body: Buffer
    ) -> messages.ConsumerProtocolAssignment: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupCurrentMemberAssignmentKey"], version: int, body: Buffer
    ) -> messages.ConsumerGroupCurrentMemberAssignmentKey: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupCurrentMemberAssignmentValue"], version: int, body: Buffer
    ) -> messages.ConsumerGroupCurrentMemberAssignmentValue: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupMemberMetadataKey"], version: int, body: Buffer
    ) -> messages.ConsumerGroupMemberMetadataKey: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupMemberMetadataValue"], version: int, body: Buffer
    ) -> messages.ConsumerGroupMemberMetadataValue: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupMetadataKey"], version: int, body: Buffer
    ) -> messages.ConsumerGroupMetadataKey: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupMetadataValue"], version: int, body: Buffer
    ) -> messages.ConsumerGroupMetadataValue: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupPartitionMetadataKey"], version: int, body: Buffer
    ) -> messages.ConsumerGroupPartitionMetadataKey: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupPartitionMetadataValue"], version: int, body: Buffer
    ) -> messages.ConsumerGroupPartitionMetadataValue: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupTargetAssignmentMemberKey"], version: int, body: Buffer
    ) -> messages.ConsumerGroupTargetAssignmentMemberKey: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupTargetAssignmentMemberValue"], version: int, body: Buffer
    ) -> messages.ConsumerGroupTargetAssignmentMemberValue: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupTargetAssignmentMetadataKey"], version: int, body: Buffer
    ) -> messages.ConsumerGroupTargetAssignmentMetadataKey: ...
    @overload
    def __call__(
        self, name: Literal["ConsumerGroupTargetAssignmentMetadataValue"], version: int, body: Buffer
    ) -> messages.ConsumerGroupTargetAssignmentMetadataValue: ...
    @overload
    def __call__(self, name: Literal["GroupMetadataKey"], version: int, body: Buffer) -> messages.GroupMetadataKey: ...
    @overload
    def __call__(
        self, name: Literal["GroupMetadataValue"], version: int, body: Buffer
    ) -> messages.GroupMetadataValue: ...
    @overload
    def __call__(self, name: Literal["OffsetCommitKey"], version: int, body: Buffer) -> messages.OffsetCommitKey: ...
    @overload
    def __call__(
        self, name: Literal["OffsetCommitValue"], version: int, body: Buffer
    ) -> messages.OffsetCommitValue: ...
    @overload
    def __call__(
        self, name: Literal["ShareGroupMemberMetadataKey"], version: int, body: Buffer
    ) -> messages.ShareGroupMemberMetadataKey: ...
    @overload
    def __call__(
        self, name: Literal["ShareGroupMemberMetadataValue"], version: int, body: Buffer
    ) -> messages.ShareGroupMemberMetadataValue: ...
    @overload
    def __call__(
        self, name: Literal["ShareGroupMetadataKey"], version: int, body: Buffer
    ) -> messages.ShareGroupMetadataKey: ...
    @overload
    def __call__(
        self, name: Literal["ShareGroupMetadataValue"], version: int, body: Buffer
    ) -> messages.ShareGroupMetadataValue: ...
    @overload
    def __call__(
        self, name: Literal["ShareGroupPartitionMetadataKey"], version: int, body: Buffer
    ) -> messages.ShareGroupPartitionMetadataKey: ...
    @overload
    def __call__(
        self, name: Literal["ShareGroupPartitionMetadataValue"], version: int, body: Buffer
    ) -> messages.ShareGroupPartitionMetadataValue: ...
    @overload
    def __call__(
        self, name: Literal["TransactionLogKey"], version: int, body: Buffer
    ) -> messages.TransactionLogKey: ...
    @overload
    def __call__(
        self, name: Literal["TransactionLogValue"], version: int, body: Buffer
    ) -> messages.TransactionLogValue: ...
    @overload
    def __call__(self, name: str, version: int, body: Buffer) -> Any: ...
