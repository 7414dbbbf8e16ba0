package provider

import (
	"fmt"
	"strings"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// lookFurther is one command: for the foreign object, or else for the step that failed.
func lookFurther(spec appsingress.Spec, e *appsingress.StepError, foreign []*appsingress.OwnershipError) string {
	hosted := kubectlHosted(spec.Access)
	if len(foreign) > 0 {
		return lookAt(hosted, foreign[0])
	}
	name := e.Name
	if e.Blind {
		name = ""
	}
	switch name {
	case appsingress.StepWorker:
		return hosted + " get nodes"
	case appsingress.StepOperator, appsingress.StepMetalLB:
		return fmt.Sprintf("%s -n %s get subscriptions.operators.coreos.com,installplans,csv,pods", hosted, spec.MetalLB.Namespace)
	case appsingress.StepAddressPool:
		return fmt.Sprintf("%s -n %s get metallb,ipaddresspool,l2advertisement -o yaml", hosted, spec.MetalLB.Namespace)
	case appsingress.StepService, appsingress.StepEndpoint:
		return fmt.Sprintf("%s -n %s describe service %s", hosted, spec.Service.Namespace, spec.Service.Name)
	case appsingress.StepPublication:
		return fmt.Sprintf("kubectl -n %s get dnsserver,proxyserver -o yaml", spec.Namespace)
	}
	if spec.HostedCluster.IsZero() {
		return hosted + " get nodes"
	}
	return fmt.Sprintf("kubectl -n %s get hostedcluster %s -o yaml", spec.HostedCluster.Namespace, spec.HostedCluster.Name)
}

// kubectlHosted starts a command for the hosted cluster. Its kubeconfig is as a rule nowhere but in the HostedCluster's Secret.
func kubectlHosted(a appsingress.Access) string {
	if a.ConfigPath == "" {
		return "kubectl --kubeconfig HOSTED-KUBECONFIG"
	}
	command := "kubectl --kubeconfig " + a.ConfigPath
	if a.ConfigContext != "" {
		command += " --context " + a.ConfigContext
	}
	return command
}

// lookAt shows an object with who set which field. Its name is "Kind namespace/name", or "Kind name".
func lookAt(hosted string, e *appsingress.OwnershipError) string {
	command := hosted
	if strings.Contains(e.Cluster, "management") {
		command = "kubectl"
	}
	kind, name, _ := strings.Cut(e.Object, " ")
	name, _, _ = strings.Cut(name, " ")
	if namespace, inNamespace, ok := strings.Cut(name, "/"); ok {
		command, name = command+" -n "+namespace, inNamespace
	}
	return fmt.Sprintf("%s get %s %s -o yaml --show-managed-fields", command, strings.ToLower(kind), name)
}
