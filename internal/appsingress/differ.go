package appsingress

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// differ collects the differences between a live object and what is wanted of it. Only named fields are compared, so what
// servers, controllers and other people add never shows.
type differ struct {
	object string
	live   *unstructured.Unstructured
	found  []Difference
}

// field compares the field at a dotted path. want nil: the field must be absent.
func (d *differ) field(path string, want any, affects Affects) {
	got, _, err := unstructured.NestedFieldNoCopy(d.live.Object, strings.Split(path, ".")...)
	if err != nil {
		got = nil
	}
	if reflect.DeepEqual(got, want) || isEmpty(got) && isEmpty(want) {
		return
	}
	d.add(path, want, got, affects)
}

// fieldOr is field, for one that means a default while it is absent.
func (d *differ) fieldOr(path string, want, fallback any, affects Affects) {
	got, _, err := unstructured.NestedFieldNoCopy(d.live.Object, strings.Split(path, ".")...)
	if err == nil && isEmpty(got) && reflect.DeepEqual(want, fallback) {
		return
	}
	d.field(path, want, affects)
}

// label compares one label.
func (d *differ) label(key, want string, affects Affects) {
	d.entry("metadata.labels", d.live.GetLabels(), key, want, affects)
}

// annotation compares one annotation.
func (d *differ) annotation(key, want string, affects Affects) {
	d.entry("metadata.annotations", d.live.GetAnnotations(), key, want, affects)
}

func (d *differ) entry(path string, live map[string]string, key, want string, affects Affects) {
	field := path + "[" + key + "]"
	switch got, ok := live[key]; {
	case !ok:
		d.add(field, want, nil, affects)
	case got != want:
		d.add(field, want, got, affects)
	}
}

// keys compares the keys of a map that are wanted, and no other.
func (d *differ) keys(path string, want map[string]any) {
	live, _, _ := unstructured.NestedMap(d.live.Object, strings.Split(path, ".")...)
	for _, key := range sortedKeys(want) {
		if !reflect.DeepEqual(live[key], want[key]) {
			d.add(path+"["+key+"]", want[key], live[key], 0)
		}
	}
}

// noAnnotation wants an annotation to be absent.
func (d *differ) noAnnotation(key string, affects Affects) {
	if got, ok := d.live.GetAnnotations()[key]; ok {
		d.add("metadata.annotations["+key+"]", nil, got, affects)
	}
}

// marks compares what says that the object is ours.
func (d *differ) marks(s Spec) {
	if deleted := d.live.GetDeletionTimestamp(); deleted != nil {
		d.add("metadata.deletionTimestamp", nil, deleted.UTC().Format(time.RFC3339), AffectsAddress)
	}
	if s.Imported && d.live.GetAnnotations()[annotationIngress] == "" {
		return
	}
	d.annotation(annotationIngress, s.ID(), 0)
	if d.live.GetAnnotations()[annotationAdopted] == "" {
		d.label(LabelManagedBy, kube.FieldManager, 0)
	}
}

func (d *differ) add(field string, want, got any, affects Affects) {
	d.found = append(d.found, Difference{Object: d.object, Field: field, Want: show(want), Got: show(got), Affects: affects})
}

// missing is the difference of an object that is not there.
func missing(object string, affects Affects) []Difference {
	return []Difference{{Object: object, Affects: affects}}
}

func isEmpty(v any) bool {
	return v == nil || v == ""
}

// show writes a value in one short, stable form.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		if v != "" {
			return v
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(text)
}
