package appsingress

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// The marks on everything that is created. They are all that is known when the provider was killed before Terraform could
// save state, so they are read and compared before every write.
const (
	annotationIngress = "oooi.densityops.com/apps-ingress" // value: Spec.ID
	annotationAdopted = "oooi.densityops.com/adopted"      // value: "true"
)

// MarkPrefix starts the keys of every annotation that says whose an object is. They are not the user's to set.
const MarkPrefix = "oooi.densityops.com/"

// LabelManagedBy is the label on every object that is created. It is not the user's to set.
const LabelManagedBy = "app.kubernetes.io/managed-by"

// ownership is whose an object is, as seen by one ingress.
type ownership int

const (
	absent  ownership = iota
	ours              // made by this ingress
	adopted           // taken over by this ingress, and left in place on destroy
	foreign           // somebody else's, another ingress's included
)

// ownerOf reads the marks of an object; nil is absent. A mark that was taken off by hand does not make an object foreign as
// long as the API server still lists us among its appliers.
func ownerOf(obj *unstructured.Unstructured, id string) ownership {
	if obj == nil {
		return absent
	}
	annotations := obj.GetAnnotations()
	switch owner := annotations[annotationIngress]; {
	case owner == id && annotations[annotationAdopted] == "true":
		return adopted
	case owner == id, owner == "" && appliedByUs(obj):
		return ours
	}
	return foreign
}

// ownerOf is whose the object is that the spec names, and that no other ingress shares.
func (s Spec) ownerOf(obj *unstructured.Unstructured) ownership {
	owner := ownerOf(obj, s.ID())
	if owner == foreign && s.Imported && obj.GetAnnotations()[annotationIngress] == "" {
		return ours
	}
	return owner
}

func appliedByUs(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(obj.GetManagedFields(), isOurApply)
}

func isOurApply(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == kube.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply
}

// madeByProvider says that an ingress of this provider, not necessarily this one, created the object.
func madeByProvider(obj *unstructured.Unstructured) bool {
	return obj != nil && obj.GetLabels()[LabelManagedBy] == kube.FieldManager && obj.GetAnnotations()[annotationAdopted] == ""
}

// mark puts the marks on a desired object. An adopted one keeps the managed-by label of whoever made it.
func mark(obj *unstructured.Unstructured, id string, adopt bool) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationIngress] = id
	if adopt {
		annotations[annotationAdopted] = "true"
	} else {
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[LabelManagedBy] = kube.FieldManager
		obj.SetLabels(labels)
	}
	obj.SetAnnotations(annotations)
}

// unmark takes the marks off, and us out of the API server's list of appliers: an object that stays must not pass for ours later.
func unmark(obj *unstructured.Unstructured) {
	annotations := obj.GetAnnotations()
	delete(annotations, annotationIngress)
	delete(annotations, annotationAdopted)
	obj.SetAnnotations(annotations)
	obj.SetManagedFields(slices.DeleteFunc(obj.GetManagedFields(), isOurApply))
}

// listMark is the annotation that says whose the entries for a wildcard are in an object that many ingresses share: list
// elements have no place for an owner of their own.
type listMark struct{ ingress, adopted string }

func listMarkFor(wildcard string) listMark {
	sum := sha256.Sum256([]byte(wildcard))
	hash := hex.EncodeToString(sum[:5])
	return listMark{ingress: annotationIngress + "-" + hash, adopted: annotationAdopted + "-" + hash}
}

// ownerOf is whose the entries are, when there are any.
func (m listMark) ownerOf(obj *unstructured.Unstructured, s Spec, present bool) ownership {
	annotations := obj.GetAnnotations()
	switch {
	case !present:
		return absent
	case annotations[m.ingress] == "" && s.Imported:
		return ours
	case annotations[m.ingress] != s.ID():
		return foreign
	case annotations[m.adopted] == "true":
		return adopted
	}
	return ours
}

func (m listMark) set(obj *unstructured.Unstructured, id string, adopt bool) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[m.ingress] = id
	if adopt {
		annotations[m.adopted] = "true"
	}
	obj.SetAnnotations(annotations)
}

func (m listMark) clear(obj *unstructured.Unstructured) {
	annotations := obj.GetAnnotations()
	delete(annotations, m.ingress)
	delete(annotations, m.adopted)
	obj.SetAnnotations(annotations)
}
