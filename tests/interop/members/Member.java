// A member of a group by the Java client: java Member.java BOOTSTRAP TOPIC GROUP ASSIGNOR; what it says is in tests/chaos/mixed_group.py.
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Member {
    static void say(String fields) {
        System.out.println("{\"t\": " + System.nanoTime() + ", " + fields + "}");
        System.out.flush();
    }

    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[2]);
        settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + arguments[3]);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("session.timeout.ms", "6000");
        settings.put("heartbeat.interval.ms", "500");
        settings.put("max.poll.records", "50");
        KafkaConsumer<byte[], byte[]> consumer =
            new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(arguments[1]));
        Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>(); // what a cooperative rebalance refused is tried again
        while (true) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
            ends.keySet().retainAll(consumer.assignment());
            if (records.isEmpty() && ends.isEmpty()) {
                continue;
            }
            StringBuilder read = new StringBuilder();
            for (ConsumerRecord<byte[], byte[]> record : records) {
                read.append(read.length() == 0 ? "" : ", ").append("[" + record.partition() + ", " + record.offset() + "]");
                ends.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
            }
            if (!records.isEmpty()) {
                say("\"read\": [" + read + "]");
            }
            try {
                consumer.commitSync(ends);
                StringBuilder committed = new StringBuilder();
                ends.forEach((partition, end) -> committed.append(committed.length() == 0 ? "" : ", ")
                    .append("\"" + partition.partition() + "\": " + end.offset()));
                say("\"committed\": {" + committed + "}");
                ends.clear();
            } catch (CommitFailedException failure) {
                say("\"refused\": \"commit failed\"");
            } catch (KafkaException failure) {
                say("\"refused\": \"" + failure.getClass().getSimpleName() + "\"");
            }
        }
    }
}
