// @platformatic/kafka, which knows the newest versions of CreateTopics and DeleteTopics alone.
//   BOOTSTRAP TOPIC     prints one line of JSON: what was made, and whether it is gone

import { Admin, Producer, stringSerializers } from '@platformatic/kafka'

const [bootstrap, topic] = process.argv.slice(2)
const admin = new Admin({ clientId: 'interop', bootstrapBrokers: [bootstrap] })
const [made] = await admin.createTopics({ topics: [topic], partitions: 2, replicas: 1 })
const producer = new Producer({ clientId: 'interop', bootstrapBrokers: [bootstrap], serializers: stringSerializers })
const sent = await producer.send({ messages: [{ topic, key: 'k', value: 'v', partition: 1 }] })
const offsets = sent.offsets.map(({ partition, offset }) => [partition, Number(offset)])
await producer.close()
await admin.deleteTopics({ topics: [topic] })
const left = (await admin.listTopics({})).includes(topic)
await admin.close()
console.log(JSON.stringify({ name: made.name, id: made.id, partitions: made.partitions, offsets, left }))
