// KafkaJS: a producer and a consumer in one process that run until they are killed: node session.js KEY=VALUE...
//
// Keys: bootstrap, ca, id, topic, user, password, mechanism, pause (ms), tls (1.2 or 1.3), ciphers (OpenSSL's names).
const { readFileSync } = require('fs');
const { Kafka, logLevel } = require('kafkajs');

const options = Object.fromEntries(process.argv.slice(2).map((word) => {
  const at = word.indexOf('=');
  return [word.slice(0, at), word.slice(at + 1)];
}));
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

const ssl = { ca: readFileSync(options.ca) };
if (options.tls) Object.assign(ssl, { minVersion: `TLSv${options.tls}`, maxVersion: `TLSv${options.tls}` });
if (options.ciphers) ssl.ciphers = options.ciphers;
const kafka = new Kafka({
  brokers: [options.bootstrap],
  clientId: options.id,
  logLevel: logLevel.ERROR,
  ssl,
  sasl: { mechanism: options.mechanism.toLowerCase(), username: options.user, password: options.password },
});
const { topic } = options;

async function produce() {
  const producer = kafka.producer();
  await producer.connect();
  for (;;) {
    await producer.send({ topic, messages: [{ value: 'value' }] });
    await pause(Number(options.pause));
  }
}

async function consume() {
  const consumer = kafka.consumer({ groupId: options.id, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topic });
  await consumer.run({ eachMessage: async () => {} });
}

Promise.all([produce(), consume()]).catch((problem) => {
  console.log(problem);
  process.exit(1);
});
