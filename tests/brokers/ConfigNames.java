import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.config.ConfigDef;

/** Prints the configuration keys of Kafka's own classes that are there, one a line: name and type. */
public class ConfigNames {
    static final String[] CLASSES = {
        "kafka.server.KafkaConfig", "kafka.log.LogConfig", "org.apache.kafka.server.config.AbstractKafkaConfig",
        "org.apache.kafka.storage.internals.log.LogConfig", "org.apache.kafka.coordinator.group.GroupConfig",
        "kafka.server.DynamicConfig$Broker", "kafka.server.DynamicConfig$Client", "kafka.server.DynamicConfig$User",
        "kafka.server.DynamicConfig$Ip", "kafka.server.DynamicConfig", "org.apache.kafka.server.metrics.ClientMetricsConfigs",
        "org.apache.kafka.server.config.DynamicConfig$Broker", "org.apache.kafka.server.config.QuotaConfig",
        "org.apache.kafka.clients.producer.ProducerConfig", "org.apache.kafka.clients.consumer.ConsumerConfig",
        "org.apache.kafka.clients.admin.AdminClientConfig",
    };

    public static void main(String[] arguments) {
        for (String name : CLASSES) {
            for (ConfigDef known : definitions(name)) {
                known.configKeys().forEach((key, kind) -> System.out.println(key + " " + kind.type));
            }
        }
    }

    static List<ConfigDef> definitions(String name) {
        List<ConfigDef> found = new ArrayList<>();
        for (String suffix : new String[] {"", "$"}) {
            try {
                Class<?> kind = Class.forName(name + suffix);
                Object module = suffix.isEmpty() ? null : kind.getField("MODULE$").get(null);
                for (Field field : kind.getDeclaredFields()) {
                    if (field.getType() == ConfigDef.class || ConfigDef.class.isAssignableFrom(field.getType())) {
                        field.setAccessible(true);
                        if (Modifier.isStatic(field.getModifiers()) || module != null) {
                            found.add((ConfigDef) field.get(module));
                        }
                    }
                }
                for (Method method : kind.getDeclaredMethods()) {
                    boolean callable = Modifier.isStatic(method.getModifiers()) || module != null;
                    if (callable && method.getReturnType() == ConfigDef.class && method.getParameterCount() == 0) {
                        method.setAccessible(true);
                        found.add((ConfigDef) method.invoke(module));
                    }
                }
            } catch (ReflectiveOperationException | LinkageError absent) {
                continue;
            }
        }
        return found;
    }
}
