// Kafka's command line tools one after the other in one JVM, for the interop tests: a JVM for each would take most of their time.
//   standard input, a line for a call: CLASS<TAB>ARGUMENT<TAB>ARGUMENT ...   standard output: what the tool prints, then EXIT<TAB>CODE

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

class ToolRunner {
    static class Ended extends Error {
        final int code;

        Ended(int code) {
            super(null, null, false, false);
            this.code = code;
        }
    }

    public static void main(String[] none) throws Exception {
        Exit.setExitProcedure((code, message) -> { throw new Ended(code); });
        Exit.setHaltProcedure((code, message) -> { throw new Ended(code); });
        System.setErr(System.out);
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            String[] call = line.split("\t", -1);
            int code = 0;
            try {
                String[] arguments = Arrays.copyOfRange(call, 1, call.length);
                Class.forName(call[0]).getMethod("main", String[].class).invoke(null, (Object) arguments);
            } catch (InvocationTargetException failure) {
                Throwable cause = failure.getCause();
                code = cause instanceof Ended ? ((Ended) cause).code : 1;
                if (!(cause instanceof Ended)) cause.printStackTrace(System.out);
            }
            System.out.println("\nEXIT\t" + code);
            System.out.flush();
        }
    }
}
