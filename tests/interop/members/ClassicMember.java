import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.consumer.Consumer;
import kafka.consumer.ConsumerConfig;
import kafka.consumer.KafkaStream;
import kafka.consumer.Whitelist;
import kafka.javaapi.consumer.ConsumerConnector;
import kafka.message.MessageAndMetadata;

/**
 * A high-level consumer of Kafka 0.8.2: ClassicMember CONFIG REGEX STREAMS [COUNT].
 *
 * CONFIG is key=value;... Each message is a line "topic partition offset". It ends after COUNT messages, or when it is told to (SIGTERM), in order.
 */
public class ClassicMember {
    public static void main(String[] arguments) throws Exception {
        Properties config = new Properties();
        for (String pair : arguments[0].split(";")) config.setProperty(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        int count = arguments.length > 3 ? Integer.parseInt(arguments[3]) : -1;
        ConsumerConnector connector = Consumer.createJavaConsumerConnector(new ConsumerConfig(config));
        Runtime.getRuntime().addShutdownHook(new Thread(connector::shutdown));
        List<KafkaStream<byte[], byte[]>> streams =
            connector.createMessageStreamsByFilter(new Whitelist(arguments[1]), Integer.parseInt(arguments[2]));
        System.out.println("ready");
        Thread[] threads = new Thread[streams.size()];
        int place = 0;
        for (KafkaStream<byte[], byte[]> stream : streams) {
            threads[place] = new Thread(() -> {
                int left = count;
                for (MessageAndMetadata<byte[], byte[]> one : stream) {
                    synchronized (System.out) {
                        System.out.println(one.topic() + " " + one.partition() + " " + one.offset());
                        System.out.flush();
                    }
                    if (--left == 0) return;
                }
            });
            threads[place++].start();
        }
        for (Thread thread : threads) thread.join();
        System.exit(0);
    }
}
