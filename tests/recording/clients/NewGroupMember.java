import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Joins the group `drivers` of the new protocol, waits for two partitions, describes the group, commits, leaves. */
public class NewGroupMember {
    public static void main(String[] arguments) throws Exception {
        var where = Map.<String, Object>of("bootstrap.servers", arguments[0], "client.id", "driver-b");
        var text = new StringDeserializer();
        try (var member = new KafkaConsumer<>(with(where), text, text); var admin = Admin.create(where)) {
            member.subscribe(List.of("rides"));
            long end = System.nanoTime() + 30_000_000_000L;
            while (member.assignment().size() != 2) {
                member.poll(Duration.ofMillis(100));
                if (System.nanoTime() > end) {
                    throw new IllegalStateException("the group doesn't settle");
                }
            }
            admin.describeConsumerGroups(List.of("drivers")).all().get();
            member.commitSync();
        }
    }

    static Map<String, Object> with(Map<String, Object> where) {
        var habits = new java.util.HashMap<>(where);
        habits.putAll(Map.of("group.id", "drivers", "group.protocol", "consumer", "auto.offset.reset", "earliest"));
        return habits;
    }
}
