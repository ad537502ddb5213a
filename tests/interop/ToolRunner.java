// Kafka's command line tools one after the other in one JVM, for the interop tests: a JVM for each would take most of their time.
//   standard input, a line for a call: CLASS<TAB>ARGUMENT<TAB>ARGUMENT ...   standard output: what the tool prints, then EXIT<TAB>CODE

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

class ToolRunner {
    static class Ended extends Error {
        Ended() {
            super("the tool ended", null, false, false);
        }
    }

    static Integer ended; // with what; some tools catch whatever is thrown, and end again

    static void end(int code) {
        if (ended == null) ended = code;
        throw new Ended();
    }

    public static void main(String[] none) throws Exception {
        Exit.setExitProcedure((code, message) -> end(code));
        Exit.setHaltProcedure((code, message) -> end(code));
        System.setErr(System.out);
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            String[] call = line.split("\t", -1);
            ended = null;
            try {
                String[] arguments = Arrays.copyOfRange(call, 1, call.length);
                Class.forName(call[0]).getMethod("main", String[].class).invoke(null, (Object) arguments);
            } catch (InvocationTargetException failure) {
                if (ended == null) {
                    ended = 1;
                    failure.getCause().printStackTrace(System.out);
                }
            }
            System.out.println("\nEXIT\t" + (ended == null ? 0 : ended));
            System.out.flush();
        }
    }
}
