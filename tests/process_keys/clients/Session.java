import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A producer and a consumer in one process that run until they are killed: Session TOPIC PAUSE_MS KEY=VALUE... */
public class Session {
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[0];
        long pause = Long.parseLong(arguments[1]);
        Properties settings = new Properties();
        for (int at = 2; at < arguments.length; at++) {
            String[] parts = arguments[at].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        Thread reader = new Thread(() -> consume(topic, settings));
        reader.setDaemon(true);
        reader.start();
        produce(topic, pause, settings);
    }

    static void produce(String topic, long pause, Properties settings) throws Exception {
        settings.put("linger.ms", "0");
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int sent = 0; ; sent++) {
                producer.send(new ProducerRecord<>(topic, "key-" + sent, "value " + sent)).get();
                Thread.sleep(pause);
            }
        }
    }

    static void consume(String topic, Properties shared) {
        Properties settings = new Properties();
        settings.putAll(shared);
        settings.put("group.id", shared.get("client.id"));
        settings.put("fetch.max.wait.ms", "100");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (true) {
                consumer.poll(Duration.ofMillis(100));
            }
        }
    }
}
