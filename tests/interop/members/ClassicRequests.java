import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.zip.CRC32;
import kafka.api.FetchRequestBuilder;
import kafka.api.PartitionOffsetRequestInfo;
import kafka.common.TopicAndPartition;
import kafka.javaapi.FetchResponse;
import kafka.javaapi.OffsetRequest;
import kafka.javaapi.OffsetResponse;
import kafka.javaapi.consumer.SimpleConsumer;
import kafka.message.MessageAndOffset;

/**
 * A simple consumer of Kafka 0.8.2 that sends what it reads: ClassicRequests HOST PORT.
 *
 *     fetch TOPIC PARTITION OFFSET SIZE        -> error, high watermark, then offset:CRC-32 of key and payload of each message
 *     offsets TOPIC PARTITION TIME COUNT       -> error, then offsets
 */
public class ClassicRequests {
    public static void main(String[] arguments) throws Exception {
        SimpleConsumer consumer = new SimpleConsumer(arguments[0], Integer.parseInt(arguments[1]), 30000, 65536, "requests");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ");
            String topic = words[1];
            int partition = Integer.parseInt(words[2]);
            long at = Long.parseLong(words[3]);
            int size = Integer.parseInt(words[4]);
            StringBuilder answer = new StringBuilder();
            if (words[0].equals("fetch")) {
                FetchResponse found =
                    consumer.fetch(new FetchRequestBuilder().clientId("requests").addFetch(topic, partition, at, size).build());
                answer.append(found.errorCode(topic, partition)).append(' ').append(found.highWatermark(topic, partition));
                if (!found.hasError())
                    for (MessageAndOffset one : found.messageSet(topic, partition))
                        if (one.offset() >= at)
                            answer.append(' ').append(one.offset()).append(':').append(sum(one.message().key(), one.message().payload()));
            } else {
                OffsetResponse found = consumer.getOffsetsBefore(new OffsetRequest(
                    Collections.singletonMap(new TopicAndPartition(topic, partition), new PartitionOffsetRequestInfo(at, size)),
                    kafka.api.OffsetRequest.CurrentVersion(), "requests"));
                answer.append(found.errorCode(topic, partition));
                if (!found.hasError()) for (long offset : found.offsets(topic, partition)) answer.append(' ').append(offset);
            }
            System.out.println(answer);
        }
        consumer.close();
    }

    private static long sum(ByteBuffer key, ByteBuffer payload) {
        CRC32 crc = new CRC32();
        for (ByteBuffer one : new ByteBuffer[] {key, payload}) {
            crc.update(one == null ? 0 : 1);
            if (one != null) crc.update(one);
        }
        return crc.getValue();
    }
}
