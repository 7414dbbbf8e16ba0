package simulator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// startOLM starts OLM and, when wanted, a worker.
func startOLM(t *testing.T, workers []simulator.Node, edits ...func(*simulator.OLMOptions)) *fixture {
	t.Helper()
	options := simulator.OLMOptions{CRDs: metalLBCRDs(t)}
	for _, edit := range edits {
		edit(&options)
	}
	return start(t, func(pair *testcluster.Pair, config *simulator.Config) {
		config.Hosted, config.OLM, config.Workers = pair.Hosted.REST(testcluster.UserSimulator), &options, workers
	})
}

func metalLBCRDs(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	crds, err := testcluster.MetalLBCRDs()
	if err != nil {
		t.Fatal(err)
	}
	return crds
}

func worker() []simulator.Node { return []simulator.Node{{Name: "worker-0"}} }

func (f *fixture) subscriptionIs(what string, want state) *unstructured.Unstructured {
	f.t.Helper()
	return f.eventually(subscriptions, operatorNamespace, "metallb-operator", what, want)
}

func (f *fixture) csvIs(name, what string, want state) *unstructured.Unstructured {
	f.t.Helper()
	return f.eventually(csvs, operatorNamespace, name, what, want)
}

func TestOLMInstalls(t *testing.T) {
	s := startOLM(t, nil)
	s.create(subscriptions, subscription())
	s.subscriptionIs("the bundle unpacks", condition("BundleUnpacking", "True", "JobIncomplete"))
	s.steadily(subscriptions, operatorNamespace, "metallb-operator", "nothing is planned without a worker",
		field("", "status", "currentCSV"))

	if err := s.Nodes.Add(t.Context(), worker()...); err != nil {
		t.Fatal(err)
	}
	s.csvIs(defaultCSV, "Succeeded", field("Succeeded", "status", "phase"))
	sub := s.subscriptionIs("installed", field(defaultCSV, "status", "installedCSV"))
	if !field("AtLatestKnown", "status", "state")(sub) || !field(defaultCSV, "status", "currentCSV")(sub) ||
		!condition("CatalogSourcesUnhealthy", "False", "AllCatalogSourcesHealthy")(sub) {
		t.Errorf("status of the Subscription: %v", sub.Object["status"])
	}
	planName, _, _ := unstructured.NestedString(sub.Object, "status", "installPlanRef", "name")
	s.eventually(installPlans, operatorNamespace, planName, "complete plan", field("Complete", "status", "phase"))

	var order []simulator.Event
	for _, m := range s.Timeline().Moments() {
		order = append(order, m.Event)
	}
	want := []simulator.Event{simulator.SubscriptionSeen, simulator.WorkerReady, simulator.CRDsServed, simulator.CSVSucceeded}
	if !slices.Equal(order, want) {
		t.Errorf("timeline %v, want %v", order, want)
	}
}

func TestOLMManualApprovalAndUpgrade(t *testing.T) {
	s := startOLM(t, worker())
	s.create(subscriptions, subscription(func(spec map[string]any) {
		spec["installPlanApproval"] = "Manual"
		spec["startingCSV"] = "metallb-operator.v4.17.3"
	}))
	approve := func(csv string) {
		t.Helper()
		sub := s.subscriptionIs("a plan to approve", func(u *unstructured.Unstructured) bool {
			return field(csv, "status", "currentCSV")(u) && condition("InstallPlanPending", "True", "RequiresApproval")(u) &&
				field("UpgradePending", "status", "state")(u)
		})
		name, _, _ := unstructured.NestedString(sub.Object, "status", "installPlanRef", "name")
		s.eventually(installPlans, operatorNamespace, name, "RequiresApproval", field("RequiresApproval", "status", "phase"))
		s.patch(installPlans, operatorNamespace, name, `{"spec":{"approved":true}}`)
		s.csvIs(csv, "Succeeded", field("Succeeded", "status", "phase"))
		s.subscriptionIs("installed", field(csv, "status", "installedCSV"))
	}
	approve("metallb-operator.v4.17.3")

	s.OLM.OfferUpgrade("metallb-operator.v4.18.1")
	s.subscriptionIs("an upgrade beside the installed CSV", func(u *unstructured.Unstructured) bool {
		return field("metallb-operator.v4.17.3", "status", "installedCSV")(u) && field("UpgradePending", "status", "state")(u)
	})
	s.csvIs("metallb-operator.v4.17.3", "still Succeeded", field("Succeeded", "status", "phase"))
	approve("metallb-operator.v4.18.1")
	s.csvIs("metallb-operator.v4.17.3", "replaced", gone)
}

