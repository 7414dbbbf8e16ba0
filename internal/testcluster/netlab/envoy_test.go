package netlab

import (
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// need skips a test where it cannot run; the project's own checks must be able to.
func need(t *testing.T, programs ...string) {
	t.Helper()
	missing := func(err error) {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for _, program := range programs {
		if _, err := testcluster.Binary(program); err != nil {
			missing(err)
		}
	}
}

// TestEnvoyAcceptsItsFiles has Envoy itself look at the configuration, as one file: it looks at no others in that mode.
func TestEnvoyAcceptsItsFiles(t *testing.T) {
	t.Parallel()
	need(t, envoyProgram)
	program, err := testcluster.Binary(envoyProgram)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := readProxyServer(withSpec(t, fullProxyServer))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	content, err := envoyBootstrap(folder, "proxy")
	if err != nil {
		t.Fatal(err)
	}
	var bootstrap fields
	if err := json.Unmarshal(content, &bootstrap); err != nil {
		t.Fatal(err)
	}
	all := clusters(spec, netip.MustParseAddrPort("198.51.100.1:53"))
	static := fields{"listeners": listeners(spec), "clusters": all}
	for _, resources := range static {
		for _, resource := range resources.([]fields) {
			delete(resource, "@type")
		}
	}
	bootstrap["static_resources"] = static
	delete(bootstrap, "dynamic_resources")
	if content, err = json.Marshal(bootstrap); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "all.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), program, "--mode", "validate", "--config-path", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
