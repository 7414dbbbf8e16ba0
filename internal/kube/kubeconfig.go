package kube

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Overrides of a kubeconfig's cluster; the zero value changes nothing.
type Overrides struct {
	Host                 string // the kubeconfig's own TLS server name stays the one that is verified
	TLSServerName        string
	ClusterCACertificate string // PEM
	Insecure             bool
	ProxyURL             string
	UserAgent            string
}

// FromKubeconfig reads a kubeconfig: of a file, or of the Secret of a hosted cluster. source names it in errors, which are
// *ConnectionError; an empty context is the kubeconfig's current one.
func FromKubeconfig(data []byte, source, context string, o Overrides) (*rest.Config, error) {
	parsed, err := parseKubeconfig(data, source)
	if err != nil {
		return nil, err
	}
	return o.connect(parsed, source, context)
}

// FromKubeconfigFile is FromKubeconfig for a file: "~" is the home directory, and relative paths inside are relative to the file.
func FromKubeconfigFile(
	getenv func(string) string, path, source, context string, o Overrides,
) (*rest.Config, error) {
	path = strings.Join(expand(getenv, []string{path}), "")
	data, err := readFile(path, source)
	if err != nil {
		return nil, err
	}
	source += " (" + path + ")"
	parsed, err := parseKubeconfig(data, source)
	if err != nil {
		return nil, err
	}
	for _, cluster := range parsed.Clusters {
		cluster.LocationOfOrigin = path
	}
	for _, user := range parsed.AuthInfos {
		user.LocationOfOrigin = path
	}
	if err := clientcmd.ResolveLocalPaths(parsed); err != nil {
		return nil, &ConnectionError{Source: source, Err: err}
	}
	return o.connect(parsed, source, context)
}

func (o Overrides) connect(parsed *api.Config, source, context string) (*rest.Config, error) {
	target, err := choose(parsed, choice{source: source, context: context})
	if err != nil {
		return nil, err
	}
	o.apply(target.cluster)
	if o.ClusterCACertificate != "" {
		target.authoritySource = "certificate authority given in place of that of " + source
	}
	config, err := target.connect()
	if err != nil {
		return nil, err
	}
	config.UserAgent = o.UserAgent
	return config, nil
}

func (o Overrides) apply(cluster *api.Cluster) {
	if o.Host != "" {
		if cluster.TLSServerName == "" {
			cluster.TLSServerName = tlsNameOf(cluster.Server)
		}
		cluster.Server = withScheme(o.Host)
	}
	if o.TLSServerName != "" {
		cluster.TLSServerName = o.TLSServerName
	}
	if o.ProxyURL != "" {
		cluster.ProxyURL = o.ProxyURL
	}
	trust(cluster, o.ClusterCACertificate, o.Insecure)
}

// trust sets how the server is verified. Neither given changes nothing; an authority turns verification on again.
func trust(cluster *api.Cluster, ca string, insecure bool) {
	switch {
	case ca != "":
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = []byte(ca), ""
		cluster.InsecureSkipTLSVerify = false
	case insecure:
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, ""
		cluster.InsecureSkipTLSVerify = true
	}
}

// tlsNameOf is the name that a server's certificate is verified against when nothing else is said.
func tlsNameOf(server string) string {
	parsed, err := url.Parse(server)
	if err != nil || parsed.Scheme != "https" {
		return ""
	}
	return parsed.Hostname()
}

// withScheme is https unless the user says otherwise: a credential does not go over plain HTTP by accident.
func withScheme(host string) string {
	if strings.Contains(host, "://") {
		return host
	}
	return "https://" + host
}

// parseKubeconfig never passes on what the parsers say: they quote what they read.
func parseKubeconfig(data []byte, source string) (*api.Config, error) {
	parsed, err := clientcmd.Load(data)
	if err != nil {
		return nil, &ConnectionError{Source: source, Err: errors.New("not a kubeconfig: malformed" + lineIn(err))}
	}
	if len(parsed.Clusters)+len(parsed.Contexts)+len(parsed.AuthInfos) == 0 { // one of several files may have users only
		return nil, &ConnectionError{Source: source, Err: errors.New("not a kubeconfig: it has no clusters, contexts and users")}
	}
	return parsed, nil
}

func lineIn(err error) string {
	if line := regexp.MustCompile(`line \d+`).FindString(err.Error()); line != "" {
		return " at " + line
	}
	return ""
}

// choice says which cluster and user of a kubeconfig are meant.
type choice struct {
	source                 string // of the kubeconfig
	context, cluster, user string // empty: the current context, and what the context says
	anonymous              bool   // credentials come from elsewhere
}

