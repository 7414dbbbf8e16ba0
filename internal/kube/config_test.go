package kube_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/certificates"
)

const secret = "s3cr3t-credential"

const kubeconfig = `apiVersion: v1
kind: Config
current-context: a
contexts:
- {name: a, context: {cluster: a, user: a}}
- {name: b, context: {cluster: b, user: b}}
clusters:
- {name: a, cluster: {server: "https://a.example.com:6443", insecure-skip-tls-verify: true}}
- {name: b, cluster: {server: "https://b.example.com:6443", tls-server-name: inner.example.com, certificate-authority: ca.crt}}
users:
- {name: a, user: {token: file-token}}
- {name: b, user: {client-certificate: tls.crt, client-key: tls.key}}
`

// seen is what a test looks at in a configuration.
type seen struct {
	host, token, tlsName, ca, cert, command string
	insecure, proxy                         bool
}

func look(c *rest.Config) seen {
	ca, _, _ := strings.Cut(string(c.CAData), "\n")
	cert, _, _ := strings.Cut(string(c.CertData), "\n")
	s := seen{
		host: c.Host, token: c.BearerToken, tlsName: c.ServerName, ca: ca, cert: cert,
		insecure: c.Insecure, proxy: c.Proxy != nil,
	}
	if c.ExecProvider != nil {
		s.command = c.ExecProvider.Command
	}
	return s
}

// pair is a certificate with its key, as PEM.
var pair = sync.OnceValue(func() string {
	authority, err := certificates.NewAuthority("authority")
	if err != nil {
		panic(err)
	}
	issued, err := authority.Issue(certificates.Request{Hosts: []string{"user"}})
	if err != nil {
		panic(err)
	}
	certificate, key, err := certificates.Encode(issued)
	if err != nil {
		panic(err)
	}
	return string(certificate) + string(key)
})

// named is PEM data that a test knows again by its first line, which is not part of it.
func named(name string) string { return name + "\n" + pair() }

