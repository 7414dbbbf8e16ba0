package appsingress

import (
	"fmt"
	"strings"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// StepError is the failure of one step of Ensure or Remove, with the story that led to it.
type StepError struct {
	Step, Of int    // 1-based position among the steps; 0 of 0: before the first one, nothing was changed
	Name     string // the step's name, "address pool"
	Object   string // the object it was about, "Service openshift-ingress/oooi-ingress in hosted cluster clusters/demo"
	Last     string // the last state that a wait without end has seen; empty when nothing was waited for
	Events   []string
	Elapsed  time.Duration // spent in this step
	Done     []StepTime    // the steps before it
	Exists   []string      // the objects of this ingress that exist now
	Refused  bool          // found before the first write: nothing was changed
	Blind    bool          // the hosted cluster could not be looked at
	Err      error
}

// StepTime is a step that was completed, and how long it took.
type StepTime struct {
	Name    string
	Elapsed time.Duration
}

func (e *StepError) Error() string {
	if e.Of == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("step %d of %d, %s: %v", e.Step, e.Of, e.Name, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// OwnershipError refuses to write to something that this ingress did not make.
type OwnershipError struct {
	Cluster string
	Object  string // "Service openshift-ingress/oooi-ingress"
	Entry   string // the entry of a list in the object; empty: the object as a whole
	Owner   string // id of the ingress whose mark it carries; empty: it carries none
	// Conflicts are the fields that differ from what is wanted, with who set them; may be empty.
	Conflicts []kube.FieldConflict
}

func (e *OwnershipError) Error() string {
	subject := e.Object
	if e.Entry != "" {
		subject = "the entry " + e.Entry + " of " + e.Object
	}
	if e.Owner != "" {
		return fmt.Sprintf("%s in the %s belongs to the apps ingress %s", subject, e.Cluster, e.Owner)
	}
	parts := []string{fmt.Sprintf("%s in the %s exists and was not made by this apps ingress", subject, e.Cluster)}
	for _, c := range e.Conflicts {
		parts = append(parts, fmt.Sprintf("%s is set by %s", c.Field, c.Manager))
	}
	return strings.Join(parts, "; ")
}

// ConfigError is a value of the configuration that cannot work with what is in the clusters. Nothing was changed.
type ConfigError struct {
	Attribute string // path of the attribute, "metallb.ip_address_pool_range"
	Problem   string // what was seen, naming both sides
	Remedy    string // what to do
}

func (e *ConfigError) Error() string { return e.Problem + "; " + e.Remedy }

// HostedClusterGoneError says that the HostedCluster object does not exist, or is being deleted and has no API any more.
type HostedClusterGoneError struct {
	HostedCluster NamespacedName
	Deleting      string // since when it is being deleted; empty: it does not exist
	Err           error
}

func (e *HostedClusterGoneError) Error() string {
	if e.Deleting != "" {
		return fmt.Sprintf("HostedCluster %s is being deleted and its API does not answer", e.HostedCluster)
	}
	return fmt.Sprintf("HostedCluster %s does not exist", e.HostedCluster)
}

func (e *HostedClusterGoneError) drift() []Difference {
	found := missing("HostedCluster "+e.HostedCluster.String(), AffectsAddress|AffectsOperator)
	if e.Deleting != "" {
		found[0].Field, found[0].Got, found[0].Want = "metadata.deletionTimestamp", e.Deleting, ""
	}
	return found
}

func (e *HostedClusterGoneError) Unwrap() error { return e.Err }

// FailedError is a state that no waiting repairs, in the words of the object that reported it.
type FailedError struct {
	Object  string
	Reason  string
	Message string
	Remedy  string
}

func (e *FailedError) Error() string {
	text := e.Object + " failed"
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}