func TestOLMLeavesCSV(t *testing.T) {
	s := startOLM(t, worker())
	s.create(subscriptions, subscription())
	s.csvIs(defaultCSV, "Succeeded", field("Succeeded", "status", "phase"))
	s.subscriptionIs("installed", field(defaultCSV, "status", "installedCSV"))
	s.delete(subscriptions, operatorNamespace, "metallb-operator")
	s.steadily(csvs, operatorNamespace, defaultCSV, "the CSV stays", field("Succeeded", "status", "phase"))

	s.create(subscriptions, subscription())
	sub := s.subscriptionIs("an orphan in the way", condition("ResolutionFailed", "True", "ConstraintsNotSatisfiable"))
	if field(defaultCSV, "status", "installedCSV")(sub) {
		t.Error("the orphan was taken over")
	}
	s.delete(csvs, operatorNamespace, defaultCSV)
	s.csvIs(defaultCSV, "installed once the orphan is gone", field("Succeeded", "status", "phase"))
	s.subscriptionIs("installed", field(defaultCSV, "status", "installedCSV"))

	s.delete(csvs, operatorNamespace, defaultCSV)
	s.steadily(csvs, operatorNamespace, defaultCSV, "a deleted CSV is not brought back", gone)
}

func TestOLMCannotResolve(t *testing.T) {
	s := startOLM(t, worker())
	for what, test := range map[string]struct {
		edit    func(spec map[string]any)
		says    string
		missing bool
	}{
		"catalog": {func(s map[string]any) { s["source"] = "mirror" }, "catalog mirror in namespace openshift-marketplace", true},
		"package": {func(s map[string]any) { s["name"] = "metalllb" }, "package metalllb", false},
		"channel": {func(s map[string]any) { s["channel"] = "4.2" }, "channel 4.2 of package metallb-operator", false},
		"csv":     {func(s map[string]any) { s["startingCSV"] = "other.v1" }, "name other.v1", false},
	} {
		s.create(subscriptions, subscription(test.edit))
		sub := s.subscriptionIs("failed resolution: "+what, condition("ResolutionFailed", "True", "ConstraintsNotSatisfiable"))
		if message := conditionMessage(sub, "ResolutionFailed"); !strings.Contains(message, test.says) {
			t.Errorf("%s: message %q does not name %q", what, message, test.says)
		}
		if got := condition("CatalogSourcesUnhealthy", "True", "")(sub); got != test.missing {
			t.Errorf("%s: catalog unhealthy: %v, want %v", what, got, test.missing)
		}
		s.delete(subscriptions, operatorNamespace, "metallb-operator")
	}
}

func conditionMessage(u *unstructured.Unstructured, kind string) string {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range all {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			message, _ := m["message"].(string)
			return message
		}
	}
	return ""
}

