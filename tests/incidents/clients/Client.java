import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A client of Java's that does as it is told: Client produce|transact|consume|share TOPIC KEY=VALUE...
 *
 * <p>Keys are Kafka's settings, but those that begin with "do.": count (records, or transactions), pause (ms between
 * them), seconds (to consume), work (ms on each record), block (ms, once, after the first records), hold (ms before a
 * transaction ends), abort, batch (records at once), value (length), key (of
 * all records; else each has its own), ack (of a share consumer: ACCEPT, RELEASE, REJECT).
 */
public class Client {
    static final Properties settings = new Properties();

    public static void main(String[] arguments) throws Exception {
        for (int at = 2; at < arguments.length; at++) {
            String[] parts = arguments[at].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        switch (arguments[0]) {
            case "produce" -> produce(arguments[1]);
            case "transact" -> transact(arguments[1]);
            case "consume" -> consume(arguments[1]);
            case "share" -> share(arguments[1]);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    static int number(String name, int otherwise) {
        return Integer.parseInt(settings.getProperty("do." + name, String.valueOf(otherwise)));
    }

    static void produce(String topic) throws Exception {
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            String value = "x".repeat(number("value", 20));
            String key = settings.getProperty("do.key", "");
            for (int sent = 0; sent < number("count", 5); sent++) {
                try {
                    for (int one = 1; one < number("batch", 1); one++) {
                        producer.send(new ProducerRecord<>(topic, key.isEmpty() ? "key-" + one : key, value));
                    }
                    producer.send(new ProducerRecord<>(topic, key.isEmpty() ? "key-" + sent : key, value)).get();
                } catch (Exception problem) {
                    System.out.println(problem);
                }
                Thread.sleep(number("pause", 100));
            }
            producer.close(Duration.ofSeconds(1));
        }
    }

    static void transact(String topic) throws Exception {
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            for (int done = 0; done < number("count", 3); done++) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, "key", "value " + done)).get();
                Thread.sleep(number("hold", 0));
                producer.send(new ProducerRecord<>(topic, "key", "more of " + done));
                if (settings.containsKey("do.abort")) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
                Thread.sleep(number("pause", 100));
            }
        } catch (Exception problem) {
            System.out.println(problem);
        }
    }

    static void consume(String topic) throws Exception {
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic.split(",")));
            boolean blocked = false;
            long end = System.currentTimeMillis() + 1000L * number("seconds", 5);
            while (System.currentTimeMillis() < end) {
                try {
                    for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(100))) {
                        Thread.sleep(number("work", 0));
                        if (!blocked) {
                            blocked = true;
                            Thread.sleep(number("block", 0));
                        }
                    }
                } catch (Exception problem) {
                    System.out.println(problem);
                    Thread.sleep(200);
                }
            }
        }
    }

    static void share(String topic) throws Exception {
        var type = AcknowledgeType.valueOf(settings.getProperty("do.ack", "ACCEPT"));
        settings.put("share.acknowledgement.mode", "explicit");
        try (var consumer = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            long end = System.currentTimeMillis() + 1000L * number("seconds", 5);
            while (System.currentTimeMillis() < end) {
                try {
                    for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(100))) {
                        Thread.sleep(number("work", 0));
                        consumer.acknowledge(each, type);
                    }
                    consumer.commitSync();
                } catch (Exception problem) {
                    System.out.println(problem);
                    Thread.sleep(200);
                }
            }
        }
    }
}
