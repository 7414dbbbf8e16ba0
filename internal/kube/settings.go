package kube

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

// setting is a value and where it is from: "argument host", "environment variable KUBE_HOST".
type setting struct{ value, source string }

func (s setting) set() bool { return s.value != "" }

// settings is what arguments and environment say together: an argument beats a variable. Nothing in it is from a file.
type settings struct {
	paths                  []string
	pathsSource            string
	context, cluster, user setting
	host, ca, tlsName      setting
	insecure, proxy        setting
	token, cert, key       setting
	exec                   *Exec
}

// names of an argument and of its environment variable.
type names struct{ argument, variable string }

func (n names) ofArgument() string { return "argument " + n.argument }
func (n names) ofVariable() string { return "environment variable " + n.variable }

// settle puts arguments over environment and refuses what contradicts itself. Contradictions are looked for within one level
// only: between levels the order decides.
func (c Config) settle(getenv func(string) string) (settings, error) {
	pick := func(argument *string, n names) setting {
		if argument != nil && *argument != "" {
			return setting{*argument, n.ofArgument()}
		}
		return setting{getenv(n.variable), n.ofVariable()}
	}
	s := settings{
		context: pick(c.ConfigContext, names{"config_context", "KUBE_CTX"}),
		cluster: pick(c.ConfigContextCluster, names{"config_context_cluster", "KUBE_CTX_CLUSTER"}),
		user:    pick(c.ConfigContextAuthInfo, names{"config_context_auth_info", "KUBE_CTX_AUTH_INFO"}),
		host:    pick(c.Host, names{"host", "KUBE_HOST"}),
		tlsName: pick(c.TLSServerName, names{"tls_server_name", "KUBE_TLS_SERVER_NAME"}),
		proxy:   pick(c.ProxyURL, names{"proxy_url", "KUBE_PROXY_URL"}),
	}
	err := errors.Join(c.settlePaths(&s, getenv), c.settleTrust(&s, pick, getenv), c.settleCredentials(&s, pick), c.contexts(s))
	if err != nil {
		return settings{}, &ConnectionError{Err: err}
	}
	return s, nil
}

// settlePaths finds the kubeconfig files.
func (c Config) settlePaths(s *settings, getenv func(string) string) error {
	one, many := names{"config_path", "KUBE_CONFIG_PATH"}, names{"config_paths", "KUBE_CONFIG_PATHS"}
	home := func(paths ...string) []string { return expand(getenv, paths) }
	argument := valueOf(c.ConfigPath)
	switch {
	case argument != "" && len(c.ConfigPaths) > 0:
		return contradiction(one.ofArgument(), many.ofArgument(), "give one of them")
	case argument != "":
		s.paths, s.pathsSource = home(argument), one.ofArgument()
		return nil
	case len(c.ConfigPaths) > 0:
		s.paths, s.pathsSource = home(c.ConfigPaths...), many.ofArgument()
		return nil
	}
	path, list := getenv(one.variable), getenv(many.variable)
	switch {
	case path != "" && list != "" && path != list:
		return contradiction(one.ofVariable(), many.ofVariable(), "set one of them")
	case path != "":
		s.paths, s.pathsSource = home(path), one.ofVariable()
	case list != "":
		s.paths, s.pathsSource = home(filepath.SplitList(list)...), many.ofVariable()
	}
	return nil
}

// settleTrust finds how the server is verified: by an authority, or not at all.
func (c Config) settleTrust(s *settings, pick func(*string, names) setting, getenv func(string) string) error {
	ca, insecure := names{"cluster_ca_certificate", "KUBE_CLUSTER_CA_CERT_DATA"}, names{"insecure", "KUBE_INSECURE"}
	s.ca = pick(c.ClusterCACertificate, ca)
	fromEnvironment, err := truth(getenv(insecure.variable), insecure)
	switch {
	case c.Insecure != nil:
		s.insecure = setting{source: insecure.ofArgument()}
		if *c.Insecure {
			s.insecure.value = "true"
		}
	case err != nil:
		return err
	case fromEnvironment:
		s.insecure = setting{"true", insecure.ofVariable()}
	}
	if !s.ca.set() || !s.insecure.set() {
		return nil
	}
	caArgument, insecureArgument := s.ca.source == ca.ofArgument(), s.insecure.source == insecure.ofArgument()
	switch {
	case caArgument == insecureArgument:
		return contradiction(s.insecure.source, s.ca.source, "the server is verified by a certificate or not at all")
	case caArgument:
		s.insecure = setting{}
	default:
		s.ca = setting{}
	}
	return nil
}

