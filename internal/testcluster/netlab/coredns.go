package netlab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

const coreDNSProgram = "coredns"

var dnsServersResource = schema.GroupVersionResource{
	Group: "hostedcluster.densityops.com", Version: "v1alpha1", Resource: "dnsservers",
}

// CoreDNSOptions say where CoreDNS runs, and for which DNSServer.
type CoreDNSOptions struct {
	Namespace *Namespace
	ServerIP  netip.Addr // where it listens on the VLAN
	ClusterIP netip.Addr // where it listens on the pod network; also reported in the DNSServer's status

	Client dynamic.Interface
	Object types.NamespacedName // of the DNSServer, which need not exist
	LogDir string               // where coredns.log is written; empty discards it
	Logf   func(format string, args ...any)
}

// CoreDNS is the program of that name, configured from a DNSServer as it is at any time.
type CoreDNS struct {
	managed

	options CoreDNSOptions
	loaded  string // the Corefile that it works by
}

// StartCoreDNS returns when CoreDNS answers; the DNSServer's names follow. The context only bounds the start.
func StartCoreDNS(ctx context.Context, options CoreDNSOptions) (*CoreDNS, error) {
	program, err := testcluster.Binary(coreDNSProgram)
	if err != nil {
		return nil, err
	}
	folder, err := newFolder(coreDNSProgram, "conf")
	if err != nil {
		return nil, err
	}
	c := &CoreDNS{options: options, managed: managed{folder: folder}}
	if err := c.start(ctx, program); err != nil {
		c.Close()
		return nil, fmt.Errorf("starting CoreDNS: %w", err)
	}
	c.follow(ctx, &follower{
		client: options.Client, resource: dnsServersResource, object: options.Object, apply: c.apply, logf: options.Logf,
	})
	return c, nil
}

func (c *CoreDNS) corefilePath() string { return filepath.Join(c.folder, "conf", "Corefile") }
func (c *CoreDNS) logPath() string {
	return filepath.Join(cmp.Or(c.options.LogDir, c.folder), coreDNSProgram+".log")
}

// start has it answer without knowing any name.
func (c *CoreDNS) start(ctx context.Context, program string) error {
	c.loaded = corefile(dnsServerSpec{}, c.listen())
	if err := replaceFile(c.corefilePath(), []byte(c.loaded)); err != nil {
		return err
	}
	before, err := c.logSize()
	if err != nil {
		return err
	}
	c.process, err = c.options.Namespace.Start(process.Options{
		Program: program, Args: []string{"-conf", c.corefilePath()}, LogFile: c.logPath(),
	})
	if err != nil {
		return err
	}
	return c.process.Ready(ctx, func(context.Context) error {
		log, err := c.logSince(before)
		if err == nil && !bytes.Contains(log, []byte("CoreDNS-")) { // its version, once all sockets are open
			err = errors.New("not listening yet")
		}
		return err
	})
}

func (c *CoreDNS) listen() []netip.Addr {
	listen := []netip.Addr{c.options.ServerIP}
	if c.options.ClusterIP.IsValid() {
		listen = append(listen, c.options.ClusterIP)
	}
	return listen
}

// apply makes CoreDNS answer what the DNSServer says. When it is not accepted, CoreDNS goes on as before.
func (c *CoreDNS) apply(ctx context.Context, live *unstructured.Unstructured) error {
	spec, err := readDNSServer(live)
	if err != nil {
		return err
	}
	if err := c.load(ctx, corefile(spec, c.listen())); err != nil {
		return err
	}
	return c.report(ctx, live)
}

// load has CoreDNS read a Corefile now: its own reload plugin looks every two seconds at best.
func (c *CoreDNS) load(ctx context.Context, text string) error {
	if text == c.loaded {
		return nil
	}
	if err := c.process.Err(); err != nil {
		return fmt.Errorf("CoreDNS: %w\n%s", err, c.process.Tail())
	}
	before, err := c.logSize()
	if err != nil {
		return err
	}
	if err := replaceFile(c.corefilePath(), []byte(text)); err != nil {
		return err
	}
	if err := c.process.Signal(syscall.SIGUSR1); err != nil {
		return err
	}
	if err := c.awaitReload(ctx, before); err != nil {
		if wait.Interrupted(err) {
			c.loaded = "" // it may still come
		}
		return err
	}
	c.loaded = text
	return nil
}

// awaitReload reads in the log what has become of a reload.
func (c *CoreDNS) awaitReload(ctx context.Context, before int64) error {
	err := wait.PollUntilContextTimeout(ctx, reloadPoll, reloadTimeout, true, func(context.Context) (bool, error) {
		log, err := c.logSince(before)
		if err != nil {
			return false, err
		}
		if _, refused, found := bytes.Cut(log, []byte("[ERROR] SIGUSR1: ")); found {
			reason, _, _ := bytes.Cut(refused, []byte("\n"))
			return false, fmt.Errorf("CoreDNS refused it: %s", reason)
		}
		return bytes.Contains(log, []byte("[INFO] Reloading complete")), nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("waiting for CoreDNS to reload: %w\n%s", err, c.process.Tail())
	}
	return err
}

func (c *CoreDNS) logSize() (int64, error) {
	info, err := os.Stat(c.logPath())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return info.Size(), nil
}

// logSince is what CoreDNS has printed since its log had a size.
func (c *CoreDNS) logSince(size int64) ([]byte, error) {
	file, err := os.Open(c.logPath())
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // read only
	if _, err := file.Seek(size, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}

// report says in the status of the DNSServer where pods reach it, as the operator would.
func (c *CoreDNS) report(ctx context.Context, live *unstructured.Unstructured) error {
	if live == nil || !c.options.ClusterIP.IsValid() {
		return nil
	}
	address := c.options.ClusterIP.String()
	if known, _, _ := unstructured.NestedString(live.Object, "status", "serviceClusterIP"); known == address {
		return nil
	}
	patch := fmt.Appendf(nil, `{"status":{"serviceClusterIP":%q}}`, address)
	_, err := c.options.Client.Resource(dnsServersResource).Namespace(live.GetNamespace()).
		Patch(ctx, live.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "oooi"}, "status")
	if err != nil {
		return fmt.Errorf("reporting the address: %w", err)
	}
	return nil
}
