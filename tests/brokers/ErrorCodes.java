import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Prints Kafka's error codes, one a line: code, name, and whether its client tries again. */
public class ErrorCodes {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            Object exception = error.exception();
            System.out.println(error.code() + " " + error.name() + " " + (exception instanceof RetriableException));
        }
    }
}
