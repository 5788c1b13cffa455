// A collector whose one exporter prints what OTLP brings as lines of OTLP's JSON; with "read FILE" it prints what a file
// of such lines holds, as the collector itself reads them.
package main

import (
	"bufio"
	"context"
	"log"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func show(traces ptrace.Traces) error {
	line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}

func read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(lines.Bytes())
		if err != nil {
			return err
		}
		if err := show(traces); err != nil {
			return err
		}
	}
	return lines.Err()
}

// The collector's own receiver of OTLP over HTTP, at an address, until stdin ends.
func receive(address string) error {
	ctx := context.Background()
	next, err := consumer.NewTraces(func(_ context.Context, traces ptrace.Traces) error { return show(traces) })
	if err != nil {
		return err
	}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	http := config.Protocols.HTTP.GetOrInsertDefault()
	http.ServerConfig.NetAddr.Endpoint = address
	settings := receiver.Settings{
		ID:                component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
		BuildInfo:         component.NewDefaultBuildInfo(),
	}
	found, err := factory.CreateTraces(ctx, settings, config, next)
	if err != nil {
		return err
	}
	if err := found.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	os.Stderr.WriteString("listening\n")
	bufio.NewReader(os.Stdin).ReadString('\n')
	return found.Shutdown(ctx)
}

func main() {
	does := map[string]func(string) error{"read": read, "receive": receive}
	if err := does[os.Args[1]](os.Args[2]); err != nil {
		log.Fatal(err)
	}
}
