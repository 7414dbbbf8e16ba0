package testcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

// Cluster is one API server, with data of its own.
type Cluster struct {
	Name string // what it is in its pair: "management" or "hosted"
	URL  string // where the API server itself listens

	dir      string
	ca       *authority
	users    tokens
	server   *process.Process
	fixtures fixtures
	pristine Snapshot
	served   map[string]bool // the API groups of the pristine cluster
	audit    *Audit

	proxyMutex sync.Mutex
	proxy      *Proxy // nil until it is asked for

	clientsMutex sync.Mutex
	clients      map[string]*dynamic.DynamicClient
}

// newCluster starts an API server and brings it to its pristine state.
func newCluster(ctx context.Context, env *Environment, name, id string, wanted fixtures) (*Cluster, error) {
	dir := filepath.Join(env.dir, id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of the %s cluster: %w", name, err)
	}
	files, err := writeServerFiles(dir, env.ca, env.users)
	if err != nil {
		return nil, err
	}
	server, url, err := startAPIServer(ctx, env.etcdURL, "/"+id, files)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Name: name, URL: url, dir: dir, ca: env.ca, users: env.users, server: server, fixtures: wanted,
		audit:   &Audit{file: files.audit},
		clients: map[string]*dynamic.DynamicClient{},
	}
	if err := c.prepare(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("preparing the %s cluster: %w", name, err)
	}
	return c, nil
}

func (c *Cluster) prepare(ctx context.Context) error {
	if err := waitReady(ctx, c.server, c.URL, c.ca); err != nil {
		return err
	}
	if err := c.createFixtures(ctx); err != nil {
		return err
	}
	return c.rememberPristine(ctx)
}

// Close ends the API server and the proxy before it, and removes their files.
func (c *Cluster) Close() {
	c.proxyMutex.Lock()
	defer c.proxyMutex.Unlock()
	if c.proxy != nil {
		c.proxy.Close()
	}
	c.server.Kill() // a graceful end waits for watches, and what it saves is thrown away
	_ = os.RemoveAll(c.dir)
}

// REST is a client configuration for a user, without any limit on requests by the client itself.
func (c *Cluster) REST(user string) *rest.Config { return c.config(c.URL, user) }

func (c *Cluster) config(url, user string) *rest.Config {
	return &rest.Config{
		Host:            url,
		BearerToken:     c.token(user),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.PEM},
		QPS:             -1,
		WarningHandler:  rest.NoWarnings{}, // listing everything meets what is deprecated
	}
}

func (c *Cluster) token(user string) string {
	token, known := c.users[user]
	if !known {
		panic("testcluster: no such user: " + user) // a mistake in a test
	}
	return token
}

// Dynamic is a client for a user.
func (c *Cluster) Dynamic(user string) dynamic.Interface {
	c.clientsMutex.Lock()
	defer c.clientsMutex.Unlock()
	if client, known := c.clients[user]; known {
		return client
	}
	client, err := dynamic.NewForConfig(c.REST(user))
	if err != nil {
		panic(fmt.Sprintf("testcluster: making a client: %v", err)) // the configuration is made here
	}
	c.clients[user] = client
	return client
}

// discovery asks anew each time: what is served changes during a test.
func (c *Cluster) discovery() (*discovery.DiscoveryClient, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.REST(UserAdmin))
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	return client, nil
}

// Kubeconfig writes a kubeconfig for a user and returns its path. The file goes with the cluster.
func (c *Cluster) Kubeconfig(user string) string {
	return c.writeKubeconfig("kubeconfig-"+user, c.KubeconfigBytes(user))
}

// KubeconfigBytes is what Kubeconfig writes.
func (c *Cluster) KubeconfigBytes(user string) []byte { return c.kubeconfig(c.URL, user) }

// KubeconfigThroughProxy is Kubeconfig with the address of the proxy.
func (c *Cluster) KubeconfigThroughProxy(user string) string {
	return c.writeKubeconfig("kubeconfig-proxy-"+user, c.KubeconfigBytesThroughProxy(user))
}

// KubeconfigBytesThroughProxy is what KubeconfigThroughProxy writes.
func (c *Cluster) KubeconfigBytesThroughProxy(user string) []byte {
	return c.kubeconfig(c.Proxy().URL, user)
}

// KubeconfigBytesFor is a kubeconfig that says the cluster were at another address.
func (c *Cluster) KubeconfigBytesFor(url, user string) []byte { return c.kubeconfig(url, user) }

func (c *Cluster) kubeconfig(url, user string) []byte {
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: c.ca.PEM}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: c.token(user)}
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: user}
	config.CurrentContext = c.Name
	content, err := clientcmd.Write(*config)
	if err != nil {
		panic(fmt.Sprintf("testcluster: encoding a kubeconfig: %v", err)) // nothing in it can fail to encode
	}
	return content
}

func (c *Cluster) writeKubeconfig(name string, content []byte) string {
	file := filepath.Join(c.dir, name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		panic(fmt.Sprintf("testcluster: writing a kubeconfig: %v", err)) // the folder is ours; a test could only give up
	}
	return file
}

// Audit is the record of all requests to the API server.
func (c *Cluster) Audit() *Audit { return c.audit }

// Proxy is the cluster's fault proxy. It is started when it is first asked for.
func (c *Cluster) Proxy() *Proxy {
	c.proxyMutex.Lock()
	defer c.proxyMutex.Unlock()
	if c.proxy == nil {
		proxy, err := newProxy(c.URL, c.ca)
		if err != nil {
			panic(fmt.Sprintf("testcluster: starting a proxy: %v", err)) // no loopback port left: a test could only give up
		}
		c.proxy = proxy
	}
	return c.proxy
}

// resetProxy takes away what a test did to the proxy, if there is one.
func (c *Cluster) resetProxy() error {
	c.proxyMutex.Lock()
	defer c.proxyMutex.Unlock()
	if c.proxy == nil {
		return nil
	}
	c.proxy.Clear()
	return c.proxy.Start()
}
