// A Kafka topic into a Delta or Iceberg table by Spark's Kafka source and foreachBatch: what `headrace load` is compared with.
//
//     java -cp ... TableJob BOOTSTRAP TOPIC delta|iceberg DIRECTORY SCHEMA
//
// All that there is, once (Trigger.AvailableNow), in one micro-batch; the batch's id makes the write of Delta idempotent. Prints the
// seconds of the query alone, without the start of the JVM and of the session, and the rows of the table.

import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.Trigger;

public class TableJob {
    public static void main(String[] given) throws Exception {
        String bootstrap = given[0], topic = given[1], format = given[2], directory = given[3], schema = given[4];
        boolean isDelta = format.equals("delta");
        String table = isDelta ? directory + "/table" : "lake.web.clicks";
        SparkSession spark = SparkSession.builder().master("local[2]").appName("tables")
            .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension,"
                + "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
            .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
            .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
            .config("spark.sql.catalog.lake.type", "hadoop").config("spark.sql.catalog.lake.warehouse", directory + "/warehouse")
            .getOrCreate();
        spark.sparkContext().setLogLevel("ERROR");
        if (!isDelta) {
            spark.sql("create table " + table + " (topic string, partition int, offset bigint, timestamp timestamp, key binary, "
                + schema + ") using iceberg partitioned by (topic, hours(timestamp)) tblproperties "
                + "('write.distribution-mode'='none', 'write.spark.fanout.enabled'='true')");
        }
        Dataset<Row> rows = spark.readStream().format("kafka").option("kafka.bootstrap.servers", bootstrap)
            .option("subscribe", topic).option("startingOffsets", "earliest").load()
            .selectExpr("topic", "partition", "offset", "timestamp", "key",
                "from_json(cast(value as string), '" + schema + "') as found",
                "date_format(timestamp, 'yyyy-MM-dd-HH') as hour");
        Dataset<Row> wanted = isDelta
            ? rows.selectExpr("topic", "partition", "offset", "timestamp", "key", "hour", "found.*")
            : rows.selectExpr("topic", "partition", "offset", "timestamp", "key", "found.*");
        VoidFunction2<Dataset<Row>, Long> write = (batch, id) -> {
            if (isDelta) {
                batch.write().format("delta").mode("append").partitionBy("topic", "hour")
                    .option("txnAppId", "bench").option("txnVersion", id).save(table);
            } else {
                batch.writeTo(table).append();
            }
        };
        long begun = System.nanoTime();
        wanted.writeStream().foreachBatch(write).trigger(Trigger.AvailableNow())
            .option("checkpointLocation", directory + "/checkpoint").start().awaitTermination();
        double seconds = (System.nanoTime() - begun) / 1e9;
        long count = isDelta ? spark.read().format("delta").load(table).count() : spark.table(table).count();
        System.out.println("seconds=" + seconds + " rows=" + count);
        spark.stop();
    }
}
