package simulator

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

// serviceObserver notes in the timeline when a Service's address comes, moves and goes, whoever writes it.
type serviceObserver struct {
	client   dynamic.Interface
	timeline *Timeline
	runner   *runner
	last     map[string]string // address by namespace/name
}

func newServiceObserver(client dynamic.Interface, timeline *Timeline, logf func(string, ...any)) *serviceObserver {
	s := &serviceObserver{client: client, timeline: timeline, last: map[string]string{}}
	s.runner = newRunner("service observer", client, logf, s.reconcile, servicesResource)
	return s
}

func (s *serviceObserver) reconcile(ctx context.Context) (time.Duration, error) {
	services, err := list(ctx, s.client.Resource(servicesResource), "")
	if err != nil {
		return 0, fmt.Errorf("services: %w", err)
	}
	current := map[string]string{}
	for i := range services {
		current[services[i].GetNamespace()+"/"+services[i].GetName()] = addresses(&services[i])
	}
	for name, address := range current {
		if address != "" && address != s.last[name] {
			s.timeline.add(AddressAssigned, name, address)
		}
	}
	for name, address := range s.last {
		if address != "" && current[name] == "" {
			s.timeline.add(AddressCleared, name, address)
		}
	}
	s.last = current
	return 0, nil
}

// addresses are what the load balancer status says, in one line.
func addresses(service *unstructured.Unstructured) string {
	ingress, _, _ := unstructured.NestedSlice(service.Object, "status", "loadBalancer", "ingress")
	var all []string
	for _, i := range ingress {
		entry, ok := i.(object)
		if !ok {
			continue
		}
		for _, key := range []string{"ip", "hostname"} {
			if value, ok := entry[key].(string); ok && value != "" {
				all = append(all, value)
			}
		}
	}
	return strings.Join(all, ",")
}

// clearServiceStatus takes a Service's address away, as a load balancer that restarts does.
func clearServiceStatus(ctx context.Context, client dynamic.Interface, namespace, name string) error {
	api := client.Resource(servicesResource)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		service, err := api.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return setIngress(ctx, client, service, nil)
	})
	if err != nil {
		return fmt.Errorf("clearing status of service %s/%s: %w", namespace, name, err)
	}
	return nil
}
