// Kafka's Java client, record by record, for the interop tests. Fields are separated by tabs: "-" is null, "=" and Base64 are bytes.
//   write BOOTSTRAP TOPIC CODEC IDEMPOTENT   records from standard input into partition 0, each acknowledged
//   read  BOOTSTRAP TOPIC COUNT              COUNT records of partition 0 from its beginning to standard output, by assign

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

class RoundTrip {
    static final Duration PATIENCE = Duration.ofSeconds(15);

    public static void main(String[] args) throws Exception {
        if (args[0].equals("write")) {
            write(args[1], args[2], args[3], args[4]);
        } else {
            read(args[1], args[2], Integer.parseInt(args[3]));
        }
    }

    static void write(String bootstrap, String topic, String codec, String idempotent) throws Exception {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", bootstrap, "compression.type", codec, "acks", "all", "linger.ms", 20,
            "enable.idempotence", idempotent, "max.request.size", 2_000_000, "delivery.timeout.ms", 30_000,
            "request.timeout.ms", 15_000);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                String[] fields = line.split("\t");
                var record = new ProducerRecord<>(topic, 0, decoded(fields[0]), decoded(fields[1]));
                for (int at = 2; at < fields.length; at += 2) {
                    record.headers().add(new String(decoded(fields[at]), StandardCharsets.UTF_8), decoded(fields[at + 1]));
                }
                sent.add(producer.send(record));
            }
            producer.flush();
        }
        for (var one : sent) {
            one.get();
        }
    }

    static void read(String bootstrap, String topic, int count) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "enable.auto.commit", false);
        var output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            var partitions = List.of(new TopicPartition(topic, 0));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            int found = 0;
            while (found < count) {
                var records = consumer.poll(PATIENCE);
                if (records.isEmpty()) {
                    throw new IllegalStateException(found + " of " + count + " records came");
                }
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    output.println(line(record));
                    found++;
                }
            }
        }
        output.flush();
    }

    static String line(ConsumerRecord<byte[], byte[]> record) {
        var text = new StringBuilder(encoded(record.key())).append('\t').append(encoded(record.value()));
        for (Header header : record.headers()) {
            text.append('\t').append(encoded(header.key().getBytes(StandardCharsets.UTF_8)));
            text.append('\t').append(encoded(header.value()));
        }
        return text.toString();
    }

    static byte[] decoded(String field) {
        return field.equals("-") ? null : Base64.getDecoder().decode(field.substring(1));
    }

    static String encoded(byte[] content) {
        return content == null ? "-" : "=" + Base64.getEncoder().encodeToString(content);
    }
}
