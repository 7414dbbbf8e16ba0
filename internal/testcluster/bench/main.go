// Command bench prints the size of a provider binary, and how long it takes from the start of the process until
// GetProviderSchema is answered: what every Terraform command pays before it does anything. It starts the real binary
// and speaks to it as Terraform does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

func main() {
	path := flag.String("provider", "bin/terraform-provider-oooi", "the provider binary")
	runs := flag.Int("runs", 10, "how often it is started")
	flag.Parse()

	if err := run(context.Background(), *path, *runs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, runs int) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("looking for the provider: %w", err)
	}
	fmt.Printf("size of the provider         %.1f MiB (%d bytes)\n", float64(info.Size())/(1<<20), info.Size())

	var times []time.Duration
	var size int
	for range max(runs, 1) {
		var took time.Duration
		if took, size, err = startAndAsk(ctx, path); err != nil {
			return err
		}
		times = append(times, took)
	}
	slices.Sort(times)
	fmt.Printf("start to provider schema     median %s, fastest %s, slowest %s, of %d runs\n", rounded(times[len(times)/2]),
		rounded(times[0]), rounded(times[len(times)-1]), len(times))
	fmt.Printf("size of the provider schema  %.1f KiB\n", float64(size)/(1<<10))
	return nil
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// startAndAsk starts the provider, asks for its schema and stops it. It returns the time until the answer, and the
// size of the answer.
func startAndAsk(ctx context.Context, path string) (took time.Duration, size int, err error) {
	client := plugin.NewClient(&plugin.ClientConfig{
		// Terraform's own: a provider refuses to start without the cookie.
		HandshakeConfig: plugin.HandshakeConfig{
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		VersionedPlugins: map[int]plugin.PluginSet{6: {"provider": providerPlugin{}}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		Cmd:              exec.CommandContext(ctx, path),
		Logger:           hclog.NewNullLogger(),
	})
	defer client.Kill()

	start := time.Now()
	protocol, err := client.Client()
	if err != nil {
		return 0, 0, fmt.Errorf("starting the provider: %w", err)
	}
	raw, err := protocol.Dispense("provider")
	if err != nil {
		return 0, 0, fmt.Errorf("connecting to the provider: %w", err)
	}
	conn, ok := raw.(*grpc.ClientConn)
	if !ok {
		return 0, 0, fmt.Errorf("connecting to the provider: got a %T", raw)
	}
	// The request has no field, and of the answer only the size is looked at: an empty message keeps all it is given.
	var answer emptypb.Empty
	if err := conn.Invoke(ctx, "/tfplugin6.Provider/GetProviderSchema", &emptypb.Empty{}, &answer,
		grpc.MaxCallRecvMsgSize(64<<20)); err != nil {
		return 0, 0, fmt.Errorf("asking for the provider's schema: %w", err)
	}
	took = time.Since(start)
	if size = proto.Size(&answer); size == 0 {
		return 0, 0, errors.New("asking for the provider's schema: the answer is empty")
	}
	return took, size, nil
}

// providerPlugin hands out the connection itself.
type providerPlugin struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer implements plugin.GRPCPlugin. Nothing is served here.
func (providerPlugin) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this is a client")
}

// GRPCClient implements plugin.GRPCPlugin.
func (providerPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}
