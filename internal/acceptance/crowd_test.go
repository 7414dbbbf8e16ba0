package acceptance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// member is the name of the ingress that has the n-th address.
func member(n int) string { return fmt.Sprintf("member-%d", n) }

func memberIP(n int) string { return fmt.Sprintf("203.0.113.%d", n+1) }

// byPool gives each Service the address that its pool is named after.
func byPool(service *unstructured.Unstructured) []simulator.Ingress {
	var n int
	if _, err := fmt.Sscanf(service.GetAnnotations()["metallb.io/address-pool"], "member-%d", &n); err != nil {
		return nil
	}
	return []simulator.Ingress{{IP: memberIP(n)}}
}

// crowded checks that the shared lists have the entries of so many ingresses, each exactly once, and nothing else but what was
// there before.
func (w *world) crowded(size int) {
	w.t.Helper()
	got := map[string]int{}
	for _, entry := range list(w.management.must(dnsServers, "clusters", dnsName), "spec", "staticEntries") {
		got[fmt.Sprint(entry["hostname"], " ", entry["ip"])]++
	}
	for _, entry := range list(w.management.must(proxyServers, "clusters", proxyName), "spec", "backends") {
		got[fmt.Sprint(entry["name"], " ", entry["hostname"], " ", entry["targetService"], " ", entry["port"])]++
	}
	want := []string{"api.other." + baseDomain + " 198.51.100.9", "other-api api.other." + baseDomain + " kube-apiserver 6443"}
	for n := range size {
		name := "*.apps." + member(n) + "." + baseDomain
		want = append(want, name+" "+memberIP(n),
			member(n)+"-apps-http "+name+" "+memberIP(n)+" 80", member(n)+"-apps-https "+name+" "+memberIP(n)+" 443")
	}
	for _, entry := range want {
		if got[entry] != 1 {
			w.t.Errorf("%d ingresses: %q is there %d times", size, entry, got[entry])
		}
		delete(got, entry)
	}
	for entry := range got {
		w.t.Errorf("%d ingresses: %q is left", size, entry)
	}
}

// Ten ingresses in one configuration, made and removed side by side.
func TestCrowd(t *testing.T) {
	const size = 10
	w := newWorld(t, func(s *setup) { s.answer = byPool })
	each := "each.key"
	config := w.config(
		set("for_each", fmt.Sprintf(`toset([for n in range(%d) : "member-${n}"])`, size)),
		set("name", each), set("dns.cluster_name", each), set("service.name", each), set("metallb.address_pool_name", each),
		set("metallb.ip_address_pool_range", `"203.0.113.${tonumber(trimprefix(each.key, "member-")) + 1}/32"`),
	)
	config, _, _ = strings.Cut(config, `resource "terraform_data"`) // it follows a single one
	c := newCLI(t, config)
	c.apply("-parallelism=50")
	w.crowded(size)
	c.unchanged()
	c.destroy("-parallelism=50")
	w.crowded(0)
}

// process is what one provider process has: ingresses of one process take turns at shared lists, processes do not.
type process struct {
	management *kube.Cluster
	clusters   *kube.Clusters
}

func (w *world) process() process {
	load := func(context.Context) (*rest.Config, error) {
		return w.pair.Management.REST(testcluster.UserProvider), nil
	}
	return process{kube.NewCluster("management cluster", load), &kube.Clusters{}}
}

// A hundred, fifty at a time, from several processes: nobody's entries are lost, and none are left.
func TestCrowdOfHundred(t *testing.T) {
	const size, parallelism = 100, 50
	w := newWorld(t, func(s *setup) { s.answer = byPool })
	w.settled()
	processes := []process{w.process(), w.process(), w.process(), w.process()}
	everyone := func(what string, act func(ctx context.Context, driver appsingress.Driver) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(w.hosted.ctx(), 5*time.Minute)
		defer cancel()
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(parallelism)
		for n := range size {
			group.Go(func() error { return act(ctx, processes[n%len(processes)].driver(n)) })
		}
		if err := group.Wait(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	everyone("creating", func(ctx context.Context, driver appsingress.Driver) error {
		_, err := driver.Ensure(ctx)
		return err
	})
	w.crowded(size)
	everyone("refreshing", func(ctx context.Context, driver appsingress.Driver) error {
		status, err := driver.Observe(ctx)
		if len(status.Drift) > 0 {
			return fmt.Errorf("drift: %v", status.Drift)
		}
		return err
	})
	everyone("removing", func(ctx context.Context, driver appsingress.Driver) error {
		_, err := driver.Remove(ctx)
		return err
	})
	w.crowded(0)
	if left := w.hosted.get(subscriptions, "openshift-operators", "metallb-operator"); left != nil {
		t.Errorf("the Subscription is left: %v", left.Object["metadata"])
	}
}

// driver is that of the n-th ingress of a crowd.
func (p process) driver(n int) appsingress.Driver {
	name := member(n)
	addresses, err := addresspool.Parse(memberIP(n) + "/32")
	if err != nil {
		panic(err) // the text is made here
	}
	return appsingress.New(p.management, p.clusters, appsingress.Spec{
		Namespace:     appsingress.DefaultNamespace,
		Name:          name,
		Mode:          appsingress.ModeDirect,
		Publish:       appsingress.Publish{DNSServer: dnsName, ProxyServer: proxyName},
		HostedCluster: appsingress.NamespacedName{Namespace: "clusters", Name: clusterName},
		Domain:        appsingress.Domain{ClusterName: name, BaseDomain: baseDomain},
		MetalLB: appsingress.MetalLB{
			Namespace: appsingress.DefaultMetalLBNamespace,
			Install:   true,
			Subscription: appsingress.Subscription{
				Channel: appsingress.DefaultChannel, Source: appsingress.DefaultSource,
				SourceNamespace: appsingress.DefaultSourceNamespace, Package: appsingress.DefaultPackage,
			},
			AddressPoolName: name, Range: addresses, RangeText: memberIP(n) + "/32",
			L2AdvertisementName: appsingress.DefaultL2AdvertisementName(name),
		},
		Service: appsingress.Service{
			Namespace: appsingress.DefaultServiceNamespace, Name: name,
			ExternalTrafficPolicy: appsingress.DefaultExternalTrafficPolicy,
		},
		Ports: appsingress.Ports{HTTP: appsingress.DefaultHTTPPort, HTTPS: appsingress.DefaultHTTPSPort},
	}, nil)
}
