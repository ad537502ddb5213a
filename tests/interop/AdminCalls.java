// Kafka's Java Admin against a node, call by call, for the interop tests: "name<TAB>what it says" on standard output, a failure as its class.
//   BOOTSTRAP TOPIC

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.serialization.ByteArraySerializer;

class AdminCalls {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0], "default.api.timeout.ms", 30000);
        String topic = arguments[1];
        TopicPartition first = new TopicPartition(topic, 0);
        try (Admin admin = Admin.create(settings)) {
            Uuid made = admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).topicId(topic).get();
            say("created id", () -> !made.equals(Uuid.ZERO_UUID));
            TopicCollection byId = TopicCollection.ofTopicIds(List.of(made));
            say("described id", () -> admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId().equals(made));
            say("described by id", () -> admin.describeTopics(byId).allTopicIds().get().get(made).name().equals(topic));
            try (KafkaProducer<byte[], byte[]> producer =
                    new KafkaProducer<>(Map.of("bootstrap.servers", arguments[0]), new ByteArraySerializer(), new ByteArraySerializer())) {
                producer.send(new ProducerRecord<>(topic, 0, null, new byte[] {1})).get();
                producer.send(new ProducerRecord<>(topic, 0, null, new byte[] {2})).get();
                say("producers", () -> {
                    var active = admin.describeProducers(List.of(first)).all().get().get(first).activeProducers();
                    return active.size() + " " + active.get(0).lastSequence() + " " + active.get(0).currentTransactionStartOffset().isPresent();
                });
            }
            say("cluster operations", () -> new TreeSet<>(admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true)).authorizedOperations().get()));
            say("topic operations", () -> new TreeSet<>(admin.describeTopics(List.of(topic), new DescribeTopicsOptions().includeAuthorizedOperations(true)).allTopicNames().get().get(topic).authorizedOperations()));
            say("acls", () -> admin.describeAcls(AclBindingFilter.ANY).values().get());
            say("reassignments", () -> admin.listPartitionReassignments().reassignments().get());
            say("cancel", () -> admin.alterPartitionReassignments(Map.of(first, Optional.empty())).all().get());
            say("stay", () -> admin.alterPartitionReassignments(Map.of(first, Optional.of(new NewPartitionReassignment(List.of(0))))).all().get());
            say("move away", () -> admin.alterPartitionReassignments(Map.of(first, Optional.of(new NewPartitionReassignment(List.of(9))))).all().get());
            say("elect", () -> admin.electLeaders(ElectionType.PREFERRED, Set.of(first)).partitions().get().get(first).get().getClass().getSimpleName());
            say("elect all", () -> admin.electLeaders(ElectionType.PREFERRED, null).partitions().get());
            say("quotas", () -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get());
            say("scram users", () -> admin.describeUserScramCredentials().all().get());
            say("scram user", () -> admin.describeUserScramCredentials(List.of("bob")).all().get());
            say("transactions", () -> admin.listTransactions().all().get());
            say("earliest local", () -> admin.listOffsets(Map.of(first, OffsetSpec.earliestLocal())).all().get().get(first).offset());
            say("latest tiered", () -> admin.listOffsets(Map.of(first, OffsetSpec.latestTiered())).all().get().get(first).offset());
            ConfigResource all = new ConfigResource(ConfigResource.Type.BROKER, "");
            say("no default", () -> admin.describeConfigs(List.of(all)).all().get().get(all).entries().size());
            AlterConfigOp set = new AlterConfigOp(new ConfigEntry("log.retention.ms", "864000000"), AlterConfigOp.OpType.SET);
            say("set default", () -> admin.incrementalAlterConfigs(Map.of(all, List.of(set))).all().get());
            say("default", () -> admin.describeConfigs(List.of(all)).all().get().get(all).get("log.retention.ms").source());
            AlterConfigOp unset = new AlterConfigOp(new ConfigEntry("log.retention.ms", null), AlterConfigOp.OpType.DELETE);
            say("unset default", () -> admin.incrementalAlterConfigs(Map.of(all, List.of(unset))).all().get());
            ConfigResource loggers = new ConfigResource(ConfigResource.Type.BROKER_LOGGER, "0");
            say("loggers", () -> admin.describeConfigs(List.of(loggers)).all().get().get(loggers).get("root") != null);
            say("deleted by id", () -> admin.deleteTopics(byId).all().get());
            say("deleted again", () -> admin.deleteTopics(byId).all().get());
        }
    }

    static void say(String name, Callable<Object> call) throws Exception {
        try {
            System.out.println(name + "\t" + call.call());
        } catch (ExecutionException failure) {
            System.out.println(name + "\t" + failure.getCause().getClass().getSimpleName());
        }
    }
}
