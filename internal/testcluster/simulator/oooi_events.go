package simulator

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// attachmentHandler wakes the attachment itself on changes of its spec, labels and annotations, but not of its status;
// and on every change the Infra that it names, or named before.
func (o *Oooi) attachmentHandler() objectHandler {
	type memory struct {
		mark  string
		infra types.NamespacedName
	}
	seen := map[types.NamespacedName]memory{}
	return func(u *unstructured.Unstructured, gone bool) {
		key, before := keyOf(u), seen[keyOf(u)]
		now := memory{mark: intent(u), infra: types.NamespacedName{Namespace: key.Namespace, Name: text(u, "spec", "infraRef", "name")}}
		seen[key] = now
		if gone {
			delete(seen, key)
		}
		if gone || before.mark != now.mark {
			o.attachments.Add(key, 0)
		}
		if before.infra != now.infra && before.infra.Name != "" {
			o.infras.Add(before.infra, 0)
		}
		o.infras.Add(now.infra, 0)
	}
}

// infraHandler wakes an Infra on everything but changes of its status.
func (o *Oooi) infraHandler() objectHandler {
	seen := map[types.NamespacedName]string{}
	return func(u *unstructured.Unstructured, gone bool) {
		key, mark := keyOf(u), intent(u)
		if gone || seen[key] != mark {
			o.infras.Add(key, 0)
		}
		seen[key] = mark
		if gone {
			delete(seen, key)
		}
	}
}

// ownedChanged wakes the Infra that owns a DNSServer or ProxyServer.
func (o *Oooi) ownedChanged(u *unstructured.Unstructured, _ bool) {
	if owner := metav1.GetControllerOf(u); owner != nil && owner.Kind == "Infra" {
		o.infras.Add(types.NamespacedName{Namespace: u.GetNamespace(), Name: owner.Name}, 0)
	}
}

// intent changes with everything that somebody may want of the operator.
func intent(u *unstructured.Unstructured) string {
	return fmt.Sprint(u.GetUID(), u.GetGeneration(), u.GetLabels(), u.GetAnnotations(), u.GetDeletionTimestamp())
}
