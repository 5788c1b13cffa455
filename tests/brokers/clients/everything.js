// KafkaJS: admin, produce, consume in a group, commit, admin. `node everything.js ADDRESSES TOPIC GROUP WANTED`; prints
// JSON: the values consumed, the topics, the commits.
const { Kafka, logLevel } = require('kafkajs');

const [addresses, topic, group, wanted] = process.argv.slice(2);

async function main() {
  const kafka = new Kafka({ brokers: addresses.split(','), logLevel: logLevel.ERROR });
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: `${topic}-made`, numPartitions: 1, replicationFactor: 1 }] });
  const producer = kafka.producer();
  await producer.connect();
  for (let number = 0; number < 3; number += 1) {
    await producer.send({ topic, messages: [{ key: `${number}`, value: `kafkajs ${number}` }] });
  }
  await producer.disconnect();
  const consumed = [];
  const consumer = kafka.consumer({ groupId: group });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await new Promise((done, failed) => {
    setTimeout(() => failed(new Error(`${consumed.length} consumed`)), 40000);
    consumer.on(consumer.events.CRASH, (event) => event.payload.restart || failed(event.payload.error));
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        consumed.push(message.value.toString());
        if (consumed.length >= Number(wanted)) {
          const offset = (BigInt(message.offset) + 1n).toString();
          await consumer.commitOffsets([{ topic, partition, offset }]);
          done();
        }
      },
    }).catch(failed);
  });
  await consumer.disconnect();
  const topics = await admin.listTopics();
  const groups = (await admin.listGroups()).groups.map((one) => one.groupId);
  const state = (await admin.describeGroups([group])).groups[0].state;
  const offsets = await admin.fetchOffsets({ groupId: group, topics: [topic] });
  const committed = offsets[0].partitions.reduce((sum, one) => sum + Math.max(Number(one.offset), 0), 0);
  const latest = (await admin.fetchTopicOffsets(topic)).reduce((sum, one) => sum + Number(one.high), 0);
  await admin.disconnect();
  console.log(JSON.stringify({ consumed, topics, groups, state, committed, latest }));
}

main().then(() => process.exit(0), (problem) => { console.error(problem); process.exit(1); });