// Each failure shows as OLM shows it, and once it is over the same Subscription installs.
func TestOLMFailures(t *testing.T) {
	failure := &simulator.Failure{Reason: "Because", Message: "it does not work"}
	brief := &simulator.Failure{Reason: "Because", Message: "it does not work yet", For: 300 * time.Millisecond}
	for what, test := range map[string]struct {
		faults simulator.OLMFaults
		shows  func(*unstructured.Unstructured) bool
		csv    func(*unstructured.Unstructured) bool
		lasts  bool
	}{
		"resolution": {simulator.OLMFaults{ResolutionFailed: failure}, condition("ResolutionFailed", "True", "Because"), gone, true},
		"resolution for a time": {
			simulator.OLMFaults{ResolutionFailed: brief}, condition("ResolutionFailed", "True", "Because"), there, false,
		},
		"unpack": {simulator.OLMFaults{BundleUnpackFailed: failure}, condition("BundleUnpackFailed", "True", "Because"), gone, true},
		"plan":   {simulator.OLMFaults{InstallPlanFailed: failure}, condition("InstallPlanFailed", "True", "Because"), gone, true},
		"csv": {
			simulator.OLMFaults{CSVFailed: failure}, field(defaultCSV, "status", "installedCSV"), field("Failed", "status", "phase"), true,
		},
		"held": {simulator.OLMFaults{Hold: simulator.StageResolve}, field("", "status", "state"), gone, true},
		"no status": {
			simulator.OLMFaults{NoStatus: true},
			field("", "status", "state"),
			func(u *unstructured.Unstructured) bool { return u != nil && u.Object["status"] == nil }, true,
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := startOLM(t, worker())
			s.OLM.SetFaults(test.faults)
			s.create(subscriptions, subscription())
			s.subscriptionIs("the failure", test.shows)
			s.csvIs(defaultCSV, "the CSV in the failure", test.csv)
			if test.lasts {
				s.steadily(csvs, operatorNamespace, defaultCSV, "the failure lasts", test.csv)
				s.OLM.SetFaults(simulator.OLMFaults{})
			}
			s.csvIs(defaultCSV, "installed after all", field("Succeeded", "status", "phase"))
			sub := s.subscriptionIs("installed after all", field("AtLatestKnown", "status", "state"))
			for _, kind := range []string{"ResolutionFailed", "BundleUnpackFailed", "InstallPlanFailed"} {
				if condition(kind, "True", "")(sub) {
					t.Errorf("%s is still true", kind)
				}
			}
		})
	}
}

func TestOLMUnpackTimesOut(t *testing.T) {
	s := startOLM(t, nil, func(o *simulator.OLMOptions) { o.UnpackTimeout = 100 * time.Millisecond })
	s.create(subscriptions, subscription())
	s.subscriptionIs("the unpack Job timed out", condition("BundleUnpackFailed", "True", "BundleUnpackFailed"))
	if err := s.Nodes.Add(t.Context(), worker()...); err != nil {
		t.Fatal(err)
	}
	s.eventually(nodes, "", "worker-0", "Ready", condition("Ready", "True", ""))
	s.steadily(subscriptions, operatorNamespace, "metallb-operator", "a worker that comes late does not help",
		condition("BundleUnpackFailed", "True", ""))
}

func TestOLMCopiesAndOptions(t *testing.T) {
	s := startOLM(t, worker(), func(o *simulator.OLMOptions) {
		o.CopyTo = []string{"default"}
		o.ReinstallCSV = true
		o.AdoptOrphans = true
	})
	if err := s.OLM.OrphanCSV(t.Context(), operatorNamespace); err != nil {
		t.Fatal(err)
	}
	s.create(subscriptions, subscription())
	s.subscriptionIs("the orphan adopted", field(defaultCSV, "status", "installedCSV"))
	s.eventually(csvs, "default", defaultCSV, "a copy", func(u *unstructured.Unstructured) bool {
		return u != nil && u.GetLabels()["olm.copiedFrom"] == operatorNamespace && field("Copied", "status", "reason")(u)
	})
	first := s.csvIs(defaultCSV, "Succeeded", field("Succeeded", "status", "phase"))
	s.delete(csvs, operatorNamespace, defaultCSV)
	s.csvIs(defaultCSV, "brought back", func(u *unstructured.Unstructured) bool {
		return u != nil && u.GetUID() != first.GetUID() && field("Succeeded", "status", "phase")(u)
	})
}
