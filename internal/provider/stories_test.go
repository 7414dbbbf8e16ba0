package provider

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// The paths of the objects of an ingress.
const (
	pathHostedCluster = "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters/hostedclusters/demo"
	pathKubeconfig    = "/api/v1/namespaces/clusters/secrets/demo-admin-kubeconfig"
	pathDNS           = "/apis/hostedcluster.densityops.com/v1alpha1/namespaces/clusters/dnsservers/shared-dns"
	pathProxy         = "/apis/hostedcluster.densityops.com/v1alpha1/namespaces/clusters/proxyservers/shared-proxy"
	pathNode          = "/api/v1/nodes/worker-1"
	pathOLM           = "/apis/operators.coreos.com/v1alpha1/namespaces/openshift-operators"
	pathGroup         = "/apis/operators.coreos.com/v1/namespaces/openshift-operators/operatorgroups/"
	pathCatalog       = "/apis/operators.coreos.com/v1alpha1/namespaces/openshift-marketplace/catalogsources/redhat-operators"
	pathSubscription  = pathOLM + "/subscriptions/metallb-operator"
	pathCSV           = pathOLM + "/clusterserviceversions/metallb-operator.v4.18.0"
	pathMetalLB       = "/apis/metallb.io/v1beta1/namespaces/openshift-operators"
	pathPool          = pathMetalLB + "/ipaddresspools/apps"
	pathAdvertisement = pathMetalLB + "/l2advertisements/advertise-apps"
	pathService       = "/api/v1/namespaces/openshift-ingress/services/oooi-ingress"
)

// stage is two clusters in which an ingress is made without a hitch, unless a story changes something.
type stage struct {
	management, hosted *paperAPI
	spec               appsingress.Spec
	verb               verb
	budget             time.Duration
}

func newStage(t *testing.T) *stage {
	t.Helper()
	addresses, err := addresspool.Parse("192.0.2.200-192.0.2.220")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{management: newPaperAPI(t), hosted: newPaperAPI(t), verb: verbCreate, budget: time.Minute}
	s.spec = appsingress.Spec{
		Namespace: "clusters", Name: "demo", Mode: appsingress.ModeDirect,
		HostedCluster: appsingress.NamespacedName{Namespace: "clusters", Name: "demo"},
		Publish:       appsingress.Publish{DNSServer: "shared-dns", ProxyServer: "shared-proxy"},
		Domain:        appsingress.Domain{ClusterName: "demo", BaseDomain: "example.com"},
		Ports:         appsingress.Ports{HTTP: 80, HTTPS: 443},
		MetalLB: appsingress.MetalLB{
			Namespace: "openshift-operators", Install: true, AddressPoolName: "apps", Range: addresses, RangeText: addresses.String(),
			L2AdvertisementName: "advertise-apps",
			Subscription: appsingress.Subscription{
				Channel: "stable", Source: "redhat-operators", SourceNamespace: "openshift-marketplace", Package: "metallb-operator",
			},
		},
		Service: appsingress.Service{Namespace: "openshift-ingress", Name: "oooi-ingress", ExternalTrafficPolicy: "Cluster"},
	}
	s.furnish()
	return s
}

