import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** One member has all four partitions, a second one joins, then the first leaves; partitions move cooperatively. */
public class Rebalance {
    static final String TOPIC = "rides";

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        produce(bootstrap);
        try (var second = member(bootstrap, "driver-b")) {
            try (var first = member(bootstrap, "driver-a")) {
                first.subscribe(List.of(TOPIC));
                pollUntil(() -> first.assignment().size() == 4, first);
                second.subscribe(List.of(TOPIC));
                pollUntil(() -> first.assignment().size() == 2 && second.assignment().size() == 2, first, second);
                first.commitSync();
            }
            pollUntil(() -> second.assignment().size() == 4, second);
            second.commitSync();
        }
    }

    static void produce(String bootstrap) throws Exception {
        var habits = Map.<String, Object>of(
            "bootstrap.servers", bootstrap, "client.id", "dispatcher", "compression.type", "zstd", "linger.ms", 50);
        try (var dispatcher = new KafkaProducer<>(habits, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < 8; number++) {
                dispatcher.send(new ProducerRecord<>(TOPIC, number % 4, "cab-" + number, "to station " + number));
            }
        }
    }

    static Consumer<String, String> member(String bootstrap, String name) {
        var habits = Map.<String, Object>of(
            "bootstrap.servers", bootstrap, "client.id", name, "group.id", "drivers",
            "auto.offset.reset", "earliest", "enable.auto.commit", false, "heartbeat.interval.ms", 300,
            "partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
        return new KafkaConsumer<>(habits, new StringDeserializer(), new StringDeserializer());
    }

    @SafeVarargs
    static void pollUntil(BooleanSupplier done, Consumer<String, String>... members) {
        long end = System.nanoTime() + 30_000_000_000L;
        while (!done.getAsBoolean()) {
            for (var member : members) {
                member.poll(Duration.ofMillis(50));
            }
            if (System.nanoTime() > end) {
                throw new IllegalStateException("the group doesn't settle");
            }
        }
    }
}
