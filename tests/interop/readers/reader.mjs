// Reads partition 0 of a topic up to its last record with kafkajs or @platformatic/kafka, and prints the offset of each record.
//   CLIENT BOOTSTRAP TOPIC LAST_OFFSET

const [client, bootstrap, topic, last] = process.argv.slice(2)
const DEADLINE_MS = 40_000

setTimeout(() => {
  console.error('no end within the deadline')
  process.exit(1)
}, DEADLINE_MS)

function take (offset) {
  console.log(String(offset))
  return Number(offset) >= Number(last)
}

if (client === 'kafkajs') {
  const { default: kafkajs } = await import('kafkajs')
  const kafka = new kafkajs.Kafka({ brokers: [bootstrap], logLevel: kafkajs.logLevel.ERROR })
  const consumer = kafka.consumer({ groupId: client, maxWaitTimeInMs: 200 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => {
      if (take(message.offset)) setImmediate(() => process.exit(0))
    }
  })
} else {
  const { Consumer } = await import('@platformatic/kafka')
  const consumer = new Consumer({ groupId: client, clientId: client, bootstrapBrokers: [bootstrap] })
  const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: true, maxWaitTime: 200 })
  for await (const message of stream) {
    if (take(message.offset)) process.exit(0)
  }
}
