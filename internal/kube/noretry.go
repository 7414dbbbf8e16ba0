package kube

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// withoutRetry sends every request once. Repeating is the wait helper's: it knows the deadline, tells of what it sees, and
// honours Retry-After itself.
type withoutRetry struct{ rest.Interface }

func (w withoutRetry) Verb(verb string) *rest.Request { return w.Interface.Verb(verb).MaxRetries(0) }

func (w withoutRetry) Post() *rest.Request { return w.Interface.Post().MaxRetries(0) }

func (w withoutRetry) Put() *rest.Request { return w.Interface.Put().MaxRetries(0) }

func (w withoutRetry) Patch(kind types.PatchType) *rest.Request {
	return w.Interface.Patch(kind).MaxRetries(0)
}

func (w withoutRetry) Get() *rest.Request { return w.Interface.Get().MaxRetries(0) }

func (w withoutRetry) Delete() *rest.Request { return w.Interface.Delete().MaxRetries(0) }