// furnish puts into both clusters what an ingress needs, and has controllers answer at once.
func (s *stage) furnish() {
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n", s.hosted.url)
	s.management.put(pathHostedCluster, "HostedCluster", object{"status": object{"kubeconfig": object{"name": "demo-admin-kubeconfig"}}})
	s.management.put(pathKubeconfig, "Secret", object{"data": object{
		"kubeconfig": base64.StdEncoding.EncodeToString([]byte(kubeconfig)),
	}})
	s.management.put(pathDNS, "DNSServer", object{"spec": object{"staticEntries": []any{}}})
	s.management.put(pathProxy, "ProxyServer", object{"spec": object{"backends": []any{object{"name": "other"}}}})
	s.hosted.put(pathNode, "Node", object{"status": object{"conditions": []any{object{"type": "Ready", "status": "True"}}}})
	s.hosted.put(pathGroup+"global-operators", "OperatorGroup", nil)
	s.hosted.put(pathCatalog, "CatalogSource", nil)
	s.hosted.put(pathCSV, "ClusterServiceVersion", object{
		"metadata": object{"labels": object{"app.kubernetes.io/managed-by": "terraform-provider-oooi"}},
		"status":   object{"phase": "Succeeded"},
	})
	s.subscription(object{"installedCSV": "metallb-operator.v4.18.0", "state": "AtLatestKnown"})
	s.hosted.written[pathService] = func(o object) {
		o["status"] = object{"loadBalancer": object{"ingress": []any{object{"ip": "192.0.2.200"}}}}
	}
}

// subscription is the status that OLM gives the Subscription, with the CSV it installs.
func (s *stage) subscription(status object) {
	csv := s.hosted.objects[pathCSV]
	s.hosted.written[pathSubscription] = func(o object) {
		o["status"] = status
		s.hosted.objects[pathCSV] = csv
	}
}

func condition(conditionType, reason, message string) object {
	return object{"conditions": []any{object{"type": conditionType, "status": "True", "reason": reason, "message": message}}}
}

// engine connects to the stage's management cluster.
func (s *stage) engine(t *testing.T) engine {
	t.Helper()
	e, err := connect(kube.Config{Host: &s.management.url})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// play runs the verb to its error. Times are made up: what a run takes differs.
func (s *stage) play(t *testing.T) diag.Diagnostics {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), s.budget)
	defer cancel()
	var err error
	driver := s.engine(t).Driver(s.spec, nil)
	switch s.verb {
	case verbRead:
		_, err = driver.Observe(ctx)
	case verbDelete:
		_, err = driver.Remove(ctx)
	case verbCreate, verbUpdate, verbImport:
		_, err = driver.Ensure(ctx)
	}
	if err == nil {
		t.Fatal("it succeeded")
	}
	op := operation{verb: s.verb, spec: s.spec, budget: 30 * time.Minute}
	return failed(op, madeUp(op, err), err)
}

// madeUp replaces the times in an error, and is the whole time.
func madeUp(op operation, err error) time.Duration {
	whole := 12 * time.Second
	if errors.Is(err, context.DeadlineExceeded) {
		whole = op.budget
	}
	spent := time.Duration(0)
	var step *appsingress.StepError
	if errors.As(err, &step) {
		for i := range step.Done {
			step.Done[i].Elapsed = time.Second
			spent += time.Second
		}
		step.Elapsed = whole - spent
	}
	var timeout *kube.TimeoutError
	if errors.As(err, &timeout) {
		timeout.Elapsed, timeout.Attempts = whole-spent, 180
	}
	return whole
}

// story is how an ingress comes to nothing.
type story struct {
	name string
	set  func(s *stage)
}

// tell plays the stories and compares all their texts with one golden file.
func tell(t *testing.T, file string, stories []story) {
	t.Helper()
	texts := make([]string, len(stories))
	t.Run("stories", func(t *testing.T) {
		for i, story := range stories {
			t.Run(story.name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				story.set(s)
				texts[i] = fmt.Sprintf("=== %s\n%s\n", story.name, printed(s.play(t)))
			})
		}
	})
	golden(t, file, anonymous(strings.Join(texts, "")))
}

// What differs from run to run: ports, and which of several reads that are made side by side fails first.
var (
	loopback = regexp.MustCompile(`127\.0\.0\.1:\d+[^"\s]*[^"\s:]`)
	anyRead  = regexp.MustCompile(`Cause: (get|list) [^:]+ in the hosted cluster`)
)

func anonymous(text string) string {
	text = loopback.ReplaceAllString(text, "127.0.0.1:6443")
	return anyRead.ReplaceAllString(text, "Cause: get Service openshift-ingress/oooi-ingress in the hosted cluster")
}

