// franz-go or sarama, one after the other: admin, produce, consume in a group, commit, admin.
//
// everything franz-go|sarama ADDRESSES TOPIC GROUP WANTED; prints JSON: the values consumed, the topics, the commits.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const sent = 3

type outcome struct {
	Consumed  []string `json:"consumed"`
	Topics    []string `json:"topics"`
	Groups    []string `json:"groups"`
	State     string   `json:"state"`
	Committed int64    `json:"committed"`
	Latest    int64    `json:"latest"`
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	brokers, topic, group := strings.Split(os.Args[2], ","), os.Args[3], os.Args[4]
	wanted, err := strconv.Atoi(os.Args[5])
	must(err)
	var found outcome
	if os.Args[1] == "sarama" {
		found = withSarama(brokers, topic, group, wanted)
	} else {
		found = withFranz(brokers, topic, group, wanted)
	}
	must(json.NewEncoder(os.Stdout).Encode(found))
}

func withFranz(brokers []string, topic, group string, wanted int) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	var found outcome
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	must(err)
	defer client.Close()
	admin := kadm.NewClient(client)
	_, err = admin.CreateTopic(ctx, 1, 1, nil, topic+"-made")
	if err != nil && !strings.Contains(err.Error(), "TOPIC_ALREADY_EXISTS") {
		must(err)
	}
	for number := range sent {
		record := &kgo.Record{Topic: topic, Key: fmt.Append(nil, number), Value: fmt.Appendf(nil, "franz-go %d", number)}
		must(client.ProduceSync(ctx, record).FirstErr())
	}
	consumer, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	must(err)
	for len(found.Consumed) < wanted {
		fetches := consumer.PollFetches(ctx)
		must(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) { found.Consumed = append(found.Consumed, string(record.Value)) })
	}
	must(consumer.CommitUncommittedOffsets(ctx))
	consumer.Close()
	topics, err := admin.ListTopics(ctx)
	must(err)
	found.Topics = topics.Names()
	groups, err := admin.ListGroups(ctx)
	must(err)
	found.Groups = groups.Groups()
	described, err := admin.DescribeGroups(ctx, group)
	must(err)
	must(described.Error())
	found.State = described[group].State
	offsets, err := admin.FetchOffsets(ctx, group)
	must(err)
	offsets.Each(func(offset kadm.OffsetResponse) { found.Committed += max(offset.At, 0) })
	ends, err := admin.ListEndOffsets(ctx, topic)
	must(err)
	ends.Each(func(offset kadm.ListedOffset) { must(offset.Err); found.Latest += offset.Offset })
	return found
}

type handler struct {
	found  *outcome
	wanted int
	done   context.CancelFunc
}

func (handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (one handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		one.found.Consumed = append(one.found.Consumed, string(message.Value))
		session.MarkMessage(message, "")
		if len(one.found.Consumed) >= one.wanted {
			session.Commit()
			one.done()
			return nil
		}
	}
	return nil
}

func withSarama(brokers []string, topic, group string, wanted int) outcome {
	var found outcome
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Version = sarama.V2_8_0_0
	admin, err := sarama.NewClusterAdmin(brokers, config)
	must(err)
	err = admin.CreateTopic(topic+"-made", &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false)
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		must(err)
	}
	producer, err := sarama.NewSyncProducer(brokers, config)
	must(err)
	for number := range sent {
		_, _, err = producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(fmt.Sprint(number)),
			Value: sarama.StringEncoder(fmt.Sprintf("sarama %d", number))})
		must(err)
	}
	must(producer.Close())
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	members, err := sarama.NewConsumerGroup(brokers, group, config)
	must(err)
	must(members.Consume(ctx, []string{topic}, handler{&found, wanted, cancel}))
	must(members.Close())
	groups, err := admin.ListConsumerGroups()
	must(err)
	for name := range groups {
		found.Groups = append(found.Groups, name)
	}
	described, err := admin.DescribeConsumerGroups([]string{group})
	must(err)
	found.State = described[0].State
	offsets, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}})
	must(err)
	found.Committed = max(offsets.GetBlock(topic, 0).Offset, 0)
	client, err := sarama.NewClient(brokers, config)
	must(err)
	found.Topics, err = client.Topics()
	must(err)
	found.Latest, err = client.GetOffset(topic, 0, sarama.OffsetNewest)
	must(err)
	must(client.Close())
	must(admin.Close())
	return found
}
