package kube

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is an API resource as its caller knows it: with the plural and the kind both given, no discovery is asked.
type Resource struct {
	schema.GroupVersionResource

	Kind string
}

// NewResource builds a Resource from its "group/version" (or "v1"), plural and kind.
func NewResource(groupVersion, plural, kind string) Resource {
	gv, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		panic(err) // a constant of this program is wrong
	}
	return Resource{GroupVersionResource: gv.WithResource(plural), Kind: kind}
}

// Ref names one object of a cluster. Namespace is empty for cluster-scoped kinds.
type Ref struct {
	Resource  Resource
	Namespace string
	Name      string
}

// String is "Kind namespace/name", or "Kind name" for a cluster-scoped object: the way messages name objects.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Resource.Kind + " " + r.Name
	}
	return r.Resource.Kind + " " + r.Namespace + "/" + r.Name
}

// Object is an empty object of this reference, with apiVersion, kind, name and namespace set.
func (r Ref) Object() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(r.Resource.GroupVersion().String())
	obj.SetKind(r.Resource.Kind)
	obj.SetNamespace(r.Namespace)
	obj.SetName(r.Name)
	return obj
}
