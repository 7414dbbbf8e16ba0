package kube

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Error is what every method of a Cluster returns. Unwrap gives the error of the API server or of the connection.
// Its text names the request and the cluster, and never a credential.
type Error struct {
	Verb    string // get, list, watch, apply, patch, update, delete
	Ref     Ref    // without a name when a collection was asked for
	Cluster string
	Err     error
}

// Error is "get Service a/b in the hosted cluster clusters/demo: ...". A 403 also says which permission is missing, unless an
// admission webhook has refused what the user may do.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s in the %s: ", e.Verb, e.subject(), e.Cluster)
	if IsForbidden(e) && !isWebhookDenial(e) {
		text += "not allowed to " + e.permission() + ": "
	}
	return text + e.Err.Error()
}

// Unwrap is the error of the API server or of the connection.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) subject() string {
	switch {
	case e.Ref.Name != "":
		return e.Ref.String()
	case e.Ref.Namespace != "":
		return e.Ref.Resource.Kind + " in namespace " + e.Ref.Namespace
	default:
		return e.Ref.Resource.Kind
	}
}

// permission is the access rule that the request needs: verb, resource with its group, namespace.
func (e *Error) permission() string {
	verb := e.Verb
	if verb == verbApply {
		verb = verbPatch
	}
	text := verb + " " + e.Ref.Resource.GroupResource().String()
	if e.Ref.Namespace != "" {
		text += " in namespace " + e.Ref.Namespace
	}
	return text
}

// silence is a request that got no answer within the time this package gives it, while its caller had more. It does not
// unwrap: nobody's context but ours has ended.
type silence struct {
	after time.Duration
	err   error
}

func (s *silence) Error() string { return fmt.Sprintf("no answer within %s: %v", s.after, s.err) }

// FieldConflict is one field that another manager owns, from a refused server-side apply.
type FieldConflict struct {
	Field   string // ".spec.type"
	Manager string // empty when the server's text cannot be read
	Message string // the server's own words
}

// IsApplyConflict names the fields that a server-side apply without force was refused for; nil when it is another error.
func IsApplyConflict(err error) []FieldConflict {
	status, ok := statusOf(err)
	if !ok || status.Details == nil || status.Reason != metav1.StatusReasonConflict {
		return nil
	}
	var conflicts []FieldConflict
	for _, cause := range status.Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		conflicts = append(conflicts, FieldConflict{Field: cause.Field, Manager: managerIn(cause.Message), Message: cause.Message})
	}
	return conflicts
}

// managerIn takes the manager out of `conflict with "kubectl" using v1`: the status carries it nowhere else.
func managerIn(message string) string {
	var manager string
	if _, err := fmt.Sscanf(message, "conflict with %q", &manager); err != nil {
		return ""
	}
	return manager
}

// statusOf is the API server's answer to this very request. An answer to another request, made while the connection was being
// configured (the Secret with the kubeconfig is absent), is none: it says nothing about the object asked for.
func statusOf(err error) (metav1.Status, bool) {
	var connection *ConnectionError
	if errors.As(err, &connection) {
		return metav1.Status{}, false
	}
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return metav1.Status{}, false
	}
	return api.Status(), true
}