// settleCredentials finds who we are. Credentials of an argument replace those of the environment as a whole.
func (c Config) settleCredentials(s *settings, pick func(*string, names) setting) error {
	token := names{"token", "KUBE_TOKEN"}
	cert, key := names{"client_certificate", "KUBE_CLIENT_CERT_DATA"}, names{"client_key", "KUBE_CLIENT_KEY_DATA"}
	hasToken, hasCert, hasKey := valueOf(c.Token) != "", valueOf(c.ClientCertificate) != "", valueOf(c.ClientKey) != ""
	given := hasToken || hasCert || hasKey || c.Exec != nil
	own := func(argument *string, n names) setting {
		if given && valueOf(argument) == "" {
			return setting{}
		}
		return pick(argument, n)
	}
	s.token, s.cert, s.key, s.exec = own(c.Token, token), own(c.ClientCertificate, cert), own(c.ClientKey, key), c.Exec
	if hasCert && !hasKey {
		s.key = pick(nil, key) // the pair may be given half and half
	}
	if hasKey && !hasCert {
		s.cert = pick(nil, cert)
	}
	switch {
	case s.exec != nil && s.token.set():
		return contradiction("argument exec", s.token.source, "give one of them")
	case s.exec != nil && (s.cert.set() || s.key.set()):
		return contradiction("argument exec", firstOf(s.cert, s.key).source, "give one of them")
	case s.cert.set() && !s.key.set():
		return &ConnectionError{Source: s.cert.source, Err: errors.New("client_key (or KUBE_CLIENT_KEY_DATA) is missing")}
	case s.key.set() && !s.cert.set():
		return &ConnectionError{Source: s.key.source, Err: errors.New("client_certificate (or KUBE_CLIENT_CERT_DATA) is missing")}
	case s.exec != nil && s.exec.Command == "":
		return &ConnectionError{Source: "argument exec", Err: errors.New("command is empty")}
	}
	return nil
}

// contexts refuses a choice among contexts when there is no kubeconfig that has any. Only arguments are looked at: a variable
// may have been exported for another tool.
func (c Config) contexts(s settings) error {
	if s.pathsSource != "" {
		return nil
	}
	for _, chosen := range []struct {
		value *string
		name  string
	}{
		{c.ConfigContext, "config_context"},
		{c.ConfigContextCluster, "config_context_cluster"},
		{c.ConfigContextAuthInfo, "config_context_auth_info"},
	} {
		if valueOf(chosen.value) != "" {
			return &ConnectionError{
				Source: "argument " + chosen.name,
				Err:    errors.New("there is no kubeconfig to choose from: set config_path or config_paths"),
			}
		}
	}
	return nil
}

func truth(value string, n names) (bool, error) {
	if value == "" {
		return false, nil
	}
	yes, err := strconv.ParseBool(value)
	if err != nil {
		return false, &ConnectionError{Source: n.ofVariable(), Err: errors.New("want true or false")}
	}
	return yes, nil
}

func contradiction(one, other, way string) error {
	return &ConnectionError{Source: one, Err: fmt.Errorf("contradicts %s: %s", other, way)}
}

func valueOf(argument *string) string {
	if argument == nil {
		return ""
	}
	return *argument
}

func firstOf(all ...setting) setting {
	for _, s := range all {
		if s.set() {
			return s
		}
	}
	return setting{}
}
