"""Every message, for type checkers alone.

Made by `make codec` from protocol/schema: do not edit.
"""

from headrace.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest as AddOffsetsToTxnRequest
from headrace.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse as AddOffsetsToTxnResponse
from headrace.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest as AddPartitionsToTxnRequest,
)
from headrace.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnResponse as AddPartitionsToTxnResponse,
)
from headrace.protocol.messages.allocate_producer_ids_request import (
    AllocateProducerIdsRequest as AllocateProducerIdsRequest,
)
from headrace.protocol.messages.allocate_producer_ids_response import (
    AllocateProducerIdsResponse as AllocateProducerIdsResponse,
)
from headrace.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest as AlterClientQuotasRequest
from headrace.protocol.messages.alter_client_quotas_response import (
    AlterClientQuotasResponse as AlterClientQuotasResponse,
)
from headrace.protocol.messages.alter_configs_request import AlterConfigsRequest as AlterConfigsRequest
from headrace.protocol.messages.alter_configs_response import AlterConfigsResponse as AlterConfigsResponse
from headrace.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest as AlterPartitionReassignmentsRequest,
)
from headrace.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse as AlterPartitionReassignmentsResponse,
)
from headrace.protocol.messages.alter_partition_request import AlterPartitionRequest as AlterPartitionRequest
from headrace.protocol.messages.alter_partition_response import AlterPartitionResponse as AlterPartitionResponse
from headrace.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDirsRequest as AlterReplicaLogDirsRequest,
)
from headrace.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirsResponse as AlterReplicaLogDirsResponse,
)
from headrace.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest as AlterUserScramCredentialsRequest,
)
from headrace.protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse as AlterUserScramCredentialsResponse,
)
from headrace.protocol.messages.api_versions_request import ApiVersionsRequest as ApiVersionsRequest
from headrace.protocol.messages.api_versions_response import ApiVersionsResponse as ApiVersionsResponse
from headrace.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey as ConsumerGroupCurrentMemberAssignmentKey,
)
from headrace.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue as ConsumerGroupCurrentMemberAssignmentValue,
)
from headrace.protocol.messages.consumer_group_describe_request import (
    ConsumerGroupDescribeRequest as ConsumerGroupDescribeRequest,
)
from headrace.protocol.messages.consumer_group_describe_response import (
    ConsumerGroupDescribeResponse as ConsumerGroupDescribeResponse,
)
from headrace.protocol.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest as ConsumerGroupHeartbeatRequest,
)
from headrace.protocol.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse as ConsumerGroupHeartbeatResponse,
)
from headrace.protocol.messages.consumer_group_member_metadata_key import (
    ConsumerGroupMemberMetadataKey as ConsumerGroupMemberMetadataKey,
)
from headrace.protocol.messages.consumer_group_member_metadata_value import (
    ConsumerGroupMemberMetadataValue as ConsumerGroupMemberMetadataValue,
)
from headrace.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey as ConsumerGroupMetadataKey
from headrace.protocol.messages.consumer_group_metadata_value import (
    ConsumerGroupMetadataValue as ConsumerGroupMetadataValue,
)
from headrace.protocol.messages.consumer_group_partition_metadata_key import (
    ConsumerGroupPartitionMetadataKey as ConsumerGroupPartitionMetadataKey,
)
from headrace.protocol.messages.consumer_group_partition_metadata_value import (
    ConsumerGroupPartitionMetadataValue as ConsumerGroupPartitionMetadataValue,
)
from headrace.protocol.messages.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey as ConsumerGroupTargetAssignmentMemberKey,
)
from headrace.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue as ConsumerGroupTargetAssignmentMemberValue,
)
from headrace.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey as ConsumerGroupTargetAssignmentMetadataKey,
)
from headrace.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue as ConsumerGroupTargetAssignmentMetadataValue,
)
from headrace.protocol.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment as ConsumerProtocolAssignment,
)
from headrace.protocol.messages.consumer_protocol_subscription import (
    ConsumerProtocolSubscription as ConsumerProtocolSubscription,
)
from headrace.protocol.messages.controlled_shutdown_request import (
    ControlledShutdownRequest as ControlledShutdownRequest,
)
from headrace.protocol.messages.controlled_shutdown_response import (
    ControlledShutdownResponse as ControlledShutdownResponse,
)
from headrace.protocol.messages.create_acls_request import CreateAclsRequest as CreateAclsRequest
from headrace.protocol.messages.create_acls_response import CreateAclsResponse as CreateAclsResponse
from headrace.protocol.messages.create_delegation_token_request import (
    CreateDelegationTokenRequest as CreateDelegationTokenRequest,
)
from headrace.protocol.messages.create_delegation_token_response import (
    CreateDelegationTokenResponse as CreateDelegationTokenResponse,
)
from headrace.protocol.messages.create_partitions_request import CreatePartitionsRequest as CreatePartitionsRequest
from headrace.protocol.messages.create_partitions_response import CreatePartitionsResponse as CreatePartitionsResponse
from headrace.protocol.messages.create_topics_request import CreateTopicsRequest as CreateTopicsRequest
from headrace.protocol.messages.create_topics_response import CreateTopicsResponse as CreateTopicsResponse
from headrace.protocol.messages.delete_acls_request import DeleteAclsRequest as DeleteAclsRequest
from headrace.protocol.messages.delete_acls_response import DeleteAclsResponse as DeleteAclsResponse
from headrace.protocol.messages.delete_groups_request import DeleteGroupsRequest as DeleteGroupsRequest
from headrace.protocol.messages.delete_groups_response import DeleteGroupsResponse as DeleteGroupsResponse
from headrace.protocol.messages.delete_records_request import DeleteRecordsRequest as DeleteRecordsRequest
from headrace.protocol.messages.delete_records_response import DeleteRecordsResponse as DeleteRecordsResponse
from headrace.protocol.messages.delete_topics_request import DeleteTopicsRequest as DeleteTopicsRequest
from headrace.protocol.messages.delete_topics_response import DeleteTopicsResponse as DeleteTopicsResponse
from headrace.protocol.messages.describe_acls_request import DescribeAclsRequest as DescribeAclsRequest
from headrace.protocol.messages.describe_acls_response import DescribeAclsResponse as DescribeAclsResponse
from headrace.protocol.messages.describe_client_quotas_request import (
    DescribeClientQuotasRequest as DescribeClientQuotasRequest,
)
from headrace.protocol.messages.describe_client_quotas_response import (
    DescribeClientQuotasResponse as DescribeClientQuotasResponse,
)
from headrace.protocol.messages.describe_cluster_request import DescribeClusterRequest as DescribeClusterRequest
from headrace.protocol.messages.describe_cluster_response import DescribeClusterResponse as DescribeClusterResponse
from headrace.protocol.messages.describe_configs_request import DescribeConfigsRequest as DescribeConfigsRequest
from headrace.protocol.messages.describe_configs_response import DescribeConfigsResponse as DescribeConfigsResponse
from headrace.protocol.messages.describe_delegation_token_request import (
    DescribeDelegationTokenRequest as DescribeDelegationTokenRequest,
)
from headrace.protocol.messages.describe_delegation_token_response import (
    DescribeDelegationTokenResponse as DescribeDelegationTokenResponse,
)
from headrace.protocol.messages.describe_groups_request import DescribeGroupsRequest as DescribeGroupsRequest
from headrace.protocol.messages.describe_groups_response import DescribeGroupsResponse as DescribeGroupsResponse
from headrace.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest as DescribeLogDirsRequest
from headrace.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse as DescribeLogDirsResponse
from headrace.protocol.messages.describe_producers_request import DescribeProducersRequest as DescribeProducersRequest
from headrace.protocol.messages.describe_producers_response import (
    DescribeProducersResponse as DescribeProducersResponse,
)
from headrace.protocol.messages.describe_transactions_request import (
    DescribeTransactionsRequest as DescribeTransactionsRequest,
)
from headrace.protocol.messages.describe_transactions_response import (
    DescribeTransactionsResponse as DescribeTransactionsResponse,
)
from headrace.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest as DescribeUserScramCredentialsRequest,
)
from headrace.protocol.messages.describe_user_scram_credentials_response import (
    DescribeUserScramCredentialsResponse as DescribeUserScramCredentialsResponse,
)
from headrace.protocol.messages.elect_leaders_request import ElectLeadersRequest as ElectLeadersRequest
from headrace.protocol.messages.elect_leaders_response import ElectLeadersResponse as ElectLeadersResponse
from headrace.protocol.messages.end_txn_request import EndTxnRequest as EndTxnRequest
from headrace.protocol.messages.end_txn_response import EndTxnResponse as EndTxnResponse
from headrace.protocol.messages.expire_delegation_token_request import (
    ExpireDelegationTokenRequest as ExpireDelegationTokenRequest,
)
from headrace.protocol.messages.expire_delegation_token_response import (
    ExpireDelegationTokenResponse as ExpireDelegationTokenResponse,
)
from headrace.protocol.messages.fetch_request import FetchRequest as FetchRequest
from headrace.protocol.messages.fetch_response import FetchResponse as FetchResponse
from headrace.protocol.messages.find_coordinator_request import FindCoordinatorRequest as FindCoordinatorRequest
from headrace.protocol.messages.find_coordinator_response import FindCoordinatorResponse as FindCoordinatorResponse
from headrace.protocol.messages.group_metadata_key import GroupMetadataKey as GroupMetadataKey
from headrace.protocol.messages.group_metadata_value import GroupMetadataValue as GroupMetadataValue
from headrace.protocol.messages.heartbeat_request import HeartbeatRequest as HeartbeatRequest
from headrace.protocol.messages.heartbeat_response import HeartbeatResponse as HeartbeatResponse
from headrace.protocol.messages.incremental_alter_configs_request import (
    IncrementalAlterConfigsRequest as IncrementalAlterConfigsRequest,
)
from headrace.protocol.messages.incremental_alter_configs_response import (
    IncrementalAlterConfigsResponse as IncrementalAlterConfigsResponse,
)
from headrace.protocol.messages.init_producer_id_request import InitProducerIdRequest as InitProducerIdRequest
from headrace.protocol.messages.init_producer_id_response import InitProducerIdResponse as InitProducerIdResponse
from headrace.protocol.messages.join_group_request import JoinGroupRequest as JoinGroupRequest
from headrace.protocol.messages.join_group_response import JoinGroupResponse as JoinGroupResponse
from headrace.protocol.messages.leader_and_isr_request import LeaderAndIsrRequest as LeaderAndIsrRequest
from headrace.protocol.messages.leader_and_isr_response import LeaderAndIsrResponse as LeaderAndIsrResponse
from headrace.protocol.messages.leave_group_request import LeaveGroupRequest as LeaveGroupRequest
from headrace.protocol.messages.leave_group_response import LeaveGroupResponse as LeaveGroupResponse
from headrace.protocol.messages.list_groups_request import ListGroupsRequest as ListGroupsRequest
from headrace.protocol.messages.list_groups_response import ListGroupsResponse as ListGroupsResponse
from headrace.protocol.messages.list_offsets_request import ListOffsetsRequest as ListOffsetsRequest
from headrace.protocol.messages.list_offsets_response import ListOffsetsResponse as ListOffsetsResponse
from headrace.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest as ListPartitionReassignmentsRequest,
)
from headrace.protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse as ListPartitionReassignmentsResponse,
)
from headrace.protocol.messages.list_transactions_request import ListTransactionsRequest as ListTransactionsRequest
from headrace.protocol.messages.list_transactions_response import ListTransactionsResponse as ListTransactionsResponse
from headrace.protocol.messages.metadata_request import MetadataRequest as MetadataRequest
from headrace.protocol.messages.metadata_response import MetadataResponse as MetadataResponse
from headrace.protocol.messages.offset_commit_key import OffsetCommitKey as OffsetCommitKey
from headrace.protocol.messages.offset_commit_request import OffsetCommitRequest as OffsetCommitRequest
from headrace.protocol.messages.offset_commit_response import OffsetCommitResponse as OffsetCommitResponse
from headrace.protocol.messages.offset_commit_value import OffsetCommitValue as OffsetCommitValue
from headrace.protocol.messages.offset_delete_request import OffsetDeleteRequest as OffsetDeleteRequest
from headrace.protocol.messages.offset_delete_response import OffsetDeleteResponse as OffsetDeleteResponse
from headrace.protocol.messages.offset_fetch_request import OffsetFetchRequest as OffsetFetchRequest
from headrace.protocol.messages.offset_fetch_response import OffsetFetchResponse as OffsetFetchResponse
from headrace.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest as OffsetForLeaderEpochRequest,
)
from headrace.protocol.messages.offset_for_leader_epoch_response import (
    OffsetForLeaderEpochResponse as OffsetForLeaderEpochResponse,
)
from headrace.protocol.messages.produce_request import ProduceRequest as ProduceRequest
from headrace.protocol.messages.produce_response import ProduceResponse as ProduceResponse
from headrace.protocol.messages.renew_delegation_token_request import (
    RenewDelegationTokenRequest as RenewDelegationTokenRequest,
)
from headrace.protocol.messages.renew_delegation_token_response import (
    RenewDelegationTokenResponse as RenewDelegationTokenResponse,
)
from headrace.protocol.messages.request_header import RequestHeader as RequestHeader
from headrace.protocol.messages.response_header import ResponseHeader as ResponseHeader
from headrace.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest as SaslAuthenticateRequest
from headrace.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse as SaslAuthenticateResponse
from headrace.protocol.messages.sasl_handshake_request import SaslHandshakeRequest as SaslHandshakeRequest
from headrace.protocol.messages.sasl_handshake_response import SaslHandshakeResponse as SaslHandshakeResponse
from headrace.protocol.messages.share_group_member_metadata_key import (
    ShareGroupMemberMetadataKey as ShareGroupMemberMetadataKey,
)
from headrace.protocol.messages.share_group_member_metadata_value import (
    ShareGroupMemberMetadataValue as ShareGroupMemberMetadataValue,
)
from headrace.protocol.messages.share_group_metadata_key import ShareGroupMetadataKey as ShareGroupMetadataKey
from headrace.protocol.messages.share_group_metadata_value import ShareGroupMetadataValue as ShareGroupMetadataValue
from headrace.protocol.messages.share_group_partition_metadata_key import (
    ShareGroupPartitionMetadataKey as ShareGroupPartitionMetadataKey,
)
from headrace.protocol.messages.share_group_partition_metadata_value import (
    ShareGroupPartitionMetadataValue as ShareGroupPartitionMetadataValue,
)
from headrace.protocol.messages.stop_replica_request import StopReplicaRequest as StopReplicaRequest
from headrace.protocol.messages.stop_replica_response import StopReplicaResponse as StopReplicaResponse
from headrace.protocol.messages.sync_group_request import SyncGroupRequest as SyncGroupRequest
from headrace.protocol.messages.sync_group_response import SyncGroupResponse as SyncGroupResponse
from headrace.protocol.messages.transaction_log_key import TransactionLogKey as TransactionLogKey
from headrace.protocol.messages.transaction_log_value import TransactionLogValue as TransactionLogValue
from headrace.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest as TxnOffsetCommitRequest
from headrace.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse as TxnOffsetCommitResponse
from headrace.protocol.messages.update_features_request import UpdateFeaturesRequest as UpdateFeaturesRequest
from headrace.protocol.messages.update_features_response import UpdateFeaturesResponse as UpdateFeaturesResponse
from headrace.protocol.messages.update_metadata_request import UpdateMetadataRequest as UpdateMetadataRequest
from headrace.protocol.messages.update_metadata_response import UpdateMetadataResponse as UpdateMetadataResponse
from headrace.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest as WriteTxnMarkersRequest
from headrace.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse as WriteTxnMarkersResponse
