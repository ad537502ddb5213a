import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.Properties;
import java.util.TreeMap;

/**
 * Reads a count and so many texts, each behind its length (big-endian ints), from standard input. Prints a line for each: its
 * pairs as java.util.Properties has them, in hexadecimal UTF-16, or "refused".
 */
public class PropertiesCorpus {
    public static void main(String[] arguments) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        StringBuilder out = new StringBuilder();
        for (int left = in.readInt(); left > 0; left--) {
            byte[] text = new byte[in.readInt()];
            in.readFully(text);
            Properties properties = new Properties();
            try {
                properties.load(new ByteArrayInputStream(text));
                TreeMap<String, String> pairs = new TreeMap<>();
                for (String key : properties.stringPropertyNames()) {
                    pairs.put(hex(key), hex(properties.getProperty(key)));
                }
                out.append(pairs).append('\n');
            } catch (IllegalArgumentException refused) {
                out.append("refused\n");
            }
        }
        System.out.print(out);
    }

    private static String hex(String text) {
        StringBuilder hex = new StringBuilder("<");
        for (char unit : text.toCharArray()) {
            hex.append(String.format("%04x", (int) unit));
        }
        return hex.append('>').toString();
    }
}
