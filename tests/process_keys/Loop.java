import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/** Connections with one ApiVersions request each, until it is killed: Loop PORT PROTOCOL. Sessions are not resumed. */
public class Loop {
    static final byte[] REQUEST = {0, 0, 0, 14, 0, 18, 0, 0, 0, 0, 0, 7, 0, 4, 'l', 'o', 'o', 'p'};

    public static void main(String[] arguments) throws Exception {
        TrustManager[] trusting = {new X509TrustManager() {
            public void checkClientTrusted(X509Certificate[] chain, String type) {}
            public void checkServerTrusted(X509Certificate[] chain, String type) {}
            public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
        }};
        while (true) {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trusting, null);
            int port = Integer.parseInt(arguments[0]);
            try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", port)) {
                socket.setSoTimeout(1000);
                socket.setEnabledProtocols(new String[] {arguments[1]});
                new DataOutputStream(socket.getOutputStream()).write(REQUEST);
                DataInputStream in = new DataInputStream(socket.getInputStream());
                in.readFully(new byte[in.readInt()]);
                System.out.println("connected");
            } catch (Exception error) {  // of one connection, as a client has it; the next may succeed
                System.out.println(error);
            }
            Thread.sleep(100);
        }
    }
}
