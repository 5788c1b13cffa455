import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/**
 * Kafka's generated message classes behind a pipe: a command a line in, an answer a line out; see javamessages.py.
 *
 *   apis                        key direction class first last headers;...     every message of every API
 *   versions CLASS              first last                                     any generated class
 *   records HEX                 ok                                             the record set that random messages hold
 *   read CLASS VERSION HEX      HEX JSON                                       what it reads, written again
 *   random CLASS VERSION SEED   HEX JSON                                       a random message of the class's Schema
 *
 * What goes wrong is an answer that begins with "error".
 */
public class Messages {
    private static final HexFormat HEX = HexFormat.of();
    private static final String[] TEXTS = {"", "x", "Grüße, 日本 🎉", "t".repeat(127)};
    private static final long[] EDGES = {0, 1, -1, Long.MIN_VALUE, Long.MAX_VALUE, Integer.MAX_VALUE, Integer.MIN_VALUE};
    private static final int MOST = 3;

    private static byte[] records = {};

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String answer;
            try {
                answer = answer(line.split(" ", -1));
            } catch (Throwable problem) {
                answer = ("error " + problem + " " + problem.getCause()).replace('\n', ' ');
            }
            System.out.println(answer);
            System.out.flush();
        }
    }

    private static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "apis":
                return apis();
            case "versions":
                Message message = empty(words[1]);
                return message.lowestSupportedVersion() + " " + message.highestSupportedVersion();
            case "records":
                records = HEX.parseHex(words[1]);
                return "ok";
            case "read":
                return reread(words[1], Short.parseShort(words[2]), HEX.parseHex(words[3]));
            case "random":
                short version = Short.parseShort(words[2]);
                return reread(words[1], version, random(words[1], version, new Random(Long.parseLong(words[3]))));
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static String apis() {
        StringBuilder all = new StringBuilder();
        for (ApiMessageType type : ApiMessageType.values()) {
            if (type.lowestSupportedVersion() > type.highestSupportedVersion(true)) {
                continue; // a key whose messages are gone
            }
            for (boolean request : new boolean[] {true, false}) {
                ApiMessage message = request ? type.newRequest() : type.newResponse();
                short first = message.lowestSupportedVersion();
                short last = message.highestSupportedVersion();
                all.append(type.apiKey()).append(request ? " request " : " response ");
                all.append(message.getClass().getName()).append(' ').append(first).append(' ').append(last);
                for (short version = first; version <= last; version++) {
                    all.append(' ');
                    all.append(request ? type.requestHeaderVersion(version) : type.responseHeaderVersion(version));
                }
                all.append(';');
            }
        }
        return all.toString();
    }

    private static Message empty(String name) throws Exception {
        return (Message) Class.forName(name).getConstructor().newInstance();
    }

    private static String reread(String name, short version, byte[] data) throws Exception {
        Class<?> kind = Class.forName(name);
        ByteBufferAccessor readable = new ByteBufferAccessor(ByteBuffer.wrap(data));
        Message message = (Message) kind.getConstructor(Readable.class, short.class).newInstance(readable, version);
        if (readable.remaining() != 0) {
            throw new IllegalStateException(readable.remaining() + " bytes left");
        }
        Object json = Class.forName(name + "JsonConverter").getMethod("write", kind, short.class, boolean.class)
            .invoke(null, message, version, false);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException("a size too large by " + buffer.remaining());
        }
        return HEX.formatHex(buffer.array()) + " " + json;
    }

    private static byte[] random(String name, short version, Random dice) throws Exception {
        Schema schema = ((Schema[]) Class.forName(name).getField("SCHEMAS").get(null))[version];
        Struct struct = struct(schema, dice);
        ByteBuffer buffer = ByteBuffer.allocate(struct.sizeOf());
        struct.writeTo(buffer);
        return buffer.array();
    }

    private static Struct struct(Schema schema, Random dice) throws ReflectiveOperationException {
        Struct struct = new Struct(schema);
        for (BoundField field : schema.fields()) {
            struct.set(field, value(field.def.type, dice));
        }
        return struct;
    }

    @SuppressWarnings("unchecked")
    private static Map<Integer, Field> fields(TaggedFields tagged) throws ReflectiveOperationException {
        java.lang.reflect.Field fields = TaggedFields.class.getDeclaredField("fields"); // no accessor in Kafka 3.9
        fields.setAccessible(true);
        return (Map<Integer, Field>) fields.get(tagged);
    }

    private static Object value(Type type, Random dice) throws ReflectiveOperationException {
        if (type.isNullable() && dice.nextInt(3) == 0) {
            return null;
        }
        if (type instanceof Schema schema) {
            return struct(schema, dice);
        }
        if (type instanceof TaggedFields tagged) {
            Map<Integer, Object> values = new TreeMap<>();
            for (Map.Entry<Integer, Field> tag : fields(tagged).entrySet()) {
                if (dice.nextInt(3) > 0) {
                    values.put(tag.getKey(), value(tag.getValue().type, dice));
                }
            }
            return values;
        }
        if (type.arrayElementType().isPresent()) {
            Object[] items = new Object[dice.nextInt(MOST + 1)];
            for (int i = 0; i < items.length; i++) {
                items[i] = value(type.arrayElementType().get(), dice);
            }
            return items;
        }
        long number = dice.nextBoolean() ? EDGES[dice.nextInt(EDGES.length)] : dice.nextLong();
        String word = type.toString().replace("COMPACT_", "").replace("NULLABLE_", "");
        switch (word) {
            case "BOOLEAN":
                return dice.nextBoolean();
            case "INT8":
                return (byte) number;
            case "INT16":
                return (short) number;
            case "UINT16":
                return (int) number & 0xffff;
            case "INT32":
                return (int) number;
            case "UINT32":
                return number & 0xffffffffL;
            case "INT64":
                return number;
            case "FLOAT64":
                return dice.nextBoolean() ? dice.nextGaussian() : Double.NEGATIVE_INFINITY;
            case "UUID":
                return new Uuid(number, dice.nextLong());
            case "STRING":
                return TEXTS[dice.nextInt(TEXTS.length)];
            case "BYTES":
                byte[] bytes = new byte[dice.nextInt(20)];
                dice.nextBytes(bytes);
                return ByteBuffer.wrap(bytes);
            case "RECORDS":
                ByteBuffer sized = ByteBuffer.allocate(4 + records.length).putInt(records.length).put(records).flip();
                return Type.RECORDS.read(sized);
            default:
                throw new IllegalArgumentException("a type " + type);
        }
    }
}
