// KafkaJS as it is told: `node client.js produce|consume TOPIC '{"brokers": […], "clientId": …, "seconds": 5, …}'`.
const { Kafka, logLevel } = require('kafkajs');

const [verb, topic, said] = process.argv.slice(2);
const told = JSON.parse(said);
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

async function produce(kafka) {
  const producer = kafka.producer(told.producer || {});
  await producer.connect();
  for (let number = 0; number < (told.count || 5); number += 1) {
    try {
      const one = (at) => ({ key: `${number}-${at}`, value: 'x'.repeat(told.value || 20) });
      const messages = Array.from({ length: told.batch || 1 }, (_, at) => one(at));
      await producer.send({ topic, acks: told.acks ?? -1, messages });
    } catch (problem) { console.log(problem.message); }
    await pause(told.pause || 100);
  }
  await producer.disconnect();
}

async function consume(kafka) {
  const consumer = kafka.consumer({ groupId: told.group, ...(told.consumer || {}) });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({ eachMessage: async () => { await pause(told.work || 0); } });
  await pause(1000 * (told.seconds || 4));
  await consumer.disconnect();
}

async function main() {
  const kafka = new Kafka({ retry: { retries: 2 }, ...told.kafka, logLevel: logLevel.NOTHING });
  await (verb === 'produce' ? produce(kafka) : consume(kafka));
}

process.on('unhandledRejection', () => {});
main().then(() => process.exit(0), (problem) => { console.log(problem.message); process.exit(0); });
