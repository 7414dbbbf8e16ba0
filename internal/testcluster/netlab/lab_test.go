package netlab_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

const (
	domain = "demo.clusters.example.com"
	host   = "hello.apps." + domain

	operatorNamespace = "openshift-operators"
	ingressNamespace  = "openshift-ingress"

	firstVIP  = "198.51.100.200"
	secondVIP = "198.51.100.201"

	patience = 30 * time.Second // far more than anything takes
	arpWait  = 300 * time.Millisecond
)

var (
	services       = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	endpointSlices = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	metallbs       = schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "metallbs"}
	pools          = schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "ipaddresspools"}
	advertisements = schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "l2advertisements"}
)

// world is a hosted cluster with its workers in a lab, and MetalLB installed without OLM.
type world struct {
	*netlab.Lab

	t          *testing.T
	hosted     *testcluster.Cluster
	simulators *simulator.Simulators
}

func startWorld(t *testing.T) *world {
	t.Helper()
	needLab(t)
	pair := testcluster.Start(t)
	crds, err := testcluster.MetalLBCRDs()
	if err != nil {
		t.Fatal(err)
	}
	if err := pair.Hosted.InstallCRDs(t.Context(), crds...); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, hosted: pair.Hosted}
	began := time.Now()
	w.Lab, err = netlab.Start(t.Context(), netlab.Options{
		Hosted: pair.Hosted.REST(testcluster.UserSimulator), Kubeconfig: pair.Hosted.Kubeconfig(testcluster.UserMetalLB),
		Domain: domain, LogDir: t.TempDir(), Logf: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the lab took %s to start", time.Since(began).Round(time.Millisecond))
	t.Cleanup(w.Close)
	config := simulator.Config{
		Hosted: pair.Hosted.REST(testcluster.UserSimulator), Logf: t.Logf,
		MetalLB: &simulator.MetalLBOperatorOptions{WithoutCSV: true, Start: w.StartMetalLB},
	}
	for _, worker := range w.Workers {
		config.Workers = append(config.Workers, simulator.Node{Name: worker.Name})
	}
	if w.simulators, err = simulator.Start(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.simulators.Stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) api(kind schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	return w.hosted.Dynamic(testcluster.UserTest).Resource(kind).Namespace(namespace)
}

func (w *world) create(kind schema.GroupVersionResource, apiVersion, kindName, namespace, name string, annotations map[string]string,
	spec map[string]any,
) {
	w.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kindName, "metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}}
	u.SetAnnotations(annotations)
	if _, err := w.api(kind, namespace).Create(w.t.Context(), u, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("creating %s %s: %v", kindName, name, err)
	}
}

func (w *world) patch(kind schema.GroupVersionResource, namespace, name, patch string) {
	w.t.Helper()
	_, err := w.api(kind, namespace).Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		w.t.Fatalf("patching %s: %v", name, err)
	}
}

// publish does by hand what makes the router reachable.
func (w *world) publish() {
	w.t.Helper()
	w.create(metallbs, "metallb.io/v1beta1", "MetalLB", operatorNamespace, "metallb", nil, map[string]any{})
	w.create(pools, "metallb.io/v1beta1", "IPAddressPool", operatorNamespace, "apps", nil,
		map[string]any{"addresses": []any{firstVIP + "-" + firstVIP}, "autoAssign": false})
	w.create(advertisements, "metallb.io/v1beta1", "L2Advertisement", operatorNamespace, "advertise-apps", nil,
		map[string]any{"ipAddressPools": []any{"apps"}})
	w.create(services, "v1", "Service", ingressNamespace, "oooi-ingress",
		map[string]string{"metallb.io/address-pool": "apps", "metallb.universe.tf/address-pool": "apps"},
		map[string]any{
			"type":     "LoadBalancer",
			"selector": map[string]any{"ingresscontroller.operator.openshift.io/deployment-ingresscontroller": "default"},
			"ports": []any{
				map[string]any{"name": "http", "protocol": "TCP", "port": int64(80), "targetPort": "http"},
				map[string]any{"name": "https", "protocol": "TCP", "port": int64(443), "targetPort": "https"},
			},
		})
}

// eventually waits until a check holds, and says how long that took.
func eventually(t *testing.T, what string, check func(ctx context.Context) error) time.Duration {
	t.Helper()
	var last error
	began := time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v; last: %v", what, err, last)
	}
	took := time.Since(began).Round(time.Millisecond)
	t.Logf("until %s: %s", what, took)
	return took
}