// target is one cluster and one user: copies, free to be changed.
type target struct {
	source          string
	authoritySource string // where the certificate authority comes from, when that is not the source
	userSource      string // the same of the credentials

	cluster *api.Cluster
	user    *api.AuthInfo
}

// choose finds cluster and user. What is not there is named together with what is.
func choose(config *api.Config, c choice) (target, error) {
	missing := func(kind, name string, known []string) error {
		slices.Sort(known)
		return &ConnectionError{Source: c.source, Err: fmt.Errorf("no %s %q (there is: %s)", kind, name, listed(known))}
	}
	name := c.context
	if name == "" {
		name = config.CurrentContext
	}
	clusterName, userName := c.cluster, c.user
	if context := config.Contexts[name]; context != nil {
		clusterName, userName = orElse(clusterName, context.Cluster), orElse(userName, context.AuthInfo)
	} else if c.context != "" || clusterName == "" {
		if name == "" {
			return target{}, &ConnectionError{
				Source: c.source,
				Err: fmt.Errorf("no current context, and none is chosen (there is: %s)",
					listed(slices.Sorted(maps.Keys(config.Contexts)))),
			}
		}
		return target{}, missing("context", name, slices.Collect(maps.Keys(config.Contexts)))
	}
	cluster := config.Clusters[clusterName]
	if cluster == nil {
		return target{}, missing("cluster", clusterName, slices.Collect(maps.Keys(config.Clusters)))
	}
	user := config.AuthInfos[userName]
	switch {
	case c.anonymous || userName == "":
		user = api.NewAuthInfo()
	case user == nil:
		return target{}, missing("user", userName, slices.Collect(maps.Keys(config.AuthInfos)))
	}
	return target{source: c.source, cluster: cluster.DeepCopy(), user: user.DeepCopy()}, nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func orElse(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

// connect turns the target into a configuration. Certificates are read now rather than watched: after a 401 all is read again.
func (t target) connect() (*rest.Config, error) {
	if t.cluster.Server == "" {
		return nil, &ConnectionError{Source: t.source, Err: errors.New("the cluster has no server")}
	}
	if err := t.checkURLs(); err != nil {
		return nil, err
	}
	if err := t.readFiles(); err != nil {
		return nil, err
	}
	if err := t.checkCertificates(); err != nil {
		return nil, err
	}
	if t.user.Exec != nil {
		// A provider has no terminal. Saying so also satisfies API version v1, which wants it said.
		t.user.Exec.InteractiveMode = api.NeverExecInteractiveMode
	}
	const only = "only"
	config := api.NewConfig()
	config.Clusters[only], config.AuthInfos[only] = t.cluster, t.user
	config.Contexts[only] = &api.Context{Cluster: only, AuthInfo: only}
	connection, err := clientcmd.NewNonInteractiveClientConfig(*config, only, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, &ConnectionError{Source: t.source, Err: err}
	}
	return connection, nil
}

// checkURLs refuses what cannot be parsed, without quoting it: user and password may be part of a URL.
func (t target) checkURLs() error {
	for _, part := range []struct{ what, text string }{{"server", t.cluster.Server}, {"proxy URL", t.cluster.ProxyURL}} {
		if parsed, err := url.Parse(part.text); part.text != "" && (err != nil || parsed.Host == "") {
			return &ConnectionError{Source: t.source, Err: fmt.Errorf("the %s of the cluster is not a URL", part.what)}
		}
	}
	return nil
}

// checkCertificates refuses what is no PEM: client-go does not say where it came from.
func (t target) checkCertificates() error {
	authority, user := t.cluster.CertificateAuthorityData, t.user
	if len(authority) > 0 && !x509.NewCertPool().AppendCertsFromPEM(authority) {
		return &ConnectionError{
			Source: orElse(t.authoritySource, t.source), Err: errors.New("the certificate authority has no certificate in PEM form"),
		}
	}
	if len(user.ClientCertificateData) == 0 || len(user.ClientKeyData) == 0 {
		return nil
	}
	if _, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData); err != nil {
		return &ConnectionError{
			Source: orElse(t.userSource, t.source), Err: errors.New("the client certificate and its key are not a pair in PEM form"),
		}
	}
	return nil
}

func (t target) readFiles() error {
	for _, file := range []struct {
		path *string
		data *[]byte
	}{
		{&t.cluster.CertificateAuthority, &t.cluster.CertificateAuthorityData},
		{&t.user.ClientCertificate, &t.user.ClientCertificateData},
		{&t.user.ClientKey, &t.user.ClientKeyData},
	} {
		if *file.path == "" || len(*file.data) > 0 {
			continue
		}
		data, err := readFile(*file.path, t.source)
		if err != nil {
			return err
		}
		*file.path, *file.data = "", data
	}
	return nil
}
