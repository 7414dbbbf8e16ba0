package netlab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	fieldManager = "network-lab"

	routerSelectorKey   = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"
	routerSelectorValue = "default"
)

var (
	servicesResource = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	slicesResource   = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}

	errWatchEnded = errors.New("the watch ended")
)

// object is a JSON object.
type object = map[string]any

// serviceControllers play the endpoint slice controller and, on each worker, kube-proxy; for Services that select the
// pods of the default router, of which each worker has one.
type serviceControllers struct {
	lab      *Lab
	services map[string]*unstructured.Unstructured // by namespace/name
	slices   map[string]object                     // what was written, by namespace/name of the Service
}

// playServiceControllers follows the Services until the context ends.
func (l *Lab) playServiceControllers(ctx context.Context) {
	c := &serviceControllers{lab: l, slices: map[string]object{}}
	for ctx.Err() == nil {
		err := c.follow(ctx)
		if errors.Is(err, errWatchEnded) || ctx.Err() != nil {
			continue // every watch ends some time
		}
		l.options.Logf("network lab: %v", err)
		pause(ctx, retryPause)
	}
}

// follow lists, and then carries out every change, until the watch ends or something fails; the next one starts anew.
func (c *serviceControllers) follow(ctx context.Context) error {
	api := c.lab.hosted.Resource(servicesResource)
	list, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing Services: %w", err)
	}
	c.services = map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		c.services[key(&list.Items[i])] = &list.Items[i]
	}
	watcher, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return fmt.Errorf("watching Services: %w", err)
	}
	defer watcher.Stop()
	for {
		if err := c.carryOut(ctx); err != nil {
			return err
		}
		select {
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return errWatchEnded
			}
			c.note(event)
		case <-c.lab.wake:
		}
	}
}

func (c *serviceControllers) note(event watch.Event) {
	service, ok := event.Object.(*unstructured.Unstructured)
	switch {
	case !ok: // a bookmark, perhaps
	case event.Type == watch.Deleted:
		delete(c.services, key(service))
	default:
		c.services[key(service)] = service
	}
}

// carryOut makes endpoint slices and workers fit the Services.
func (c *serviceControllers) carryOut(ctx context.Context) error {
	wanted := map[netip.AddrPort]string{}
	var failed []error
	for name := range c.slices {
		if service := c.services[name]; service == nil || !selectsRouter(service) {
			failed = append(failed, c.removeSlice(ctx, name))
		}
	}
	for name, service := range c.services {
		if selectsRouter(service) {
			failed = append(failed, c.writeSlice(ctx, name, service))
			maps.Copy(wanted, listeningOf(service))
		}
	}
	for _, worker := range c.lab.Workers {
		failed = append(failed, worker.accept(ctx, wanted))
	}
	return errors.Join(failed...)
}

// writeSlice makes the Service's endpoint slice: one endpoint for each worker, ready as long as the worker has not failed.
func (c *serviceControllers) writeSlice(ctx context.Context, name string, service *unstructured.Unstructured) error {
	slice := endpointSlice(service, c.lab.Workers)
	if reflect.DeepEqual(c.slices[name], slice) {
		return nil
	}
	_, err := c.lab.hosted.Resource(slicesResource).Namespace(service.GetNamespace()).Apply(ctx, sliceName(service.GetName()),
		&unstructured.Unstructured{Object: slice}, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("writing the endpoint slice of %s: %w", name, err)
	}
	c.slices[name] = slice
	return nil
}

func (c *serviceControllers) removeSlice(ctx context.Context, name string) error {
	slice := &unstructured.Unstructured{Object: c.slices[name]}
	err := c.lab.hosted.Resource(slicesResource).Namespace(slice.GetNamespace()).Delete(ctx, slice.GetName(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the endpoint slice of %s: %w", name, err)
	}
	delete(c.slices, name)
	return nil
}

func sliceName(service string) string { return service + "-lab" }

func endpointSlice(service *unstructured.Unstructured, workers []*Worker) object {
	endpoints := []any{}
	for _, worker := range workers {
		ready := !worker.Failed()
		endpoints = append(endpoints, object{
			"addresses":  []any{worker.Address.String()},
			"conditions": object{"ready": ready, "serving": ready, "terminating": false},
			"nodeName":   worker.Name,
		})
	}
	ports := []any{}
	for _, port := range portsOf(service) {
		ports = append(ports, object{"name": port.name, "port": routerPorts()[port.target], "protocol": "TCP"})
	}
	return object{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata": object{
			"namespace": service.GetNamespace(), "name": sliceName(service.GetName()),
			"labels": object{
				"kubernetes.io/service-name":             service.GetName(),
				"endpointslice.kubernetes.io/managed-by": fieldManager,
			},
		},
		"addressType": "IPv4", "endpoints": endpoints, "ports": ports,
	}
}

// selectsRouter says whether the router's pods fit the selector. They have one label: whoever asks for another, too, finds none.
func selectsRouter(service *unstructured.Unstructured) bool {
	selector, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	return maps.Equal(selector, map[string]string{routerSelectorKey: routerSelectorValue})
}

// listeningOf is where the router is to be reached for a Service, and with which scheme.
func listeningOf(service *unstructured.Unstructured) map[netip.AddrPort]string {
	all := map[netip.AddrPort]string{}
	if kind, _, _ := unstructured.NestedString(service.Object, "spec", "type"); kind != "LoadBalancer" {
		return all
	}
	ingress, _, _ := unstructured.NestedSlice(service.Object, "status", "loadBalancer", "ingress")
	for _, i := range ingress {
		entry, _ := i.(object)
		text, _ := entry["ip"].(string)
		vip, err := netip.ParseAddr(text)
		if err != nil || !vip.Is4() {
			continue // a host name, or nothing yet
		}
		for _, port := range portsOf(service) {
			all[netip.AddrPortFrom(vip, uint16(port.number))] = port.target //nolint:gosec // the API server lets no other number in
		}
	}
	return all
}

// routerPorts are the ports of the router's pods.
func routerPorts() map[string]int64 { return map[string]int64{"http": 80, "https": 443} }

// servicePort is a port of a Service and the router's port behind it, "http" or "https".
type servicePort struct {
	name   string
	number int64
	target string
}

// portsOf are those ports of a Service that lead to a port of the router.
func portsOf(service *unstructured.Unstructured) []servicePort {
	var all []servicePort
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	for _, p := range ports {
		port, _ := p.(object)
		name, _ := port["name"].(string)
		number, _ := port["port"].(int64)
		target := fmt.Sprint(port["targetPort"])
		for scheme, own := range routerPorts() {
			if target == strconv.FormatInt(own, 10) {
				target = scheme
			}
		}
		if _, known := routerPorts()[target]; known {
			all = append(all, servicePort{name: name, number: number, target: target})
		}
	}
	return all
}

func key(u *unstructured.Unstructured) string { return u.GetNamespace() + "/" + u.GetName() }
