package kube

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// Event is what a controller said about an object.
type Event struct {
	UID     types.UID // of the object it is about
	Type    string    // Normal or Warning
	Reason  string
	Message string
	Last    time.Time // when it was last said
	Count   int       // how often, at least 1
}

// Events are the events about an object, newest last. The API server drops them after an hour or so.
func (c *Cluster) Events(ctx context.Context, ref Ref) ([]Event, error) {
	about := []fields.Selector{
		fields.OneTermEqualSelector("involvedObject.kind", ref.Resource.Kind),
		fields.OneTermEqualSelector("involvedObject.name", ref.Name),
	}
	namespace := ref.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where the events of cluster-scoped objects are
	} else {
		about = append(about, fields.OneTermEqualSelector("involvedObject.namespace", namespace))
	}
	opts := metav1.ListOptions{FieldSelector: fields.AndSelectors(about...).String()}
	list, err := c.List(ctx, NewResource("v1", "events", "Event"), namespace, opts)
	if err != nil {
		return nil, err
	}
	events := make([]Event, 0, len(list.Items))
	for _, item := range list.Items {
		events = append(events, eventOf(item))
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.Last.Compare(b.Last) })
	return events, nil
}

// eventOf reads both forms: with count and lastTimestamp, or with eventTime and series.
func eventOf(obj unstructured.Unstructured) Event {
	event := Event{Type: text(obj, "type"), Reason: text(obj, "reason"), Message: text(obj, "message"), Count: 1}
	event.UID = types.UID(text(obj, "involvedObject", "uid"))
	for _, at := range [][]string{{"count"}, {"series", "count"}} {
		if count, ok, err := unstructured.NestedInt64(obj.Object, at...); ok && err == nil && count > int64(event.Count) {
			event.Count = int(count)
		}
	}
	event.Last = obj.GetCreationTimestamp().Time
	for _, at := range [][]string{{"eventTime"}, {"lastTimestamp"}, {"series", "lastObservedTime"}} {
		if when, err := time.Parse(time.RFC3339Nano, text(obj, at...)); err == nil && when.After(event.Last) {
			event.Last = when
		}
	}
	return event
}

// text is a string field, "" when it is absent or something else.
func text(obj unstructured.Unstructured, at ...string) string {
	value, _, err := unstructured.NestedString(obj.Object, at...)
	if err != nil {
		return ""
	}
	return value
}
