package appsingress

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// resolutionGrace is how long OLM may report that it cannot resolve a Subscription before it is believed: the condition comes
// and goes while catalogs start.
const resolutionGrace = time.Minute

// olmVerdict judges a Subscription over time.
type olmVerdict struct {
	unresolvedSince time.Time
}

func (v *olmVerdict) subscription(obj *unstructured.Unstructured) (kube.Verdict, error) {
	if obj == nil {
		return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "the Subscription is not there"), nil
	}
	if installedCSV(obj) != "" {
		return kube.Done(), nil
	}
	if err := givenUp(obj); err != nil {
		return kube.Verdict{}, err
	}
	if err := v.resolution(obj); err != nil {
		return kube.Verdict{}, err
	}
	return subscriptionPending(obj), nil
}

// givenUp is the error of an installation that OLM does not try again.
func givenUp(subscription *unstructured.Unstructured) error {
	for _, failure := range []string{"InstallPlanFailed", "BundleUnpackFailed"} {
		if condition, status := conditionStatus(subscription, failure); status == "True" {
			return olmFailure(subscription, failure, condition)
		}
	}
	return nil
}

// resolution is the error of a resolution that has failed for longer than the grace period.
func (v *olmVerdict) resolution(obj *unstructured.Unstructured) error {
	condition, status := conditionStatus(obj, "ResolutionFailed")
	if status != "True" {
		v.unresolvedSince = time.Time{}
		return nil
	}
	if v.unresolvedSince.IsZero() {
		v.unresolvedSince = time.Now()
	}
	if time.Since(v.unresolvedSince) < resolutionGrace {
		return nil
	}
	return olmFailure(obj, "ResolutionFailed", condition)
}

// subscriptionPending says what OLM is doing, or what it waits for.
func subscriptionPending(obj *unstructured.Unstructured) kube.Verdict {
	for _, conditionType := range []string{"ResolutionFailed", "InstallPlanPending", "BundleUnpacking", "CatalogSourcesUnhealthy"} {
		condition, status := conditionStatus(obj, conditionType)
		if status != "True" {
			continue
		}
		if reason, _ := condition["reason"].(string); reason == "RequiresApproval" {
			return kube.Pending(string(ReasonWaitingForMetalLBCRDs),
				"InstallPlan %s has to be approved: the approval of its Subscription is not Automatic",
				installPlan(obj))
		}
		return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "%s: %v %v", conditionType, condition["reason"], condition["message"])
	}
	state, _, _ := unstructured.NestedString(obj.Object, "status", "state")
	if state == "" {
		state = "no state yet"
	}
	return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "Subscription: %s", state)
}

func installPlan(subscription *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(subscription.Object, "status", "installPlanRef", "name")
	return name
}

func olmFailure(subscription *unstructured.Unstructured, reason string, condition map[string]any) error {
	message, _ := condition["message"].(string)
	if r, _ := condition["reason"].(string); r != "" && r != reason {
		reason += " " + r
	}
	object := kube.Ref{Resource: subscriptionKind(), Namespace: subscription.GetNamespace(), Name: subscription.GetName()}.String()
	return &FailedError{Object: object, Reason: reason, Message: message}
}

func csvSucceeded(csv *unstructured.Unstructured) (kube.Verdict, error) {
	if csv == nil {
		return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "the ClusterServiceVersion is not there"), nil
	}
	message, _, _ := unstructured.NestedString(csv.Object, "status", "message")
	reason, _, _ := unstructured.NestedString(csv.Object, "status", "reason")
	switch phase := csvPhase(csv); phase {
	case "Succeeded":
		return kube.Done(), nil
	case "Failed":
		object := kube.Ref{Resource: csvKind(), Namespace: csv.GetNamespace(), Name: csv.GetName()}.String()
		return kube.Verdict{}, &FailedError{Object: object, Reason: reason, Message: message}
	default:
		return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "ClusterServiceVersion %s: %s %s", csv.GetName(), phase, message), nil
	}
}
