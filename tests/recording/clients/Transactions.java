import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Orders become transfers, exactly once: a commit with offsets, an abort, a commit; then the ledger is fenced. */
public class Transactions {
    static final TopicPartition ORDERS = new TopicPartition("orders", 0), TRANSFERS = new TopicPartition("transfers", 0);
    static String bootstrap;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        try (var shop = producer(Map.of("client.id", "shop"))) {
            send(shop, ORDERS, "order 1", "order 2");
        }
        try (var ledger = producer(Map.of("client.id", "ledger", "transactional.id", "ledger-7"))) {
            ledger.initTransactions();
            transferOrders(ledger);
            ledger.beginTransaction();
            send(ledger, TRANSFERS, "debit 2", "credit 2");
            ledger.abortTransaction();
            ledger.beginTransaction();
            send(ledger, TRANSFERS, "debit 3", "credit 3");
            ledger.commitTransaction();
            beFenced(ledger);
        }
        read("auditor", TRANSFERS, 4).close();
    }

    static void transferOrders(KafkaProducer<String, String> ledger) throws Exception {
        try (var orders = read("bookkeeper", ORDERS, 2)) {
            ledger.beginTransaction();
            send(ledger, TRANSFERS, "debit 1", "credit 1");
            var read = Map.of(ORDERS, new OffsetAndMetadata(2, "all of them"));
            ledger.sendOffsetsToTransaction(read, orders.groupMetadata());
            ledger.commitTransaction();
        }
    }

    /** A second producer of the same id takes over: the first is refused. */
    static void beFenced(KafkaProducer<String, String> ledger) throws Exception {
        try (var usurper = producer(Map.of("client.id", "ledger-again", "transactional.id", "ledger-7"))) {
            usurper.initTransactions();
            ledger.beginTransaction();
            send(ledger, TRANSFERS, "debit 4");
            ledger.commitTransaction();
            throw new IllegalStateException("the old ledger isn't fenced");
        } catch (java.util.concurrent.ExecutionException | KafkaException expected) {
            System.out.println("fenced: " + expected.getMessage());
        }
    }

    static void send(KafkaProducer<String, String> to, TopicPartition where, String... values) throws Exception {
        for (String value : values) {
            to.send(new ProducerRecord<>(where.topic(), where.partition(), "key", value)).get();
        }
    }

    static KafkaProducer<String, String> producer(Map<String, Object> habits) {
        var all = new HashMap<>(habits);
        all.put("bootstrap.servers", bootstrap);
        return new KafkaProducer<>(all, new StringSerializer(), new StringSerializer());
    }

    /** A read_committed consumer that has been given so many records. */
    static KafkaConsumer<String, String> read(String name, TopicPartition where, int count) {
        var habits = Map.<String, Object>of(
            "bootstrap.servers", bootstrap, "client.id", name, "group.id", name, "isolation.level", "read_committed",
            "auto.offset.reset", "earliest", "enable.auto.commit", false);
        var reader = new KafkaConsumer<>(habits, new StringDeserializer(), new StringDeserializer());
        reader.assign(List.of(where));
        while (count > 0) {
            count -= reader.poll(Duration.ofMillis(100)).count();
        }
        return reader;
    }
}
