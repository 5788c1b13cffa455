import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.admin.Admin;

/** Connections of SHORTEST to LONGEST ms, one after the other, until it is killed: Short SHORTEST LONGEST KEY=VALUE... */
public class Short {
    public static void main(String[] arguments) throws Exception {
        int shortest = Integer.parseInt(arguments[0]);
        int longest = Integer.parseInt(arguments[1]);
        Properties settings = new Properties();
        for (int at = 2; at < arguments.length; at++) {
            String[] parts = arguments[at].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        Random random = new Random(1);
        while (true) {
            long end = System.nanoTime() + 1_000_000L * (shortest + random.nextInt(longest - shortest));
            try (Admin admin = Admin.create(settings)) {
                admin.listTopics().names().get();
                Thread.sleep(Math.max(0, (end - System.nanoTime()) / 1_000_000));
            }
        }
    }
}