// home is a directory with the kubeconfig above as "config" and a second file as "other".
func home(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	other := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: a}}]\n" +
		"clusters: [{name: c, cluster: {server: \"https://c.example.com\"}}, {name: a, cluster: {server: \"https://never\"}}]\n"
	for name, text := range map[string]string{
		"config": kubeconfig, "other": other, "ca.crt": named("CA"), "tls.crt": named("CERT"), "tls.key": named("KEY"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestConfigSources(t *testing.T) {
	t.Parallel()
	dir := home(t)
	file, other := filepath.Join(dir, "config"), filepath.Join(dir, "other")
	fileA := seen{host: "https://a.example.com:6443", token: "file-token", insecure: true}
	fileB := seen{host: "https://b.example.com:6443", tlsName: "inner.example.com", ca: "CA", cert: "CERT"}
	plugin := &kube.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "plugin"}
	for name, tt := range map[string]struct {
		config kube.Config
		env    map[string]string
		want   seen
	}{
		"file":                    {kube.Config{ConfigPath: &file}, nil, fileA},
		"file at home":            {kube.Config{ConfigPath: new("~/config")}, map[string]string{"HOME": dir}, fileA},
		"file of the environment": {kube.Config{}, map[string]string{"KUBE_CONFIG_PATH": file}, fileA},
		"empty is not set":        {kube.Config{ConfigPath: new(""), Host: new("")}, map[string]string{"KUBE_CONFIG_PATH": file}, fileA},
		"argument over variable":  {kube.Config{ConfigPath: &file}, map[string]string{"KUBE_CONFIG_PATHS": other}, fileA},
		"files":                   {kube.Config{ConfigPaths: []string{file, other}}, nil, fileA},
		"files, first wins": {
			kube.Config{ConfigPaths: []string{other, file}, ConfigContext: new("a")},
			nil,
			seen{host: "https://never", token: "file-token"},
		},
		"files of the environment": {
			kube.Config{},
			map[string]string{"KUBE_CONFIG_PATHS": other + ":" + file},
			seen{host: "https://c.example.com", token: "file-token"},
		},
		"context":                {kube.Config{ConfigPath: &file, ConfigContext: new("b")}, nil, fileB},
		"context of environment": {kube.Config{ConfigPath: &file}, map[string]string{"KUBE_CTX": "b"}, fileB},
		"context over variable":  {kube.Config{ConfigPath: &file, ConfigContext: new("a")}, map[string]string{"KUBE_CTX": "b"}, fileA},
		"cluster and user": {
			kube.Config{ConfigPath: &file, ConfigContextCluster: new("b"), ConfigContextAuthInfo: new("a")},
			nil,
			seen{host: fileB.host, tlsName: fileB.tlsName, ca: "CA", token: "file-token"},
		},
		"host and token":      {kube.Config{Host: new("https://h:1"), Token: new("t")}, nil, seen{host: "https://h:1", token: "t"}},
		"host without scheme": {kube.Config{Host: new("h:1"), Token: new("t")}, nil, seen{host: "https://h:1", token: "t"}},
		"all of the environment": {
			kube.Config{},
			map[string]string{
				"KUBE_HOST": "https://h", "KUBE_CLIENT_CERT_DATA": named("C"), "KUBE_CLIENT_KEY_DATA": named("K"),
				"KUBE_CLUSTER_CA_CERT_DATA": named("A"), "KUBE_TLS_SERVER_NAME": "n", "KUBE_PROXY_URL": "http://p:1",
			},
			seen{host: "https://h", cert: "C", ca: "A", tlsName: "n", proxy: true},
		},
		"exec": {
			kube.Config{Host: new("https://h"), Exec: plugin},
			nil,
			seen{host: "https://h", command: "plugin"},
		},
		"exec over variable": {
			kube.Config{Host: new("https://h"), Exec: plugin},
			map[string]string{"KUBE_TOKEN": "t"},
			seen{host: "https://h", command: "plugin"},
		},
		"token over file's user": {
			kube.Config{ConfigPath: &file, ConfigContext: new("b"), Token: new("t")},
			nil,
			seen{host: fileB.host, tlsName: fileB.tlsName, ca: "CA", token: "t"},
		},
		"token over certificate var": {
			kube.Config{Host: new("https://h"), Token: new("t")},
			map[string]string{"KUBE_CLIENT_CERT_DATA": named("C"), "KUBE_CLIENT_KEY_DATA": named("K")},
			seen{host: "https://h", token: "t"},
		},
		"host over file": {
			kube.Config{ConfigPath: &file, ConfigContext: new("b"), Host: new("https://h")},
			nil,
			seen{host: "https://h", ca: "CA", cert: "CERT"},
		},
		"host variable over file": {
			kube.Config{ConfigPath: &file},
			map[string]string{"KUBE_HOST": "https://h"},
			seen{host: "https://h", token: "file-token", insecure: true},
		},
		"verified in spite of file": {
			kube.Config{ConfigPath: &file, Insecure: new(false)},
			nil,
			seen{host: fileA.host, token: "file-token"},
		},
		"insecure in spite of file": {
			kube.Config{ConfigPath: &file, ConfigContext: new("b"), Insecure: new(true)},
			nil,
			seen{host: fileB.host, tlsName: fileB.tlsName, cert: "CERT", insecure: true},
		},
		"authority over variable": {
			kube.Config{Host: new("https://h"), ClusterCACertificate: new(named("A"))},
			map[string]string{"KUBE_INSECURE": "true"},
			seen{host: "https://h", ca: "A"},
		},
		"insecure over variable": {
			kube.Config{Host: new("https://h"), Insecure: new(true)},
			map[string]string{"KUBE_CLUSTER_CA_CERT_DATA": named("A")},
			seen{host: "https://h", insecure: true},
		},
		"foreign context variable": {kube.Config{Host: new("https://h")}, map[string]string{"KUBE_CTX": "x"}, seen{host: "https://h"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.config.UserAgent = "oooi/1"
			if err := tt.config.Validate(environment(tt.env)); err != nil {
				t.Fatal(err)
			}
			config, err := tt.config.Loader(environment(tt.env))(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := look(config); got != tt.want || config.UserAgent != "oooi/1" {
				t.Errorf("\ngot  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// Contradictions are found without looking at a file, and both sources are named.
func TestConfigContradictions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config kube.Config
		env    map[string]string
		names  []string
	}{
		"two kinds of path": {
			kube.Config{ConfigPath: new("a"), ConfigPaths: []string{"b"}},
			nil,
			[]string{"config_path", "config_paths"},
		},
		"two path variables": {
			kube.Config{},
			map[string]string{"KUBE_CONFIG_PATH": "a", "KUBE_CONFIG_PATHS": "b"},
			[]string{"KUBE_CONFIG_PATH", "KUBE_CONFIG_PATHS"},
		},
		"insecure and authority": {
			kube.Config{Insecure: new(true), ClusterCACertificate: new("x")},
			nil,
			[]string{"insecure", "cluster_ca_certificate"},
		},
		"the same in variables": {
			kube.Config{},
			map[string]string{"KUBE_INSECURE": "1", "KUBE_CLUSTER_CA_CERT_DATA": "x"},
			[]string{"KUBE_INSECURE", "KUBE_CLUSTER_CA_CERT_DATA"},
		},
		"token and exec": {kube.Config{Token: new(secret), Exec: &kube.Exec{Command: "c"}}, nil, []string{"token", "exec"}},
		"certificate and exec": {
			kube.Config{ClientCertificate: new(secret), ClientKey: new(secret), Exec: &kube.Exec{Command: "c"}},
			nil,
			[]string{"client_certificate", "exec"},
		},
		"certificate alone": {kube.Config{ClientCertificate: new(secret)}, nil, []string{"client_certificate", "client_key"}},
		"key alone":         {kube.Config{ClientKey: new(secret)}, nil, []string{"client_key", "client_certificate"}},
		"context without file": {
			kube.Config{ConfigContext: new("x"), Host: new("https://h")},
			nil,
			[]string{"config_context", "config_path"},
		},
		"insecure is no boolean": {kube.Config{}, map[string]string{"KUBE_INSECURE": "perhaps"}, []string{"KUBE_INSECURE"}},
		"exec without command":   {kube.Config{Exec: &kube.Exec{}}, nil, []string{"exec", "command"}},
	} {
		err := tt.config.Validate(environment(tt.env))
		var connection *kube.ConnectionError
		if !errors.As(err, &connection) {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		for _, part := range tt.names {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not name %s", name, err, part)
			}
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %q tells a secret", name, err)
		}
		if _, loadErr := tt.config.Loader(environment(tt.env))(t.Context()); loadErr == nil || loadErr.Error() != err.Error() {
			t.Errorf("%s: the loader says %v", name, loadErr)
		}
	}
}

// What cannot be turned into a connection is named by its source, and nothing of its content is told.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	dir := home(t)
	write := func(name, text string) *string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return &path
	}
	file := filepath.Join(dir, "config")
	for name, tt := range map[string]struct {
		config kube.Config
		env    map[string]string
		names  []string
	}{
		"nothing": {
			kube.Config{},
			nil,
			[]string{"config_path", "KUBE_CONFIG_PATH", "config_paths", "host", "KUBE_HOST", "token", "KUBE_TOKEN", "exec"},
		},
		"KUBECONFIG only": {kube.Config{}, map[string]string{"KUBECONFIG": file, "HOME": dir}, []string{"KUBECONFIG is not read"}},
		"token only": {
			kube.Config{Token: new(secret)},
			map[string]string{"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"},
			[]string{"host"},
		},
		"no such file": {
			kube.Config{ConfigPath: new("/no/such")},
			nil,
			[]string{"argument config_path", "/no/such", "no such file"},
		},
		"one of two missing": {
			kube.Config{},
			map[string]string{"KUBE_CONFIG_PATHS": file + ":/no/such"},
			[]string{"variable KUBE_CONFIG_PATHS", "/no/such"},
		},
		"a directory": {kube.Config{ConfigPath: &dir}, nil, []string{"argument config_path", dir}},
		"malformed": {
			kube.Config{ConfigPath: write("bad", "users:\n- "+secret+"\n\t:")},
			nil,
			[]string{"config_path", "malformed"},
		},
		"wrong shape": {kube.Config{ConfigPath: write("shape", "users: "+secret)}, nil, []string{"config_path", "malformed"}},
		"plain text":  {kube.Config{ConfigPath: write("text", secret)}, nil, []string{"config_path", "malformed"}},
		"bad base64": {
			kube.Config{ConfigPath: write("base64", "users: [{name: a, user: {client-key-data: \"%"+secret+"\"}}]")},
			nil,
			[]string{"malformed"},
		},
		"empty": {kube.Config{ConfigPath: write("empty", "")}, nil, []string{"config_path", "no clusters"}},
		"no such context": {
			kube.Config{ConfigPath: &file, ConfigContext: new("x")},
			nil,
			[]string{"argument config_context", file, `"x"`, "a, b"},
		},
		"of the environment": {
			kube.Config{ConfigPath: &file},
			map[string]string{"KUBE_CTX": "x"},
			[]string{"variable KUBE_CTX", `"x"`, "a, b"},
		},
		"no such cluster": {kube.Config{ConfigPath: &file, ConfigContextCluster: new("x")}, nil, []string{`cluster "x"`, "a, b"}},
		"no such user":    {kube.Config{ConfigPath: &file, ConfigContextAuthInfo: new("x")}, nil, []string{`user "x"`, "a, b"}},
		"no current context": {
			kube.Config{ConfigPath: write("none", strings.Replace(kubeconfig, "current-context: a\n", "", 1))},
			nil,
			[]string{"no current context", "a, b"},
		},
		"bad proxy": {
			kube.Config{Host: new("https://h"), ProxyURL: new("http://user:" + secret + "@p q")},
			nil,
			[]string{"host", "proxy"},
		},
		"bad authority": {
			kube.Config{Host: new("https://h"), ClusterCACertificate: new(secret)},
			nil,
			[]string{"argument cluster_ca_certificate", "PEM"},
		},
		"bad authority in file": {
			kube.Config{ConfigPath: write("authority", strings.Replace(kubeconfig, "insecure-skip-tls-verify: true",
				"certificate-authority-data: czNjcjN0LWNyZWRlbnRpYWw=", 1))},
			nil,
			[]string{"argument config_path", "authority", "PEM"},
		},
		"bad certificate": {
			kube.Config{Host: new("https://h"), ClientCertificate: new(secret), ClientKey: new(named("K"))},
			nil,
			[]string{"argument client_certificate", "PEM"},
		},
		"bad key": {
			kube.Config{ConfigPath: &file},
			map[string]string{"KUBE_CLIENT_CERT_DATA": named("C"), "KUBE_CLIENT_KEY_DATA": secret},
			[]string{"variable KUBE_CLIENT_CERT_DATA", "PEM"},
		},
		"bad host": {kube.Config{Host: new("https://user:" + secret + "@h h")}, nil, []string{"argument host"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.config.Loader(environment(tt.env))(t.Context())
			var connection *kube.ConnectionError
			if !errors.As(err, &connection) {
				t.Fatalf("got %v", err)
			}
			for _, part := range tt.names {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %s", err, part)
				}
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), secret[:6]) {
				t.Errorf("%q tells a secret", err)
			}
		})
	}
}

func TestFromKubeconfigOverrides(t *testing.T) {
	t.Parallel()
	dir := home(t)
	for name, tt := range map[string]struct {
		context   string
		overrides kube.Overrides
		want      seen
	}{
		"none": {"a", kube.Overrides{}, seen{host: "https://a.example.com:6443", token: "file-token", insecure: true}},
		"host keeps the name": {
			"a",
			kube.Overrides{Host: "127.0.0.1:1"},
			seen{host: "https://127.0.0.1:1", tlsName: "a.example.com", token: "file-token", insecure: true},
		},
		"host keeps given name": {
			"b",
			kube.Overrides{Host: "https://x"},
			seen{host: "https://x", tlsName: "inner.example.com", ca: "CA", cert: "CERT"},
		},
		"another name": {
			"b",
			kube.Overrides{Host: "https://x", TLSServerName: "n"},
			seen{host: "https://x", tlsName: "n", ca: "CA", cert: "CERT"},
		},
		"authority": {
			"a",
			kube.Overrides{ClusterCACertificate: named("X"), ProxyURL: "http://p"},
			seen{host: "https://a.example.com:6443", token: "file-token", ca: "X", proxy: true},
		},
		"insecure": {
			"b",
			kube.Overrides{Insecure: true},
			seen{host: "https://b.example.com:6443", tlsName: "inner.example.com", cert: "CERT", insecure: true},
		},
	} {
		getenv := environment(map[string]string{"HOME": dir})
		config, err := kube.FromKubeconfigFile(getenv, "~/config", "argument x", tt.context, tt.overrides)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := look(config); got != tt.want {
			t.Errorf("%s\ngot  %+v\nwant %+v", name, got, tt.want)
		}
	}
	_, err := kube.FromKubeconfig([]byte("users: "+secret), "Secret clusters/demo-kubeconfig", "", kube.Overrides{})
	if err == nil || !strings.HasPrefix(err.Error(), "Secret clusters/demo-kubeconfig: ") || strings.Contains(err.Error(), secret[:6]) {
		t.Errorf("got %v", err)
	}
}

// A plugin of API version v1 connects without interactiveMode, from the provider block and from a kubeconfig.
func TestExecPlugin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	credential := must[[]byte](t)(json.Marshal(map[string]any{ //nolint:errchkjson // checked
		"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": map[string]any{"token": "from-plugin"},
	}))
	plugin := filepath.Join(dir, "plugin")
	script := "#!/bin/sh\n[ \"$1 $WORD\" = 'speak friend' ] || exit 3\ncat <<'EOT'\n" + string(credential) + "\nEOT\n"
	chatty := filepath.Join(dir, "chatty")
	for path, text := range map[string]string{plugin: script, chatty: "#!/bin/sh\necho " + secret + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := func(command string) []byte {
		return []byte(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
clusters: [{name: a, cluster: {server: "https://cluster.test"}}], users: [{name: a, user: {exec: {
apiVersion: client.authentication.k8s.io/v1, command: ` + command + `, args: [speak], env: [{name: WORD, value: friend}]}}}]}`)
	}
	provider := kube.Config{Host: new("https://cluster.test"), Exec: &kube.Exec{
		Command: plugin, Args: []string{"speak"}, Env: map[string]string{"WORD": "friend"},
	}}
	fromFile := func(command string) func(context.Context) (*rest.Config, error) {
		return func(context.Context) (*rest.Config, error) {
			return kube.FromKubeconfig(file(command), "Secret a/b", "", kube.Overrides{})
		}
	}
	for name, load := range map[string]func(context.Context) (*rest.Config, error){
		"provider": provider.Loader(noEnvironment), "kubeconfig": fromFile(plugin),
	} {
		if token, err := tokenOf(t, load); err != nil || token != "Bearer from-plugin" {
			t.Errorf("%s: got %q, %v", name, token, err)
		}
	}
	for name, command := range map[string]string{"no credential": chatty, "not there": filepath.Join(dir, "none")} {
		if _, err := tokenOf(t, fromFile(command)); err == nil || kube.IsTransient(err) || strings.Contains(err.Error(), secret[:6]) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// tokenOf is what an API server gets to see.
func tokenOf(t *testing.T, load func(context.Context) (*rest.Config, error)) (string, error) {
	t.Helper()
	var token string
	s := newServer()
	s.put("one", nil)
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		s.ServeHTTP(w, r)
	}))
	defer web.Close()
	cluster := kube.NewCluster("test cluster", func(ctx context.Context) (*rest.Config, error) {
		config, err := load(ctx)
		if err == nil {
			config.Host, config.Insecure = web.URL, true
		}
		return config, err
	})
	_, err := cluster.Get(t.Context(), thing)
	return token, err
}
