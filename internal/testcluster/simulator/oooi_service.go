package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
)

// applyService makes the Service the way it is wanted and keeps what others have put on it. It answers whether anything
// that decides about the endpoint had to be changed.
func (h *hostedConnection) applyService(ctx context.Context, spec attachmentSpec) (changed bool, err error) {
	api := h.client.Resource(servicesResource)
	namespace, name := spec.names.serviceNamespace, spec.names.service
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, found, err := lookup(ctx, api, namespace, name)
		if err != nil {
			return err
		}
		if !found {
			changed = true
			wanted := newObject("v1", "Service", namespace, name)
			shapeService(wanted, spec)
			_, err = api.Namespace(namespace).Create(ctx, wanted, metav1.CreateOptions{FieldManager: oooiName})
			return err
		}
		if live.GetDeletionTimestamp() != nil {
			return errors.New("it is being deleted")
		}
		wanted := live.DeepCopy()
		shapeService(wanted, spec)
		if sameJSON(live.Object, wanted.Object) {
			return nil
		}
		changed = !sameJSON(live.Object["spec"], wanted.Object["spec"]) ||
			live.GetAnnotations()[poolAnnotation] != wanted.GetAnnotations()[poolAnnotation]
		_, err = api.Namespace(namespace).Update(ctx, wanted, metav1.UpdateOptions{FieldManager: oooiName})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("writing Service %s/%s: %w", namespace, name, err)
	}
	return changed, nil
}

func shapeService(u *unstructured.Unstructured, spec attachmentSpec) {
	merge := func(mine map[string]string, live map[string]string) map[string]string {
		merged := map[string]string{}
		maps.Copy(merged, live)
		maps.Copy(merged, mine)
		return merged
	}
	if len(spec.labels) > 0 {
		u.SetLabels(merge(spec.labels, u.GetLabels()))
	}
	annotations := merge(spec.annotations, u.GetAnnotations())
	annotations[poolAnnotation] = spec.names.pool
	u.SetAnnotations(annotations)

	live, _, _ := unstructured.NestedSlice(u.Object, "spec", "ports")
	port := func(name string, number int64) object {
		wanted := object{"name": name, "protocol": "TCP", "port": number, "targetPort": name}
		for _, p := range live {
			if before, ok := p.(object); ok && before["name"] == name && before["nodePort"] != nil {
				wanted["nodePort"] = before["nodePort"]
			}
		}
		return wanted
	}
	if u.Object["spec"] == nil {
		u.Object["spec"] = object{}
	}
	for field, value := range map[string]any{
		"type":     "LoadBalancer",
		"selector": object{routerSelectorKey: "default"},
		"ports":    []any{port("http", spec.http), port("https", spec.https)},
	} {
		_ = unstructured.SetNestedField(u.Object, value, "spec", field)
	}
}

// address is the first endpoint that the Service's status tells of, whatever it is.
func (h *hostedConnection) address(ctx context.Context, names hostedNames) (endpointAddress, error) {
	u, err := h.client.Resource(servicesResource).Namespace(names.serviceNamespace).Get(ctx, names.service, metav1.GetOptions{})
	if err != nil {
		return endpointAddress{}, fmt.Errorf("reading Service %s/%s: %w", names.serviceNamespace, names.service, err)
	}
	entries, _, _ := unstructured.NestedSlice(u.Object, "status", "loadBalancer", "ingress")
	for _, e := range entries {
		entry, ok := e.(object)
		if !ok {
			continue
		}
		ip, _ := entry["ip"].(string)
		hostname, _ := entry["hostname"].(string)
		switch {
		case ip != "":
			return endpointAddress{ip: ip}, nil
		case hostname != "":
			return endpointAddress{hostname: hostname}, nil
		}
	}
	return endpointAddress{}, nil
}
