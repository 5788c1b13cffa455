// kfake, a broker by the author of franz-go, as it is told: broker ADDRESS,... TOPIC:PARTITIONS,... KEY=VALUE...
//
// Keys: id (the end of the cluster's id), fault=API:ERROR (answer all requests of this API so), silent=API (answer
// none), hangup=API (close the connection instead), max (requests no newer than this Kafka's), bytes (a batch's
// longest), user, password (SASL PLAIN only). Faults begin with the program, or at SIGUSR1 if after=signal. At SIGUSR2
// partitions and coordinators move.
package main

import (
	"errors"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func main() {
	told := map[string]string{}
	for _, each := range os.Args[3:] {
		name, value, _ := strings.Cut(each, "=")
		told[name] = value
	}
	cluster := kfake.MustCluster(options(strings.Split(os.Args[1], ","), told)...)
	for _, each := range strings.Split(os.Args[2], ",") {
		name, partitions, _ := strings.Cut(each, ":")
		count, _ := strconv.Atoi(partitions)
		if err := cluster.CreateTopic(name, int32(count), nil); err != nil {
			panic(err)
		}
	}
	var failing atomic.Bool
	failing.Store(told["after"] == "")
	misbehave(cluster, told, &failing)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	for one := range signals {
		if one == syscall.SIGUSR1 {
			failing.Store(true)
		} else {
			cluster.ShufflePartitionLeaders()
			cluster.RehashCoordinators()
		}
	}
}

func options(addresses []string, told map[string]string) []kfake.Opt {
	at := 0
	listen := func(network, _ string) (net.Listener, error) {
		at++
		return net.Listen(network, addresses[at-1])
	}
	found := []kfake.Opt{kfake.NumBrokers(len(addresses)), kfake.ListenFn(listen), kfake.ClusterID("kfake-" + told["id"])}
	if told["max"] != "" {
		found = append(found, kfake.MaxVersions(kversion.FromString(told["max"])))
	}
	if told["bytes"] != "" {
		found = append(found, kfake.BrokerConfigs(map[string]string{"message.max.bytes": told["bytes"]}))
	}
	if told["user"] != "" {
		found = append(found, kfake.EnableSASL(), kfake.Superuser("PLAIN", told["user"], told["password"]))
	}
	return found
}

func misbehave(cluster *kfake.Cluster, told map[string]string, failing *atomic.Bool) {
	if told["fault"] != "" {
		api, name, _ := strings.Cut(told["fault"], ":")
		cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{key(api)}, Err: failure(name), Count: -1,
			When: func(kmsg.Request) bool { return failing.Load() },
		})
	}
	for name, err := range map[string]error{"silent": nil, "hangup": errors.New("told so")} {
		if told[name] == "" {
			continue
		}
		cluster.ControlKey(int16(key(told[name])), func(kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			return nil, err, failing.Load()
		})
	}
}

func key(name string) kmsg.Key {
	for each := range int16(kmsg.MaxKey) {
		if kmsg.NameForKey(each) == name {
			return kmsg.Key(each)
		}
	}
	panic(name)
}

func failure(name string) *kerr.Error {
	for code := range int16(200) {
		if err := kerr.TypedErrorForCode(code); err != nil && err.Message == name {
			return err
		}
	}
	panic(name)
}
