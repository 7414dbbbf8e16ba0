package appsingress

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// The kinds of the management cluster.
func hostedClusterKind() kube.Resource {
	return kube.NewResource("hypershift.openshift.io/v1beta1", "hostedclusters", "HostedCluster")
}

func infraKind() kube.Resource {
	return kube.NewResource("hostedcluster.densityops.com/v1alpha1", "infras", "Infra")
}

func attachmentKind() kube.Resource {
	return kube.NewResource("hostedcluster.densityops.com/v1alpha1", "infraclusterattachments", "InfraClusterAttachment")
}

func dnsServerKind() kube.Resource {
	return kube.NewResource("hostedcluster.densityops.com/v1alpha1", "dnsservers", "DNSServer")
}

func proxyServerKind() kube.Resource {
	return kube.NewResource("hostedcluster.densityops.com/v1alpha1", "proxyservers", "ProxyServer")
}

func secretKind() kube.Resource { return kube.NewResource("v1", "secrets", "Secret") }

// The kinds of the hosted cluster. OLM's and MetalLB's are always named with their group: other groups serve a resource
// called "subscriptions" too.
func nodeKind() kube.Resource    { return kube.NewResource("v1", "nodes", "Node") }
func serviceKind() kube.Resource { return kube.NewResource("v1", "services", "Service") }

func subscriptionKind() kube.Resource {
	return kube.NewResource("operators.coreos.com/v1alpha1", "subscriptions", "Subscription")
}

func csvKind() kube.Resource {
	return kube.NewResource("operators.coreos.com/v1alpha1", "clusterserviceversions", "ClusterServiceVersion")
}

func installPlanKind() kube.Resource {
	return kube.NewResource("operators.coreos.com/v1alpha1", "installplans", "InstallPlan")
}

func catalogSourceKind() kube.Resource {
	return kube.NewResource("operators.coreos.com/v1alpha1", "catalogsources", "CatalogSource")
}

func operatorGroupKind() kube.Resource {
	return kube.NewResource("operators.coreos.com/v1", "operatorgroups", "OperatorGroup")
}

func metallbAPI() schema.GroupVersion {
	return schema.GroupVersion{Group: "metallb.io", Version: "v1beta1"}
}

func metallbKind() kube.Resource {
	return kube.NewResource(metallbAPI().String(), "metallbs", "MetalLB")
}

func poolKind() kube.Resource {
	return kube.NewResource(metallbAPI().String(), "ipaddresspools", "IPAddressPool")
}

func advertisementKind() kube.Resource {
	return kube.NewResource(metallbAPI().String(), "l2advertisements", "L2Advertisement")
}
