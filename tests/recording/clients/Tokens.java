import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;

/** Logs in with an OAUTHBEARER token, with one that has expired, and by SCRAM with a delegation token made for it. */
public class Tokens {
    static final String MODULE = "org.apache.kafka.common.security.";
    static final String BEARER =
        MODULE + "oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"alice\" ";
    static final String SCRAM = MODULE + "scram.ScramLoginModule required ";

    public static void main(String[] arguments) throws Exception {
        try (var alice = admin(arguments[1], "OAUTHBEARER", BEARER + "unsecuredLoginExtension_traceId=\"7\";")) {
            alice.describeCluster().nodes().get();
        }
        try (var late = admin(arguments[1], "OAUTHBEARER", BEARER + "unsecuredLoginLifetimeSeconds=\"-300\";")) {
            late.describeCluster().nodes().get();
            throw new IllegalStateException("an expired token was taken");
        } catch (ExecutionException refused) {
            // as it should be
        }
        var password = SCRAM + "username=\"alice\" password=\"correct-horse\";";
        try (var alice = admin(arguments[1], "SCRAM-SHA-256", password)) {
            var token = alice.createDelegationToken().delegationToken().get();
            var id = token.tokenInfo().tokenId();
            var hmac = Base64.getEncoder().encodeToString(token.hmac());
            var login = "username=\"%s\" password=\"%s\" tokenauth=\"true\";".formatted(id, hmac);
            Thread.sleep(1000); // until the broker knows the token
            try (var bearer = admin(arguments[1], "SCRAM-SHA-256", SCRAM + login)) {
                bearer.describeCluster().nodes().get();
            }
        }
    }

    static Admin admin(String broker, String mechanism, String login) {
        return Admin.create(Map.of(
            "bootstrap.servers", broker, "client.id", "vault", "security.protocol", "SASL_PLAINTEXT",
            "sasl.mechanism", mechanism, "sasl.jaas.config", login, "enable.metrics.push", "false"));
    }
}
