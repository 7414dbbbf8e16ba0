package testcluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// fixtures is what a pristine cluster has beyond what an API server makes by itself.
type fixtures struct {
	crds    []*unstructured.Unstructured
	objects []fixture // in the order in which they can be created
}

type fixture struct {
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
}

// key is the object's key in a Snapshot.
func (f fixture) key() string {
	return snapshotKey(f.resource, f.object.GetNamespace(), f.object.GetName())
}

// allFixtures are those of the management and those of the hosted cluster.
func allFixtures() (management, hosted fixtures, err error) {
	if management.crds, err = managementCRDs(); err != nil {
		return management, hosted, err
	}
	if hosted.crds, err = olmCRDs(); err != nil {
		return management, hosted, err
	}
	management.objects = []fixture{namespace("clusters")}
	hosted.objects = []fixture{
		namespace("openshift-operators"), namespace("openshift-marketplace"), namespace("openshift-ingress"),
		operatorGroup("openshift-operators", "global-operators"),
		catalogSource("openshift-marketplace", "redhat-operators"),
	}
	return management, hosted, nil
}

func namespace(name string) fixture {
	return fixture{resource: namespaceResource, object: newObject("v1", "Namespace", "", name)}
}

// operatorGroup is one that selects all namespaces.
func operatorGroup(namespace, name string) fixture {
	object := newObject("operators.coreos.com/v1", "OperatorGroup", namespace, name)
	object.Object["spec"] = map[string]any{}
	return fixture{
		resource: schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1", Resource: "operatorgroups"},
		object:   object,
	}
}

func catalogSource(namespace, name string) fixture {
	object := newObject("operators.coreos.com/v1alpha1", "CatalogSource", namespace, name)
	object.Object["spec"] = map[string]any{
		"sourceType": "grpc", "image": "registry.example.com/redhat-operator-index:v4", "displayName": "Red Hat Operators",
	}
	return fixture{
		resource: schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "catalogsources"},
		object:   object,
	}
}

func newObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// createFixtures creates those that are not there.
func (c *Cluster) createFixtures(ctx context.Context) error {
	if err := c.InstallCRDs(ctx, c.fixtures.crds...); err != nil {
		return err
	}
	for _, wanted := range c.fixtures.objects {
		client := c.Dynamic(UserAdmin).Resource(wanted.resource).Namespace(wanted.object.GetNamespace())
		_, err := client.Create(ctx, wanted.object, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %s: %w", wanted.key(), err)
		}
	}
	return nil
}
