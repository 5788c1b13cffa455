import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Produces as many records as it is told into a topic, each in a batch of its own, and reads them meanwhile. */
public class OneByOne {
    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], topic = arguments[1];
        int count = Integer.parseInt(arguments[2]);
        var reader = new Thread(() -> read(bootstrap, topic, count));
        reader.start();
        var habits = Map.<String, Object>of(
            "bootstrap.servers", bootstrap, "client.id", "bench-producer", "batch.size", 0, "linger.ms", 0, "acks", "1",
            "enable.idempotence", false);
        try (var producer = new KafkaProducer<>(habits, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < count; number++) {
                String value = "{\"id\":" + number + ",\"v\":\"small\"}";
                producer.send(new ProducerRecord<>(topic, Integer.toString(number), value));
            }
        }
        reader.join();
    }

    static void read(String bootstrap, String topic, int count) {
        var habits = Map.<String, Object>of(
            "bootstrap.servers", bootstrap, "client.id", "bench-consumer", "auto.offset.reset", "earliest",
            "enable.auto.commit", false, "fetch.max.wait.ms", 5);
        try (var reader = new KafkaConsumer<>(habits, new StringDeserializer(), new StringDeserializer())) {
            reader.assign(List.of(new TopicPartition(topic, 0)));
            for (int seen = 0; seen < count; ) {
                seen += reader.poll(Duration.ofMillis(200)).count();
            }
        }
    }
}
