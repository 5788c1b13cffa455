import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A share group (KIP-932): of four jobs, one is rejected, one released and then done, the others done. */
public class ShareGroup {
    public static void main(String[] arguments) throws Exception {
        var worker = Map.<String, Object>of(
            "bootstrap.servers", arguments[0], "client.id", "worker-1", "group.id", "workers",
            "share.acknowledgement.mode", "explicit");
        try (var jobs = new KafkaShareConsumer<>(worker, new StringDeserializer(), new StringDeserializer())) {
            readFromTheStart(arguments[0]);
            produce(arguments[0]);
            jobs.subscribe(List.of("jobs"));
            long end = System.nanoTime() + 30_000_000_000L;
            for (int done = 0; done < 4 && System.nanoTime() < end; ) {
                for (var job : jobs.poll(Duration.ofMillis(200))) {
                    var first = job.deliveryCount().orElse((short) 1) == 1;
                    var type = job.value().equals("job 2") ? AcknowledgeType.REJECT
                        : job.value().equals("job 3") && first ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT;
                    jobs.acknowledge(job, type);
                    done += type == AcknowledgeType.RELEASE ? 0 : 1;
                }
                jobs.commitSync();
            }
        }
    }

    static void readFromTheStart(String bootstrap) throws Exception {
        var earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap, "client.id", "operator"))) {
            var group = new ConfigResource(ConfigResource.Type.GROUP, "workers");
            admin.incrementalAlterConfigs(Map.of(group, List.of(earliest))).all().get();
        }
    }

    static void produce(String bootstrap) {
        var habits = Map.<String, Object>of("bootstrap.servers", bootstrap, "client.id", "foreman", "linger.ms", 50);
        try (var foreman = new KafkaProducer<>(habits, new StringSerializer(), new StringSerializer())) {
            for (int number = 1; number <= 4; number++) {
                foreman.send(new ProducerRecord<>("jobs", "job " + number));
            }
        }
    }
}
