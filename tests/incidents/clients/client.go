// franz-go as it is told: client produce|consume TOPIC KEY=VALUE...
//
// Keys: brokers, id, group, count, pause (ms), seconds, work (ms), wait (ms, a fetch's longest), min (bytes a fetch
// waits for), tls (yes), user, password, compress (none), acks (0, 1, all), instance, balancer (range, sticky), max (kafka version).
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

var told = map[string]string{}

func main() {
	verb, topic := os.Args[1], os.Args[2]
	for _, each := range os.Args[3:] {
		name, value, _ := strings.Cut(each, "=")
		told[name] = value
	}
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(told["brokers"], ",")...), kgo.ClientID(told["id"])}
	if told["tls"] != "" {
		options = append(options, kgo.DialTLSConfig(&tls.Config{InsecureSkipVerify: true}))
	}
	if told["user"] != "" {
		options = append(options, kgo.SASL(plain.Auth{User: told["user"], Pass: told["password"]}.AsMechanism()))
	}
	if told["max"] != "" {
		options = append(options, kgo.MaxVersions(kversion.FromString(told["max"])))
	}
	if verb == "produce" {
		produce(topic, options)
	} else {
		consume(topic, options)
	}
}

func number(name string, otherwise int) int {
	if value, err := strconv.Atoi(told[name]); err == nil {
		return value
	}
	return otherwise
}

func milliseconds(name string, otherwise int) time.Duration {
	return time.Duration(number(name, otherwise)) * time.Millisecond
}

func produce(topic string, options []kgo.Opt) {
	options = append(options, kgo.DefaultProduceTopic(topic), kgo.RecordDeliveryTimeout(3*time.Second))
	switch told["acks"] {
	case "0":
		options = append(options, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	case "1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	}
	if told["compress"] == "none" {
		options = append(options, kgo.ProducerBatchCompression(kgo.NoCompression()))
	}
	client := made(options)
	defer client.Close()
	for sent := range number("count", 5) {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		value := fmt.Appendf(nil, "value %d", sent)
		if err := client.ProduceSync(ctx, &kgo.Record{Key: fmt.Appendf(nil, "%d", sent), Value: value}).FirstErr(); err != nil {
			fmt.Println(err)
		}
		cancel()
		time.Sleep(milliseconds("pause", 100))
	}
}

func consume(topic string, options []kgo.Opt) {
	options = append(options, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(milliseconds("wait", 500)), kgo.FetchMinBytes(int32(number("min", 1))))
	if told["group"] != "" {
		options = append(options, kgo.ConsumerGroup(told["group"]), kgo.HeartbeatInterval(500*time.Millisecond))
	}
	if told["instance"] != "" {
		options = append(options, kgo.InstanceID(told["instance"]))
	}
	if told["balancer"] == "range" {
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	}
	client := made(options)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(number("seconds", 4))*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		for range client.PollFetches(ctx).NumRecords() {
			time.Sleep(milliseconds("work", 0))
		}
	}
}

func made(options []kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	return client
}
