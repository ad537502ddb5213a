// Statements of Spark SQL one after the other in one JVM, for the tests of tables that Spark's own Delta and Iceberg maintain.
//   standard input, a line for a statement   its text in Base64
//   standard output                          ROW<TAB>a row as JSON in Base64, any number; then DONE, or FAILED<TAB>the reason in Base64

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Base64;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

class SqlRunner {
    static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
    }

    public static void main(String[] settings) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        SparkSession.Builder builder = SparkSession.builder().master("local[1]");
        for (String one : settings) {
            int equals = one.indexOf('=');
            builder = builder.config(one.substring(0, equals), one.substring(equals + 1));
        }
        SparkSession spark = builder.getOrCreate();
        answers.println("DONE");
        answers.flush();
        BufferedReader statements = new BufferedReader(new InputStreamReader(System.in));
        for (String line = statements.readLine(); line != null; line = statements.readLine()) {
            String statement = new String(Base64.getDecoder().decode(line), java.nio.charset.StandardCharsets.UTF_8);
            try {
                Dataset<Row> found = spark.sql(statement);
                for (Row row : found.collectAsList()) answers.println("ROW\t" + encoded(row.json()));
                answers.println("DONE");
            } catch (Throwable failure) {
                StringBuilder reason = new StringBuilder();
                for (Throwable one = failure; one != null; one = one.getCause()) reason.append(one).append("\n");
                answers.println("FAILED\t" + encoded(reason.toString()));
            }
            answers.flush();
        }
        spark.stop();
    }
}
