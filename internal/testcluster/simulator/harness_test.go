package simulator_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// binFolder holds what internal/tools/build.sh builds.
const binFolder = "../../../bin"

const token = "simulator-tests"

// cluster is the one API server of this package's tests; it plays both clusters.
var cluster struct {
	config     *rest.Config
	client     dynamic.Interface
	kubeconfig string
	missing    string // why there is none
}

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	for _, needed := range []string{"etcd", "kube-apiserver", "metallb-controller", "crds"} {
		if _, err := os.Stat(filepath.Join(binFolder, needed)); err != nil {
			cluster.missing = "build it with internal/tools/build.sh: " + err.Error()
			return m.Run()
		}
	}
	dir, err := os.MkdirTemp("", "simulator-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop, err := startCluster(ctx, dir)
	defer stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting an API server:", err)
		return 1
	}
	return m.Run()
}

// startCluster starts etcd and an API server and installs the CRDs that are there before any operator is.
func startCluster(ctx context.Context, dir string) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	ports := make([]int, 3)
	for i := range ports {
		if ports[i], err = port(); err != nil {
			return stop, err
		}
	}
	etcd := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	end, err := program(dir, "etcd", "--data-dir", filepath.Join(dir, "data"), "--listen-client-urls", etcd,
		"--advertise-client-urls", etcd, "--listen-peer-urls", fmt.Sprintf("http://127.0.0.1:%d", ports[1]), "--unsafe-no-fsync")
	if err != nil {
		return stop, err
	}
	stops = append(stops, end)
	key, err := writeFiles(dir)
	if err != nil {
		return stop, err
	}
	end, err = program(dir, "kube-apiserver", "--etcd-servers", etcd, "--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112",
		"--secure-port", fmt.Sprint(ports[2]), "--bind-address=127.0.0.1", "--cert-dir", filepath.Join(dir, "certs"),
		"--service-account-issuer=https://issuer.example.com", "--service-account-key-file", key,
		"--service-account-signing-key-file", key, "--token-auth-file", filepath.Join(dir, "tokens"),
		"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount", "--allow-privileged")
	if err != nil {
		return stop, err
	}
	stops = append(stops, end)
	cluster.config = &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", ports[2]), BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	if cluster.client, err = dynamic.NewForConfig(cluster.config); err != nil {
		return stop, err
	}
	cluster.kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(kubeconfigFor(cluster.config), cluster.kubeconfig); err != nil {
		return stop, err
	}
	return stop, installCRDs(ctx)
}

func kubeconfigFor(config *rest.Config) clientcmdapi.Config {
	return clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, InsecureSkipTLSVerify: true}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: config.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}
}

func writeFiles(dir string) (key string, err error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	key = filepath.Join(dir, "sa.key")
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	tokens := []byte(token + `,admin,admin,"system:masters"` + "\n")
	return key, errors.Join(os.WriteFile(key, block, 0o600), os.WriteFile(filepath.Join(dir, "tokens"), tokens, 0o600))
}

// program runs one of the servers until the answered function is called.
func program(dir, name string, args ...string) (func(), error) {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(binFolder, name), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		defer log.Close()
		runtime.LockOSThread() // the death signal belongs to the thread
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Kill()
		<-ended
	}, nil
}

func port() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// installCRDs waits for the API server and gives it OLM's kinds and HostedCluster.
func installCRDs(ctx context.Context) error {
	crds, err := readCRDs("olm")
	if err != nil {
		return err
	}
	crds = append(crds, minimalCRD("hypershift.openshift.io", "v1beta1", "HostedCluster", "hostedclusters"))
	api := cluster.client.Resource(crdResource)
	for _, crd := range crds {
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := api.Create(ctx, crd, metav1.CreateOptions{})
			if apierrors.IsInvalid(err) {
				return false, err
			}
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("installing %s: %w", crd.GetName(), err)
		}
	}
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := cluster.client.Resource(hostedClusters).List(ctx, metav1.ListOptions{})
		_, errSubs := cluster.client.Resource(subscriptions).List(ctx, metav1.ListOptions{})
		_, errNS := cluster.client.Resource(namespaces).Get(ctx, "default", metav1.GetOptions{})
		return err == nil && errSubs == nil && errNS == nil, nil
	})
}

func readCRDs(folder string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(binFolder, "crds", folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var crds []*unstructured.Unstructured
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if u.GetKind() == "CustomResourceDefinition" {
				unstructured.RemoveNestedField(u.Object, "status")
				crds = append(crds, u)
			}
		}
	}
	return crds, nil
}

// metalLBCRDs are MetalLB's own and the kind of metallb-operator.
func metalLBCRDs(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	crds, err := readCRDs("metallb")
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		unstructured.RemoveNestedField(crd.Object, "spec", "conversion") // nobody serves its webhook
	}
	return append(crds, minimalCRD("metallb.io", "v1beta1", "MetalLB", "metallbs"))
}

func minimalCRD(group, version, kind, plural string) *unstructured.Unstructured {
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": plural, "singular": strings.ToLower(kind), "listKind": kind + "List"},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": open, "status": open},
				}},
			}},
		},
	}}
}

// needCluster skips without an API server, and afterwards removes what the test left and looks for leaked goroutines.
func needCluster(t *testing.T) {
	t.Helper()
	if cluster.missing != "" {
		t.Skip(cluster.missing)
	}
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		sweep(t)
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		goleak.VerifyNone(t, ignore,
			// The connections of the API clients stay open for reuse, one pool for all.
			goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
			goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
			goleak.IgnoreAnyFunction("net/http.(*http2clientConnReadLoop).run"))
	})
}

// sweep removes all objects of the kinds that tests make; nobody answers finalizers any more.
func sweep(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	for _, resource := range []schema.GroupVersionResource{
		subscriptions, csvs, installPlans, catalogSources, operatorGroups, metallbs, pools, advertisements, hostedClusters, nodes, services,
	} {
		found, err := cluster.client.Resource(resource).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for i := range found.Items {
			u := &found.Items[i]
			if resource == services && u.GetName() == "kubernetes" {
				continue
			}
			api := cluster.client.Resource(resource).Namespace(u.GetNamespace())
			if len(u.GetFinalizers()) > 0 {
				_, err := api.Patch(ctx, u.GetName(), "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				if err != nil && !apierrors.IsNotFound(err) {
					t.Error(err)
				}
			}
			if err := api.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}
}