// A story for each step that never gets there.
func TestStoriesOfTimeouts(t *testing.T) {
	const unwell = "the server is currently unable to handle the request"
	late := func(set func(s *stage)) func(*stage) {
		return func(s *stage) { s.budget = 1500 * time.Millisecond; set(s) }
	}
	tell(t, "stories_timeouts", []story{
		{"kubeconfig", late(func(s *stage) { s.management.put(pathHostedCluster, "HostedCluster", nil) })},
		{"worker", late(func(s *stage) { s.hosted.put(pathNode, "Node", nil) })},
		{"operator", late(func(s *stage) {
			s.subscription(condition("BundleUnpacking", "JobIncomplete", "unpack job not completed"))
			s.hosted.put("/api/v1/namespaces/openshift-operators/events/e", "Event", object{
				"type": "Warning", "reason": "ResolutionDelayed", "message": "a catalog is not ready",
				"involvedObject": object{"uid": "uid-of-metallb-operator"},
			})
		})},
		{"approval", late(func(s *stage) {
			status := condition("InstallPlanPending", "RequiresApproval", "")
			status["installPlanRef"] = object{"name": "install-ca8a7"}
			s.subscription(status)
		})},
		{"MetalLB", late(func(s *stage) { s.hosted.unknown = []string{"/apis/metallb.io/"} })},
		{"address pool", late(func(s *stage) {
			s.hosted.answer("PATCH "+pathPool, http.StatusInternalServerError, metav1.StatusReasonInternalError,
				`Internal error occurred: failed calling webhook "ipaddresspoolvalidationwebhook.metallb.io": connection refused`)
		})},
		{"service", late(func(s *stage) {
			s.hosted.answer("PATCH "+pathService, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, unwell)
		})},
		{"endpoint", late(func(s *stage) {
			s.hosted.written[pathService] = nil
			s.hosted.put("/api/v1/namespaces/openshift-ingress/events/e", "Event", object{
				"type": "Warning", "reason": "AllocationFailed", "involvedObject": object{"uid": "uid-of-oooi-ingress"},
				"message": `Failed to allocate IP for "openshift-ingress/oooi-ingress": no available IPs`,
			})
		})},
		{"publication", late(func(s *stage) {
			s.management.answer("PUT "+pathProxy, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, unwell)
		})},
		{"removal", late(func(s *stage) {
			s.verb = verbDelete
			s.hosted.put(pathService, "Service", object{"metadata": object{
				"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"example.com/keep"},
				"annotations": object{"oooi.densityops.com/apps-ingress": "clusters/demo"},
			}})
			s.hosted.answer("DELETE "+pathService, http.StatusNotFound, metav1.StatusReasonNotFound, "it is being deleted already")
		})},
	})
}

// printed is a diagnostic as golden files hold it.
func printed(diags diag.Diagnostics) string {
	var text strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&text, "%s: %s\n", d.Severity(), d.Summary())
		if at, ok := d.(diag.DiagnosticWithPath); ok {
			fmt.Fprintf(&text, "at %s\n", at.Path())
		}
		fmt.Fprintf(&text, "\n%s\n", d.Detail())
	}
	return text.String()
}

