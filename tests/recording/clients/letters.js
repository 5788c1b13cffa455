// Letters sent with gzip, and read by a group that commits: `node letters.js HOST:PORT`.
const { CompressionTypes, Kafka, logLevel } = require('kafkajs');

const topic = 'letters';

async function send(kafka) {
  const letterbox = kafka.producer({ idempotent: true });
  await letterbox.connect();
  const messages = [0, 1, 2, 3].map((number) => ({
    key: `sender-${number % 2}`,
    value: `letter ${number}: ${'dear reader, '.repeat(8)}`,
    headers: { stamp: '1', empty: '' },
  }));
  await letterbox.send({ topic, messages, compression: CompressionTypes.GZIP });
  await letterbox.disconnect();
}

async function read(kafka) {
  const postman = kafka.consumer({ groupId: 'delivery', heartbeatInterval: 300, maxWaitTimeInMs: 200 });
  await postman.connect();
  await postman.subscribe({ topic, fromBeginning: true });
  let left = 4;
  await new Promise((done) => {
    postman.run({ autoCommitThreshold: 1, eachMessage: async () => { if (--left === 0) setTimeout(done, 1000); } });
  });
  await postman.disconnect();
}

async function main() {
  const kafka = new Kafka({ brokers: [process.argv[2]], clientId: 'js-post', logLevel: logLevel.NOTHING });
  await send(kafka);
  await read(kafka);
}

main().then(() => process.exit(0), (problem) => { console.error(problem); process.exit(1); });
