package simulator

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
)

const (
	phasePending    = "Pending"
	phaseReady      = "Ready"
	phaseDegraded   = "Degraded"
	reasonSucceeded = "ReconciliationSucceeded"
)

// outcome is what came of a look at an attachment. Its zero value is that of a disabled ingress.
type outcome struct {
	phase, reason, message string
	address                endpointAddress
	made                   hostedNames
	again                  time.Duration // 0: not before the attachment changes
}

func (o *Oooi) degraded(reason string, err error, made hostedNames) outcome {
	return outcome{phase: phaseDegraded, reason: reason, message: err.Error(), made: made, again: o.options.ErrorInterval}
}

// report writes the status for the generation that was looked at, which may not be the newest any more.
func (o *Oooi) report(ctx context.Context, u *unstructured.Unstructured, spec attachmentSpec, out outcome) error {
	generation := u.GetGeneration()
	api := o.client.Resource(attachmentsResource).Namespace(u.GetNamespace())
	live := u
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		out.writeTo(live, spec, generation)
		_, err := api.UpdateStatus(ctx, live, metav1.UpdateOptions{FieldManager: oooiName})
		if err == nil {
			return nil
		}
		newer, getErr := api.Get(ctx, u.GetName(), metav1.GetOptions{})
		if getErr != nil {
			return getErr
		}
		live = newer
		return err
	})
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	o.timeline.add(AttachmentReconciled, spec.key.String(), out.phase+" "+out.reason)
	return nil
}

func (out outcome) writeTo(u *unstructured.Unstructured, spec attachmentSpec, generation int64) {
	setStatus(u, spec.domain, "domain")
	setStatus(u, spec.controlPlane, "controlPlaneNamespace")
	setStatus(u, generation, "observedGeneration")
	if out.phase == "" {
		unstructured.RemoveNestedField(u.Object, "status", "appsIngressStatus")
		setCondition(u, "Ready", "True", reasonSucceeded, "attached; apps ingress is not enabled")
		return
	}
	status := object{"phase": out.phase, "reason": out.reason, "message": out.message, "lastSyncTime": now()}
	for field, value := range map[string]string{
		"externalIP":                 out.address.ip,
		"externalHostname":           out.address.hostname,
		"appliedAddressPoolName":     out.made.pool,
		"appliedL2AdvertisementName": out.made.advertisement,
		"appliedServiceName":         out.made.service,
		"appliedServiceNamespace":    out.made.serviceNamespace,
	} {
		if value != "" {
			status[field] = value
		}
	}
	setStatus(u, status, "appsIngressStatus")
	ready := "False"
	if out.phase == phaseReady {
		ready = "True"
	}
	setCondition(u, "Ready", ready, out.reason, out.message)
}
