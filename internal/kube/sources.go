package kube

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// serviceAccount is where a pod finds its credentials.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// connect reads the files and puts arguments and environment over them.
func (s settings) connect(getenv func(string) string) (*rest.Config, error) {
	if len(s.paths) == 0 && !s.host.set() {
		if s.onlyPod() {
			if config := inCluster(getenv, serviceAccount); config != nil {
				return config, nil
			}
		}
		return nil, nothingSet(getenv)
	}
	t := target{source: s.host.source, cluster: api.NewCluster(), user: api.NewAuthInfo()}
	if len(s.paths) > 0 {
		var err error
		if t, err = s.fromFiles(); err != nil {
			return nil, err
		}
	}
	s.override(&t)
	return t.connect()
}

// fromFiles merges the kubeconfigs as kubectl does: the first file that says something wins.
func (s settings) fromFiles() (target, error) {
	source := s.pathsSource + " (" + strings.Join(s.paths, ", ") + ")"
	for _, path := range s.paths {
		data, err := readFile(path, s.pathsSource)
		if err != nil {
			return target{}, err
		}
		if _, err := parseKubeconfig(data, s.pathsSource+" ("+path+")"); err != nil {
			return target{}, err
		}
	}
	merged, err := (&clientcmd.ClientConfigLoadingRules{Precedence: slices.Clone(s.paths)}).Load()
	if err != nil {
		return target{}, &ConnectionError{Source: source, Err: errors.New("the files cannot be read together")}
	}
	if s.context.set() {
		source += " with " + s.context.source
	}
	return choose(merged, choice{
		source:    source,
		context:   s.context.value,
		cluster:   s.cluster.value,
		user:      s.user.value,
		anonymous: s.hasCredentials(),
	})
}

func (s settings) hasCredentials() bool { return s.token.set() || s.cert.set() || s.exec != nil }

// override puts arguments and environment over the target. Credentials replace those of the file as a whole: two identities
// at once would leave it to the server which one counts.
func (s settings) override(t *target) {
	if s.host.set() {
		t.cluster.Server = withScheme(s.host.value)
		t.cluster.TLSServerName = ""
		t.source = s.host.source
	}
	if s.tlsName.set() {
		t.cluster.TLSServerName = s.tlsName.value
	}
	if s.proxy.set() {
		t.cluster.ProxyURL = s.proxy.value
	}
	trust(t.cluster, s.ca.value, s.insecure.set())
	if s.ca.set() {
		t.authoritySource = s.ca.source
	}
	if s.insecure.source != "" && !s.insecure.set() {
		t.cluster.InsecureSkipTLSVerify = false // insecure = false is said, too
	}
	if !s.hasCredentials() {
		return
	}
	user := api.NewAuthInfo()
	user.Token = s.token.value
	user.ClientCertificateData, user.ClientKeyData = []byte(s.cert.value), []byte(s.key.value)
	if s.exec != nil {
		user.Exec = s.exec.plugin()
	}
	t.user, t.userSource = user, firstOf(s.cert, s.token).source
}

// plugin is the credential plugin as client-go runs it.
func (e *Exec) plugin() *api.ExecConfig {
	plugin := &api.ExecConfig{APIVersion: e.APIVersion, Command: e.Command, Args: e.Args}
	if plugin.APIVersion == "" {
		plugin.APIVersion = "client.authentication.k8s.io/v1"
	}
	for name, value := range e.Env {
		plugin.Env = append(plugin.Env, api.ExecEnvVar{Name: name, Value: value})
	}
	slices.SortFunc(plugin.Env, func(a, b api.ExecEnvVar) int { return strings.Compare(a.Name, b.Name) })
	return plugin
}

// onlyPod says that nothing is set that would mean another cluster than the one around this pod.
func (s settings) onlyPod() bool {
	return !s.hasCredentials() && !s.ca.set() && !s.insecure.set() && !s.tlsName.set() && !s.proxy.set()
}

// inCluster is the connection of a pod, or nil outside of one.
func inCluster(getenv func(string) string, directory string) *rest.Config {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	token := filepath.Join(directory, "token")
	if _, err := os.Stat(token); host == "" || port == "" || err != nil {
		return nil
	}
	return &rest.Config{
		Host:            "https://" + net.JoinHostPort(host, port),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(directory, "ca.crt")},
		BearerTokenFile: token,
	}
}

// nothingSet lists what would do. Neither ~/.kube/config nor localhost is ever assumed.
func nothingSet(getenv func(string) string) error {
	text := "no cluster is configured: set config_path (or KUBE_CONFIG_PATH), config_paths (or KUBE_CONFIG_PATHS), or host " +
		"(or KUBE_HOST) with token (or KUBE_TOKEN), client_certificate and client_key (or KUBE_CLIENT_CERT_DATA and " +
		"KUBE_CLIENT_KEY_DATA) or exec"
	if getenv("KUBECONFIG") != "" {
		text += "; KUBECONFIG is not read"
	}
	return &ConnectionError{Err: errors.New(text)}
}