// vip is the address that MetalLB gave the Service.
func (w *world) vip(ctx context.Context) string {
	service, err := w.api(services, ingressNamespace).Get(ctx, "oooi-ingress", metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	ingress, _, _ := unstructured.NestedSlice(service.Object, "status", "loadBalancer", "ingress")
	if len(ingress) == 0 {
		return "none"
	}
	entry, _ := ingress[0].(map[string]any)
	ip, _ := entry["ip"].(string)
	return ip
}

// get asks a URL from the VLAN, at an address.
func (w *world) get(ctx context.Context, url, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return get(ctx, w.Client, netlab.To(netip.MustParseAddr(address)), &tls.Config{RootCAs: w.CA}, url)
}

// owner is the worker that alone answers for an address on the VLAN.
func (w *world) owner(address string) (string, error) {
	w.t.Helper()
	answers, err := w.Client.WhoHas(w.t.Context(), netlab.VLANLink, netip.MustParseAddr(address), arpWait)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(answers) != 1 {
		return "", fmt.Errorf("%d hosts answer for %s", len(answers), address)
	}
	for _, worker := range w.Workers {
		if hardwareAddress(w.t, worker.Namespace).String() == answers[0].String() {
			return worker.Name, nil
		}
	}
	return "", fmt.Errorf("%s answers for %s, and is no worker", answers[0], address)
}

func hardwareAddress(t *testing.T, n *netlab.Namespace) (own net.HardwareAddr) {
	t.Helper()
	err := n.Do(func() error {
		link, err := net.InterfaceByName(netlab.VLANLink)
		if err == nil {
			own = link.HardwareAddr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// served checks that the router answers at an address, over both protocols, and returns the worker.
func (w *world) served(ctx context.Context, address string) (worker string, err error) {
	for _, scheme := range []string{"http", "https"} {
		text, err := w.get(ctx, scheme+"://"+host+"/", address)
		if err != nil {
			return "", err
		}
		rest, ok := strings.CutPrefix(text, "200 "+scheme+" "+host+" from ")
		if !ok {
			return "", errors.New(text)
		}
		worker = strings.TrimSpace(rest)
	}
	return worker, nil
}

func TestLoadBalancer(t *testing.T) {
	t.Parallel()
	w := startWorld(t)
	w.publish()
	eventually(t, "the Service has its address", func(ctx context.Context) error { return equal(w.vip(ctx), firstVIP) })
	eventually(t, "the router is reached", func(ctx context.Context) error {
		_, err := w.served(ctx, firstVIP)
		return err
	})
	// Until the speakers know of each other, each may believe it is alone.
	var owner string
	eventually(t, "the one worker that answers for the address serves", func(ctx context.Context) error {
		now, err := w.owner(firstVIP)
		if err != nil {
			return err
		}
		owner = now
		worker, err := w.served(ctx, firstVIP)
		return errors.Join(err, equal(worker, owner))
	})
	if text, err := w.get(t.Context(), "https://other."+domain+"/", firstVIP); err == nil {
		t.Errorf("the certificate is good for another name: %s", text)
	}
	if text, err := w.get(t.Context(), "http://other."+domain+"/", firstVIP); err != nil || !strings.HasPrefix(text, "503 ") {
		t.Errorf("an unknown host: %q, %v", text, err)
	}
	hidden := &tls.Config{RootCAs: w.CA, ServerName: "hidden.apps." + domain}
	text, err := get(t.Context(), w.Client, netlab.To(netip.MustParseAddr(firstVIP)), hidden, "https://"+host+"/")
	if want := "200 https " + host + " (SNI hidden.apps." + domain + ") from " + owner + "\n"; err != nil || text != want {
		t.Errorf("with another SNI: %q, %v", text, err)
	}
	if _, err := w.PodClient.Dial(t.Context(), "tcp", firstVIP+":80"); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("from the pod network: %v", err)
	}

	w.patch(pools, operatorNamespace, "apps", fmt.Sprintf(`{"spec":{"addresses":["%[1]s-%[1]s"]}}`, secondVIP))
	eventually(t, "the Service has its new address", func(ctx context.Context) error { return equal(w.vip(ctx), secondVIP) })
	eventually(t, "the router is reached at the new address", func(ctx context.Context) error {
		_, err := w.served(ctx, secondVIP)
		return err
	})
	if _, err := w.owner(secondVIP); err != nil {
		t.Error(err)
	}
	// The speaker that had the old address may be another than that with the new one, and hear of it later.
	eventually(t, "nobody answers for the old address", func(context.Context) error {
		_, err := w.owner(firstVIP)
		return equal(fmt.Sprint(err), "0 hosts answer for "+firstVIP)
	})
	if text, err := w.get(t.Context(), "http://"+host+"/", firstVIP); err == nil {
		t.Errorf("the old address answers: %s", text)
	}

	w.patch(services, ingressNamespace, "oooi-ingress", `{"spec":{"ports":[
		{"name":"http","protocol":"TCP","port":8080,"targetPort":"http"},
		{"name":"https","protocol":"TCP","port":8443,"targetPort":"https"}]}}`)
	eventually(t, "the router is reached at the new ports", func(ctx context.Context) error {
		_, err := w.get(ctx, "https://"+host+":8443/", secondVIP)
		return err
	})
	if _, err := w.get(t.Context(), "https://"+host+"/", secondVIP); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the old port: %v", err)
	}

	w.end()
}

// end takes the Service and MetalLB away and looks for what they leave.
func (w *world) end() {
	w.t.Helper()
	if err := w.api(services, ingressNamespace).Delete(w.t.Context(), "oooi-ingress", metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, "the endpoint slice is gone", func(ctx context.Context) error {
		_, err := w.api(endpointSlices, ingressNamespace).Get(ctx, "oooi-ingress-lab", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there, or: %w", err)
	})
	eventually(w.t, "nobody answers for the address", func(context.Context) error {
		_, err := w.owner(secondVIP)
		return equal(fmt.Sprint(err), "0 hosts answer for "+secondVIP)
	})
	if err := w.api(metallbs, operatorNamespace).Delete(w.t.Context(), "metallb", metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, "MetalLB is gone", func(ctx context.Context) error {
		_, err := w.api(metallbs, operatorNamespace).Get(ctx, "metallb", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there, or: %w", err)
	})
}

func TestFailover(t *testing.T) {
	t.Parallel()
	w := startWorld(t)
	w.publish()
	eventually(t, "the router is reached", func(ctx context.Context) error {
		_, err := w.served(ctx, firstVIP)
		return err
	})
	// Until the speakers know of each other, each may believe it is alone.
	var owner string
	eventually(t, "one worker owns the address", func(context.Context) (err error) {
		owner, err = w.owner(firstVIP)
		return err
	})

	if err := w.FailWorker(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if err := w.simulators.Nodes.SetReady(t.Context(), owner, false); err != nil {
		t.Fatal(err)
	}
	var next string
	eventually(t, "the other worker serves", func(ctx context.Context) (err error) {
		next, err = w.served(ctx, firstVIP)
		return err
	})
	if next == owner {
		t.Errorf("the worker that failed still serves")
	}
	if now, err := w.owner(firstVIP); err != nil || now != next {
		t.Errorf("%q answers for the address, %v; %s served", now, err, next)
	}
	eventually(t, "the dead worker is no ready endpoint", func(ctx context.Context) error {
		slice, err := w.api(endpointSlices, ingressNamespace).Get(ctx, "oooi-ingress-lab", metav1.GetOptions{})
		if err != nil {
			return err
		}
		endpoints, _, _ := unstructured.NestedSlice(slice.Object, "endpoints")
		for _, e := range endpoints {
			endpoint, _ := e.(map[string]any)
			if ready, _, _ := unstructured.NestedBool(endpoint, "conditions", "ready"); ready == (endpoint["nodeName"] == owner) {
				return fmt.Errorf("%v", endpoint)
			}
		}
		return nil
	})

	if err := w.RestoreWorker(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if err := w.simulators.Nodes.SetReady(t.Context(), owner, true); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the worker that came back owns the address again", func(context.Context) error {
		now, err := w.owner(firstVIP)
		return errors.Join(err, equal(now, owner))
	})
}

func equal(got, want string) error {
	if got != want {
		return fmt.Errorf("got %q, not %q", got, want)
	}
	return nil
}

// get asks a URL and returns the status code and the text.
func get(ctx context.Context, n *netlab.Namespace, lookup netlab.Lookup, config *tls.Config, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := n.HTTP(lookup, config).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, text), err
}
