import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * A Kafka Streams application that counts words in a state store: WordCount FROM TO SECONDS KEY=VALUE...
 *
 * <p>Keys are Kafka's settings.
 */
public class WordCount {
    public static void main(String[] arguments) throws Exception {
        var settings = new Properties();
        for (int at = 3; at < arguments.length; at++) {
            String[] parts = arguments[at].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        var builder = new StreamsBuilder();
        KStream<String, String> lines = builder.stream(arguments[0]);
        lines.flatMapValues(line -> List.of(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.as("words"))
            .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts"))
            .toStream()
            .to(arguments[1], Produced.with(Serdes.String(), Serdes.Long()));
        try (var streams = new KafkaStreams(builder.build(), settings)) {
            streams.start();
            Thread.sleep(1000 * Long.parseLong(arguments[2]));
        }
    }
}
