package netlab_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

// needLab skips a test where no lab can be made.
func needLab(t *testing.T) {
	t.Helper()
	testcluster.SkipWithout(t, netlab.Available())
}

func newNamespace(t *testing.T) *netlab.Namespace {
	t.Helper()
	n, err := netlab.NewNamespace(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// serve answers every connection with a text.
func serve(t *testing.T, listener net.Listener, text string) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
}

func read(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(conn)
	return string(text), err
}

func TestNamespaceIsApart(t *testing.T) {
	t.Parallel()
	needLab(t)
	one, two := newNamespace(t), newNamespace(t)
	listener, err := one.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, listener, "one")
	address := listener.Addr().String()
	if got, err := read(t.Context(), one.Dial, address); err != nil || got != "one" {
		t.Errorf("from inside: %q, %v", got, err)
	}
	if _, err := read(t.Context(), two.Dial, address); err == nil {
		t.Error("reached from another namespace")
	}
	if _, err := read(t.Context(), (&net.Dialer{}).DialContext, address); err == nil {
		t.Error("reached from outside")
	}
	if _, err := one.Dial(t.Context(), "tcp", "localhost:80"); err == nil {
		t.Error("a name was dialled")
	}
}

func TestRelay(t *testing.T) {
	t.Parallel()
	needLab(t)
	n := newNamespace(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, listener, "outside")
	address, _ := listener.Addr().(*net.TCPAddr)
	if _, err := read(t.Context(), n.Dial, address.String()); err == nil {
		t.Error("reached without a relay")
	}
	if err := n.Relay(t.Context(), address.Port); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t.Context(), n.Dial, address.String()); err != nil || got != "outside" {
		t.Errorf("through the relay: %q, %v", got, err)
	}
	if conn, err := n.Dial(t.Context(), "tcp", address.String()); err != nil {
		t.Error(err)
	} else {
		t.Cleanup(func() { _ = conn.Close() }) // the namespace does not wait for it
	}
}

func TestProgramInside(t *testing.T) {
	t.Parallel()
	needLab(t)
	n := newNamespace(t)
	log := filepath.Join(t.TempDir(), "log")
	p, err := n.Start(process.Options{
		Program: "/bin/sh", Args: []string{"-c", "ip -o link; echo $GREETING; exec sleep 1000"}, LogFile: log, Env: []string{"GREETING=hello"},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Ready(t.Context(), func(context.Context) error {
		if got := p.Tail(); !strings.Contains(got, "hello") {
			return fmt.Errorf("it printed %q", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if lines := p.Tail(); !strings.HasPrefix(lines, "1: lo: <LOOPBACK,UP") {
		t.Errorf("its first link is not a loopback that is up: %s", lines)
	}
	if err := p.Pause(); err != nil {
		t.Error(err)
	}
	start := time.Now()
	p.Stop()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("a paused program took %s to stop", took)
	}
	if p.Err() == nil {
		t.Error("a stopped program is said to live")
	}
	p.Stop()
	p.Kill()
}