// A story for each state that no waiting repairs.
func TestStoriesOfFailures(t *testing.T) {
	tell(t, "stories_failures", []story{
		{"the bundle cannot be unpacked", func(s *stage) {
			s.subscription(condition("BundleUnpackFailed", "BundleUnpackFailed", "Job was active longer than specified deadline"))
		}},
		{"the InstallPlan failed", func(s *stage) {
			s.subscription(condition("InstallPlanFailed", "InstallComponentFailed", "quota exceeded"))
		}},
		{"the CSV failed", func(s *stage) {
			s.hosted.objects[pathCSV]["status"] = object{"phase": "Failed", "reason": "ComponentUnhealthy", "message": "no image"}
		}},
		{"a webhook denies", func(s *stage) {
			s.hosted.answer("PATCH "+pathPool, http.StatusForbidden, metav1.StatusReasonForbidden,
				`admission webhook "ipaddresspoolvalidationwebhook.metallb.io" denied the request: CIDR overlaps`)
		}},
		{"a right is missing", func(s *stage) {
			s.hosted.answer("PATCH "+pathService, http.StatusForbidden, metav1.StatusReasonForbidden,
				`services "oooi-ingress" is forbidden: User "u" cannot patch resource "services" in API group ""`)
		}},
		{"the DNSServer goes under way", func(s *stage) {
			set := s.hosted.written[pathService]
			s.hosted.written[pathService] = func(o object) {
				set(o)
				s.management.mu.Lock()
				defer s.management.mu.Unlock()
				delete(s.management.objects, pathDNS)
			}
		}},
		{"the last backends", func(s *stage) {
			s.verb = verbDelete
			s.management.put(pathProxy, "ProxyServer", object{
				"metadata": object{"annotations": object{
					"oooi.densityops.com/apps-ingress-d959ad1ceb": "clusters/demo",
				}},
				"spec": object{"backends": []any{object{"name": "demo-apps-http"}, object{"name": "demo-apps-https"}}},
			})
		}},
	})
}

// A story for each way in which a cluster is not reached.
func TestStoriesOfConnections(t *testing.T) {
	tell(t, "stories_connections", []story{
		{"the HostedCluster does not exist", func(s *stage) { delete(s.management.objects, pathHostedCluster) }},
		{"the kubeconfig's Secret does not exist", func(s *stage) { delete(s.management.objects, pathKubeconfig) }},
		{"the Secret lacks the key", func(s *stage) { s.management.put(pathKubeconfig, "Secret", object{"data": object{}}) }},
		{"the Secret's kubeconfig is malformed", func(s *stage) {
			s.management.put(pathKubeconfig, "Secret", object{"data": object{"kubeconfig": "e30ge30="}})
		}},
		{"the context does not exist", func(s *stage) { s.spec.Access.ConfigContext = "other" }},
		{"the file does not exist", func(s *stage) { s.spec.Access.ConfigPath = "/does/not/exist" }},
		{"a read without kubeconfig", func(s *stage) {
			s.verb = verbRead
			s.management.put(pathHostedCluster, "HostedCluster", nil)
		}},
		{"a read of a hosted cluster that refuses", func(s *stage) {
			s.verb, s.spec.Access.Host = verbRead, "http://127.0.0.1:1"
		}},
	})

	dir := t.TempDir()
	malformed, empty := filepath.Join(dir, "malformed"), filepath.Join(dir, "other")
	one := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'https://a.example.com'}}]\n" +
		"users: [{name: u, user: {}}]\ncontexts: [{name: a, context: {cluster: a, user: u}}]\n"
	for file, content := range map[string]string{malformed: "{", empty: one} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	missing, other := filepath.Join(dir, "missing"), "other"
	var texts strings.Builder
	for _, c := range []struct {
		name   string
		config kube.Config
	}{
		{"nothing is set", kube.Config{}},
		{"the file does not exist", kube.Config{ConfigPath: &missing}},
		{"the file is malformed", kube.Config{ConfigPath: &malformed}},
		{"the context does not exist", kube.Config{ConfigPath: &empty, ConfigContext: &other}},
	} {
		management := kube.NewCluster("management cluster", c.config.Loader(func(string) string { return "" }))
		_, err := (&clusterEngine{management: management}).ClusterUID(t.Context())
		fmt.Fprintf(&texts, "=== %s\n%s\n", c.name, printed(diag.Diagnostics{clusterUnread(verbCreate, err)}))
	}
	golden(t, "stories_management", strings.ReplaceAll(texts.String(), dir, "/home/user"))
}
