// A member of a group by kafkajs: node member.js BOOTSTRAP TOPIC GROUP; what it says is in tests/chaos/mixed_group.py.
const { Kafka, logLevel } = require("kafkajs");
const fs = require("fs");

const [bootstrap, topic, groupId] = process.argv.slice(2);
const say = (fields) => fs.writeSync(1, JSON.stringify({ t: Number(process.hrtime.bigint()), ...fields }) + "\n");

(async () => {
  const kafka = new Kafka({ clientId: "kafkajs", brokers: [bootstrap], logLevel: logLevel.ERROR });
  const consumer = kafka.consumer({ groupId, sessionTimeout: 6000, heartbeatInterval: 500, maxWaitTimeInMs: 200 });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale }) => {
      if (!isRunning() || isStale()) return;
      say({ read: batch.messages.map((message) => [batch.partition, Number(message.offset)]) });
      const end = Number(batch.messages[batch.messages.length - 1].offset) + 1;
      try {
        await consumer.commitOffsets([{ topic, partition: batch.partition, offset: String(end) }]);
        say({ committed: { [batch.partition]: end } });
        resolveOffset(String(end - 1));
        await heartbeat();
      } catch (failure) {
        say({ refused: String(failure) });
        throw failure;
      }
    },
  });
})();
