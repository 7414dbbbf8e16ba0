package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// What the summaries call the things that data sources read.
const (
	infraNoun   = "The Infra"
	ingressNoun = "The apps ingress"
)

// What the messages of a verification call the objects that its addresses come from.
const (
	dnsServerNoun   = "DNSServer"
	proxyServerNoun = "ProxyServer"
)

// errProviderUnknown is an object that would have to be read while the provider's arguments are unknown.
var errProviderUnknown = errors.New("an argument of the provider is not known yet")

// reading is a read of a data source that failed.
type reading struct {
	budget, elapsed time.Duration
	err             error
}

// dataUnreadable is a data source that would have to be read while the provider's arguments are unknown.
func dataUnreadable(noun string) diag.Diagnostic {
	return diag.NewErrorDiagnostic(noun+" could not be read",
		"An argument of the provider is not known yet, so there is no connection to the management cluster, and this version of "+
			"Terraform does not put off reading a data source until there is one.\n\n"+
			"Give the data source a depends_on with what the provider's arguments come from: it is then read when that exists. "+
			"Or create that first, with terraform apply -target=ADDRESS, then apply everything.")
}

// infraUnread is an Infra that is not there, or that could not be read.
func infraUnread(name appsingress.NamespacedName, r reading) diag.Diagnostic {
	look := "kubectl get infras.hostedcluster.densityops.com --all-namespaces"
	var absent *appsingress.NotFoundError
	if errors.As(r.err, &absent) {
		return diag.NewAttributeErrorDiagnostic(path.Root("name"), infraNoun+" does not exist", fmt.Sprintf(
			"%s.\n\nCorrect name and namespace, or create it first.\nLook further: %s", absent, look))
	}
	return unread(infraNoun, "Infra "+name.String(), "", look, r)
}

// ingressUnread is an apps ingress that is not there, or that could not be read.
func ingressUnread(q appsingress.Query, r reading) diag.Diagnostic {
	at, object := path.Root("service"), "Service "+q.Service.String()
	look := fmt.Sprintf("%s -n %s get service %s -o yaml", kubectlHosted(q.Access), q.Service.Namespace, q.Service.Name)
	if !q.Attachment.IsZero() {
		at, object = path.Root("attachment_ref"), "InfraClusterAttachment "+q.Attachment.String()
		look = fmt.Sprintf("kubectl -n %s get infraclusterattachment %s -o yaml", q.Attachment.Namespace, q.Attachment.Name)
	}
	var absent *appsingress.NotFoundError
	var incomplete *appsingress.NotImportableError
	var gone *appsingress.HostedClusterGoneError
	const wait = "; wait_until_ready = true waits for it"
	switch {
	case errors.As(r.err, &absent):
		return missingIngress(at, absent.Error(), wait, look)
	case errors.As(r.err, &incomplete):
		return missingIngress(at, incomplete.Seen, wait, look)
	case errors.As(r.err, &gone):
		return missingIngress(path.Root("hosted_cluster_ref"), gone.Error(), "", "kubectl get hostedclusters --all-namespaces")
	}
	return unread(ingressNoun, object, "; timeouts.read gives more", look, r)
}

func missingIngress(at path.Path, seen, wait, look string) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(at, ingressNoun+" was not found", fmt.Sprintf(
		"%s.\n\nCorrect the name and namespace, or have the configuration that makes the ingress applied first%s.\nLook further: %s",
		upperFirst(seen), wait, look))
}

// unread is any other failure.
func unread(noun, object, more, look string, r reading) diag.Diagnostic {
	lines := []string{"Object: " + object}
	if timeout := (*kube.TimeoutError)(nil); errors.As(r.err, &timeout) && timeout.Last.String() != "" {
		lines = append(lines, "Last seen: "+timeout.Last.String())
	}
	if errors.Is(r.err, context.DeadlineExceeded) {
		lines = append(lines, fmt.Sprintf("Time: %s of %s%s", shortDuration(r.elapsed), shortDuration(r.budget), more))
	}
	lines = append(lines, "Look further: "+look, "Error: "+r.err.Error())
	return diag.NewErrorDiagnostic(noun+" could not be read"+end(r.err), strings.Join(lines, "\n"))
}

// serverLacks is an object that does not say yet what a path needs.
func serverLacks(noun string, name appsingress.NamespacedName, field string) string {
	return fmt.Sprintf("the %s %s has no address in %s", noun, name, field)
}

// serverUnread is an object that could not be read. It is part of a state, and so the same whenever the same is met: of the error only
// its class is told.
func serverUnread(noun string, name appsingress.NamespacedName, err error) string {
	return fmt.Sprintf("the %s %s could not be read: %s", noun, name, classOf(err))
}

func classOf(err error) string {
	var (
		absent      *appsingress.NotFoundError
		connection  *kube.ConnectionError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, errProviderUnknown):
		return errProviderUnknown.Error()
	case errors.As(err, &absent):
		return "it " + absent.Seen
	case appsingress.IsNotServed(err):
		return "the cluster does not serve this kind, and so is most likely not the management cluster"
	case errors.As(err, &connection):
		return connection.Error()
	case kube.IsForbidden(err):
		return "the provider's user is not allowed to " + permissionOf(err)
	case kube.IsUnauthorized(err):
		return "the management cluster refused the credentials"
	case kube.IsAnswer(err):
		return "the management cluster answered with an error of its own"
	case errors.As(err, &certificate):
		return "the certificate of " + managementOf(err) + " could not be verified"
	case errors.Is(err, context.DeadlineExceeded):
		return managementOf(err) + " did not answer in time"
	}
	return managementOf(err) + " could not be reached"
}

// permissionOf is the access rule that a request needs.
func permissionOf(err error) string {
	request, known := errors.AsType[*kube.Error](err)
	if !known || request.Ref.Namespace == "" {
		return "get it"
	}
	return fmt.Sprintf("%s %s in namespace %s", request.Verb, request.Ref.Resource.GroupResource(), request.Ref.Namespace)
}

// managementOf names the management cluster with its address: most often it is another than was meant.
func managementOf(err error) string {
	const name = "the management cluster"
	request, known := errors.AsType[*url.Error](err)
	if !known {
		return name
	}
	address, err := url.Parse(request.URL)
	if err != nil || address.Host == "" {
		return name
	}
	return name + " at " + address.Host
}
