// @platformatic/kafka, which knows the newest versions of CreateTopics and DeleteTopics alone, and fetches by topic id.
//   BOOTSTRAP TOPIC     prints one line of JSON: what was made, and whether it is gone

import { Admin, Consumer, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka'

const [bootstrap, topic] = process.argv.slice(2)
const admin = new Admin({ clientId: 'interop', bootstrapBrokers: [bootstrap] })
const [made] = await admin.createTopics({ topics: [topic], partitions: 2, replicas: 1 })
const producer = new Producer({ clientId: 'interop', bootstrapBrokers: [bootstrap], serializers: stringSerializers })
const sent = await producer.send({ messages: [{ topic, key: 'k', value: 'v', partition: 1 }] })
const offsets = sent.offsets.map(({ partition, offset }) => [partition, Number(offset)])
await producer.close()
const consumer = new Consumer({
  groupId: topic, clientId: 'interop', bootstrapBrokers: [bootstrap], deserializers: stringDeserializers
})
const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: true })
let read
for await (const { topic, partition, key, value } of stream) {
  read = [topic, partition, key, value]
  break
}
await stream.close()
await consumer.close()
await admin.deleteTopics({ topics: [topic] })
const left = (await admin.listTopics({})).includes(topic)
await admin.close()
console.log(JSON.stringify({ name: made.name, id: made.id, partitions: made.partitions, offsets, read, left }))
