package testcluster

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

const (
	servedTimeout = 3 * time.Minute // a busy machine with few cores, several servers starting at once
	askPoll       = 20 * time.Millisecond
)

//go:embed crds/*.yaml
var ownCRDs embed.FS

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// managementCRDs are those of oooi and HyperShift.
func managementCRDs() ([]*unstructured.Unstructured, error) {
	return ownManifests("infras", "infraclusterattachments", "dnsservers", "proxyservers", "hostedclusters")
}

// olmCRDs are OLM's own.
func olmCRDs() ([]*unstructured.Unstructured, error) {
	folder, err := built("crds", "olm")
	if err != nil {
		return nil, err
	}
	return manifests(os.DirFS(folder), "*.yaml")
}

// MetalLBCRDs are MetalLB's own CRDs, and the MetalLB kind of its operator. No pristine cluster has them: installing the
// operator brings them.
func MetalLBCRDs() ([]*unstructured.Unstructured, error) {
	folder, err := built("crds", "metallb")
	if err != nil {
		return nil, err
	}
	crds, err := manifests(os.DirFS(folder), "*.yaml")
	if err != nil {
		return nil, err
	}
	operator, err := ownManifests("metallbs")
	return append(crds, operator...), err
}

func ownManifests(names ...string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, name := range names {
		found, err := manifests(ownCRDs, "crds/"+name+".yaml")
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// manifests reads files with one object each.
func manifests(from fs.FS, pattern string) ([]*unstructured.Unstructured, error) {
	files, err := fs.Glob(from, pattern)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("looking for CRDs in %s: %d files: %w", pattern, len(files), err)
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		content, err := fs.ReadFile(from, file)
		if err != nil {
			return nil, fmt.Errorf("reading a CRD: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(content, &object.Object); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", filepath.Base(file), err)
		}
		all = append(all, object)
	}
	return all, nil
}

// InstallCRDs creates CRDs that are not there yet, and returns when the API serves them all.
func (c *Cluster) InstallCRDs(ctx context.Context, crds ...*unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, crd := range crds {
		group.Go(func() error {
			_, err := c.Dynamic(UserAdmin).Resource(crdResource).Create(ctx, crd, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating CRD %s: %w", crd.GetName(), err)
			}
			return c.waitServed(ctx, crd)
		})
	}
	return group.Wait()
}

// waitServed asks for the objects of a new kind until that is answered: conditions of the CRD come a moment earlier.
func (c *Cluster) waitServed(ctx context.Context, crd *unstructured.Unstructured) error {
	for _, resource := range crdResources(crd) {
		var last error
		err := wait.PollUntilContextTimeout(ctx, askPoll, servedTimeout, true, func(ctx context.Context) (bool, error) {
			_, last = c.Dynamic(UserAdmin).Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting until %s is served: %w (last answer: %w)", resource.GroupResource(), err, last)
		}
	}
	return nil
}

// crdResources are the resources that a CRD makes the API serve, one for each version.
func crdResources(crd *unstructured.Unstructured) []schema.GroupVersionResource {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var all []schema.GroupVersionResource
	for _, version := range versions {
		if fields, ok := version.(map[string]any); ok && fields["served"] == true {
			name, _, _ := unstructured.NestedString(fields, "name")
			all = append(all, schema.GroupVersionResource{Group: group, Version: name, Resource: plural})
		}
	}
	return slices.Clip(all)
}
