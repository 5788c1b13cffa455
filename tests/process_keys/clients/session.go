// franz-go: a producer and a consumer in one process that run until they are killed: session KEY=VALUE...
//
// Keys: bootstrap, ca, id, topic, user, password, mechanism, pause (ms), tls (1.2 or 1.3), suite (IANA's name).
// Go chooses the suites of TLS 1.3 by itself.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

var options = map[string]string{}

func main() {
	for _, word := range os.Args[1:] {
		name, value, _ := strings.Cut(word, "=")
		options[name] = value
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(options["bootstrap"]), kgo.ClientID(options["id"]),
		kgo.DialTLSConfig(configuration()), kgo.SASL(mechanism()),
		kgo.DefaultProduceTopic(options["topic"]), kgo.ProducerLinger(0),
		kgo.ConsumerGroup(options["id"]), kgo.ConsumeTopics(options["topic"]), kgo.FetchMaxWait(100*time.Millisecond),
	)
	check(err)
	go consume(client)
	pause, err := strconv.Atoi(options["pause"])
	check(err)
	for {
		check(client.ProduceSync(context.Background(), kgo.StringRecord("value")).FirstErr())
		time.Sleep(time.Duration(pause) * time.Millisecond)
	}
}

func consume(client *kgo.Client) {
	for {
		check(client.PollFetches(context.Background()).Err())
	}
}

func configuration() *tls.Config {
	authority, err := os.ReadFile(options["ca"])
	check(err)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	made := &tls.Config{RootCAs: trusted}
	switch options["tls"] {
	case "1.2":
		made.MinVersion, made.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	case "1.3":
		made.MinVersion = tls.VersionTLS13
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if suite.Name == options["suite"] {
			made.CipherSuites = []uint16{suite.ID}
		}
	}
	return made
}

func mechanism() sasl.Mechanism {
	user, password := options["user"], options["password"]
	switch options["mechanism"] {
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
