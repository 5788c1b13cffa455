import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;

/** What an operator does and clients then notice: `leader` moves that of orders to broker 2, `expel` empties a group. */
public class Trouble {
    public static void main(String[] arguments) throws Exception {
        try (var admin = Admin.create(Map.of("bootstrap.servers", arguments[0], "client.id", "operator"))) {
            if (arguments[1].equals("expel")) {
                admin.removeMembersFromConsumerGroup("billing", new RemoveMembersFromConsumerGroupOptions()).all().get();
                return;
            }
            var orders = new TopicPartition("orders", 0);
            var replicas = Optional.of(new NewPartitionReassignment(List.of(2, 1)));
            admin.alterPartitionReassignments(Map.of(orders, replicas)).all().get();
            admin.electLeaders(ElectionType.PREFERRED, Set.of(orders)).all().get();
        }
    }
}
