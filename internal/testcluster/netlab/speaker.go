package netlab

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

const (
	controllerProgram = "metallb-controller"
	speakerProgram    = "metallb-speaker"

	metallbNamespace = "openshift-operators"
	speakerPort      = 7472
	speakerLabel     = "component"
	speakerComponent = "speaker"
)

var podsResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

func podName(worker string) string { return "speaker-" + worker }

// startSpeaker starts MetalLB's speaker on a worker. The speakers find each other by their pods, and notice by themselves
// when one is dead.
func (l *Lab) startSpeaker(worker *Worker, loadBalancerClass string) (*process.Process, error) {
	binary, err := testcluster.Binary(speakerProgram)
	if err != nil {
		return nil, err
	}
	args := []string{
		"--kubeconfig", l.options.Kubeconfig, "--namespace", metallbNamespace,
		"--node-name", worker.Name, "--pod-name", podName(worker.Name),
		"--host", loopback, "--port", strconv.Itoa(speakerPort),
		"--ml-bindaddr", worker.Address.String(), "--ml-labels", speakerLabel + "=" + speakerComponent,
	}
	if loadBalancerClass != "" {
		args = append(args, "--lb-class", loadBalancerClass)
	}
	return worker.Start(process.Options{Program: binary, Args: args, LogFile: l.logFile(podName(worker.Name))})
}

// speakerReady asks for the port of the metrics: the speaker serves it once it follows the cluster.
func speakerReady(ctx context.Context, worker *Worker) bool {
	conn, err := worker.Dial(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(speakerPort)))
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was written
	return true
}

func (l *Lab) logFile(program string) string {
	if l.options.LogDir == "" {
		return ""
	}
	return filepath.Join(l.options.LogDir, program+".log")
}

// createPod makes the pod that a speaker says it runs in.
func (l *Lab) createPod(ctx context.Context, worker *Worker) error {
	pods := l.hosted.Resource(podsResource).Namespace(metallbNamespace)
	address := worker.Address.String()
	pod, err := pods.Create(ctx, &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{
			"namespace": metallbNamespace, "name": podName(worker.Name),
			"labels": object{speakerLabel: speakerComponent},
		},
		"spec": object{
			"nodeName": worker.Name, "hostNetwork": true,
			"containers": []any{object{"name": "speaker", "image": "speaker"}},
		},
	}}, metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating the pod of the speaker on %s: %w", worker.Name, err)
	}
	pod.Object["status"] = object{
		"phase": "Running", "podIP": address, "podIPs": []any{object{"ip": address}}, "hostIP": address,
		"hostIPs":    []any{object{"ip": address}},
		"conditions": []any{object{"type": "Ready", "status": "True"}},
	}
	if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("giving the pod of the speaker on %s its address: %w", worker.Name, err)
	}
	return nil
}

// deletePod takes a speaker's pod away at once: no kubelet will confirm its end.
func (l *Lab) deletePod(ctx context.Context, worker *Worker) error {
	now := int64(0)
	err := l.hosted.Resource(podsResource).Namespace(metallbNamespace).
		Delete(ctx, podName(worker.Name), metav1.DeleteOptions{GracePeriodSeconds: &now})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the pod of the speaker on %s: %w", worker.Name, err)
	}
	return nil
}

// portOf is the port at which a kubeconfig's API server is to be reached on the loopback.
func portOf(kubeconfig string) (int, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return 0, fmt.Errorf("reading the kubeconfig of MetalLB: %w", err)
	}
	address, err := url.Parse(config.Host)
	if err != nil || address.Hostname() != loopback {
		return 0, fmt.Errorf("the kubeconfig of MetalLB leads to %q, not to a port of %s", config.Host, loopback)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		return 0, fmt.Errorf("the kubeconfig of MetalLB leads to %q: %w", config.Host, err)
	}
	return port, nil
}
