// Letters sent with snappy, and read by a group that commits: letters HOST:PORT [CA.pem]; over TLS with the second.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const topic = "letters"

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	address := kgo.SeedBrokers(os.Args[1])
	send(ctx, address)
	read(ctx, address)
}

func send(ctx context.Context, address kgo.Opt) {
	letterbox := client(address, kgo.ClientID("go-letterbox"), kgo.ProducerBatchCompression(kgo.SnappyCompression()),
		kgo.ProducerLinger(50*time.Millisecond))
	defer letterbox.Close()
	var letters []*kgo.Record
	for number := range 4 {
		letters = append(letters, &kgo.Record{
			Topic:   topic,
			Key:     fmt.Appendf(nil, "sender-%d", number%2),
			Value:   fmt.Appendf(nil, "letter %d: %s", number, strings.Repeat("dear reader, ", 8)),
			Headers: []kgo.RecordHeader{{Key: "stamp", Value: []byte("1")}, {Key: "empty", Value: nil}},
		})
	}
	check(letterbox.ProduceSync(ctx, letters...).FirstErr())
}

func read(ctx context.Context, address kgo.Opt) {
	postman := client(address, kgo.ClientID("go-postman"), kgo.ConsumerGroup("delivery"), kgo.ConsumeTopics(topic),
		kgo.DisableAutoCommit(), kgo.HeartbeatInterval(300*time.Millisecond), kgo.FetchMaxWait(200*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer postman.Close()
	for left := 4; left > 0; {
		fetches := postman.PollFetches(ctx)
		check(fetches.Err())
		left -= fetches.NumRecords()
	}
	check(postman.CommitUncommittedOffsets(ctx))
	time.Sleep(time.Second)
}

func client(options ...kgo.Opt) *kgo.Client {
	if len(os.Args) > 2 {
		authority, err := os.ReadFile(os.Args[2])
		check(err)
		trusted := x509.NewCertPool()
		trusted.AppendCertsFromPEM(authority)
		options = append(options, kgo.DialTLSConfig(&tls.Config{RootCAs: trusted}))
	}
	made, err := kgo.NewClient(options...)
	check(err)
	return made
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
