package netlab

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

const envoyProgram = "envoy"

var proxyServersResource = schema.GroupVersionResource{
	Group: "hostedcluster.densityops.com", Version: "v1alpha1", Resource: "proxyservers",
}

// EnvoyOptions say where Envoy runs, and for which ProxyServer.
type EnvoyOptions struct {
	Namespace *Namespace     // it listens at all addresses of it
	Resolver  netip.AddrPort // for targets that are names

	Client dynamic.Interface
	Object types.NamespacedName // of the ProxyServer, which need not exist
	LogDir string               // where envoy.log is written; empty discards it
	Logf   func(format string, args ...any)
}

// Envoy is the program of that name, configured from a ProxyServer as it is at any time.
type Envoy struct {
	managed

	options EnvoyOptions
	admin   *http.Client
	version int               // of the last files
	written map[string]string // what they say besides, by file
}

// StartEnvoy returns when Envoy runs; the ProxyServer's ports follow. The context only bounds the start.
func StartEnvoy(ctx context.Context, options EnvoyOptions) (*Envoy, error) {
	program, err := testcluster.Binary(envoyProgram)
	if err != nil {
		return nil, err
	}
	folder, err := newFolder(envoyProgram, filepath.Dir(envoyListeners), filepath.Dir(envoyClusters))
	if err != nil {
		return nil, err
	}
	e := &Envoy{options: options, managed: managed{folder: folder}, written: map[string]string{}}
	e.admin = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: e.dialAdmin}}
	if err := e.start(ctx, program); err != nil {
		e.Close()
		return nil, fmt.Errorf("starting Envoy: %w", err)
	}
	e.follow(ctx, &follower{
		client: options.Client, resource: proxyServersResource, object: options.Object, apply: e.apply, logf: options.Logf,
	})
	return e, nil
}

// start has it run without any port.
func (e *Envoy) start(ctx context.Context, program string) error {
	bootstrap, err := envoyBootstrap(e.folder, e.options.Namespace.Name)
	if err != nil {
		return err
	}
	file := filepath.Join(e.folder, "bootstrap.json")
	if err := os.WriteFile(file, bootstrap, 0o600); err != nil {
		return err
	}
	for _, file := range []string{envoyClusters, envoyListeners} {
		if _, err := e.write(file, nil); err != nil {
			return err
		}
	}
	e.process, err = e.options.Namespace.Start(process.Options{
		Program: program,
		Args:    []string{"--config-path", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"},
		LogFile: filepath.Join(cmp.Or(e.options.LogDir, e.folder), envoyProgram+".log"),
	})
	if err != nil {
		return err
	}
	return e.process.Ready(ctx, func(ctx context.Context) error {
		_, err := e.ask(ctx, "/ready")
		return err
	})
}

// apply makes Envoy do what the ProxyServer says. What is not accepted stays as before. Clusters come first: a listener
// needs them.
func (e *Envoy) apply(ctx context.Context, live *unstructured.Unstructured) error {
	spec, err := readProxyServer(live)
	if err != nil {
		return err
	}
	return errors.Join(
		e.load(ctx, envoyClusters, "cluster_manager.cds.", clusters(spec, e.options.Resolver)),
		e.load(ctx, envoyListeners, "listener_manager.lds.", listeners(spec)),
	)
}

// load has Envoy read one of its files, and finds out what has become of it.
func (e *Envoy) load(ctx context.Context, file, counters string, resources []object) error {
	if err := e.process.Err(); err != nil {
		return fmt.Errorf("Envoy: %w\n%s", err, e.process.Tail())
	}
	before, err := e.stats(ctx, counters)
	if err != nil {
		return err
	}
	version, err := e.write(file, resources)
	if err != nil || version == "" {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, reloadPoll, reloadTimeout, true, func(ctx context.Context) (bool, error) {
		now, err := e.stats(ctx, counters)
		switch {
		case err != nil:
			return false, err
		case now["update_rejected"] != before["update_rejected"]:
			return false, fmt.Errorf("Envoy refused the %s:\n%s", filepath.Dir(file), e.process.Tail())
		}
		return now["version_text"] == strconv.Quote(version), nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("waiting for Envoy to read the %s: %w\n%s", filepath.Dir(file), err, e.process.Tail())
	}
	return err
}

// write replaces a file and returns its version, or nothing if the file says the same already.
func (e *Envoy) write(file string, resources []object) (string, error) {
	same, err := envoyResources("", resources)
	if err != nil {
		return "", err
	}
	if e.written[file] == string(same) {
		return "", nil
	}
	e.version++
	version := strconv.Itoa(e.version)
	content, err := envoyResources(version, resources)
	if err != nil {
		return "", err
	}
	if err := replaceFile(filepath.Join(e.folder, file), content); err != nil {
		return "", err
	}
	e.written[file] = string(same)
	return version, nil
}

// stats are Envoy's counters with a prefix, which they come back without.
func (e *Envoy) stats(ctx context.Context, prefix string) (map[string]string, error) {
	text, err := e.ask(ctx, "/stats?filter=^"+prefix)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if name, value, found := strings.Cut(strings.TrimPrefix(lines.Text(), prefix), ": "); found {
			values[name] = value
		}
	}
	return values, lines.Err()
}

// ask asks Envoy's own interface. It is a socket in the file system, which is the same inside and outside of the namespace.
func (e *Envoy) ask(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://envoy"+path, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := e.admin.Do(request)
	if err != nil {
		return "", fmt.Errorf("asking Envoy: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("asking Envoy: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("asking Envoy: %s: %s", response.Status, strings.TrimSpace(string(body)))
	}
	return string(body), nil
}

func (e *Envoy) dialAdmin(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(e.folder, envoyAdmin))
}
