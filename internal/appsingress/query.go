package appsingress

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// Query says which ingress of somebody else is to be read: the one of an attachment, or the one behind a Service of a hosted
// cluster.
type Query struct {
	Attachment    NamespacedName // zero: the one behind the Service
	HostedCluster NamespacedName
	Access        Access
	Service       NamespacedName
	AwaitReady    bool // wait until it is there and Ready
}

// Ingress is an ingress that somebody else manages.
type Ingress struct {
	ID       string // of the resource, or the attachment, that it comes from; empty: made by hand
	Mode     Mode
	Domain   Domain
	Range    addresspool.Range
	Phase    Phase // with reason and message: empty while the oooi operator has not reported on what is wanted now
	Reason   Reason
	Message  string
	Endpoint Endpoint
}

func (i Ingress) ready() bool { return i.Phase == PhaseReady && !i.Endpoint.IsZero() }

// ReadIngress finds an ingress and says how it is. It writes nothing. What is not there is a *NotFoundError, a
// *NotImportableError or a *HostedClusterGoneError at once; when it is to wait, only a HostedCluster has to be there already.
func ReadIngress(ctx context.Context, management *kube.Cluster, clusters *kube.Clusters, q Query) (Ingress, error) {
	if !q.Attachment.IsZero() {
		return q.readAttachment(ctx, management)
	}
	spec := Spec{
		Mode: ModeDirect, HostedCluster: q.HostedCluster, Access: q.Access, Imported: true,
		Service: Service{Namespace: q.Service.Namespace, Name: q.Service.Name},
	}
	s := seeker{management: management, clusters: clusters, seed: spec}
	if q.AwaitReady {
		return s.await(ctx)
	}
	return s.read(ctx)
}

func (q Query) readAttachment(ctx context.Context, management *kube.Cluster) (Ingress, error) {
	ref := kube.Ref{Resource: attachmentKind(), Namespace: q.Attachment.Namespace, Name: q.Attachment.Name}
	read := func(ctx context.Context) (*unstructured.Unstructured, error) { return mustFind(ctx, management, ref) }
	if q.AwaitReady {
		read = func(ctx context.Context) (*unstructured.Unstructured, error) {
			return awaitAttachment(ctx, management, ref)
		}
	}
	obj, err := read(ctx)
	if err != nil {
		return Ingress{}, err
	}
	a := attachmentOnInfra(obj)
	if !a.Enabled {
		return Ingress{}, &NotFoundError{Object: ref.String(), Cluster: management.String(), Seen: "has no apps ingress enabled"}
	}
	return a.ingress(q.Attachment), nil
}

func (a InfraAttachment) ingress(name NamespacedName) Ingress {
	return Ingress{
		ID: name.String(), Mode: ModeAttachment, Domain: a.Domain, Range: a.Range,
		Phase: a.Phase, Reason: a.Reason, Message: a.Message, Endpoint: a.Endpoint,
	}
}

func awaitAttachment(ctx context.Context, management *kube.Cluster, ref kube.Ref) (*unstructured.Unstructured, error) {
	err := kube.Retry(ctx, "look for the kind "+ref.Resource.Kind, func(ctx context.Context) error {
		return mustServe(ctx, management, ref.Resource)
	})
	if err != nil {
		return nil, err
	}
	return management.AwaitObject(ctx, ref, "phase Ready of "+ref.String(), func(obj *unstructured.Unstructured) (kube.Verdict, error) {
		if obj == nil {
			return kube.Pending("", "it does not exist"), nil
		}
		a := attachmentOnInfra(obj)
		if !a.Enabled {
			return kube.Pending("", "it has no apps ingress enabled"), nil
		}
		return a.ingress(NamespacedName{}).verdict(), nil
	})
}

// verdict is what a wait for Ready makes of it.
func (i Ingress) verdict() kube.Verdict {
	switch {
	case i.ready():
		return kube.Done()
	case i.Reason == "":
		return kube.Pending("", "%s", i.Message)
	}
	return kube.Pending(string(i.Reason), "%s", i.Message)
}

// seeker reads an ingress from what a hosted cluster has. The seed of its spec names the Service and the way there.
type seeker struct {
	management *kube.Cluster
	clusters   *kube.Clusters
	seed       Spec
}

func (s seeker) access() access {
	return access{management: s.management, clusters: s.clusters, spec: s.seed}
}

func (s seeker) read(ctx context.Context) (Ingress, error) {
	hosted, _, err := s.access().connect(ctx)
	if err != nil {
		return Ingress{}, err
	}
	service, err := mustFind(ctx, hosted, serviceRef(s.seed))
	if err != nil {
		return Ingress{}, err
	}
	return s.behind(ctx, service)
}

// await reads whenever the Service changes, and from time to time: what else the ingress is made of exists before its Service
// has an address.
func (s seeker) await(ctx context.Context) (Ingress, error) {
	hosted, err := s.access().await(ctx)
	if err != nil {
		return Ingress{}, err
	}
	var found Ingress
	ref := serviceRef(s.seed)
	_, err = hosted.AwaitObject(ctx, ref, "a Ready ingress behind "+ref.String(), func(obj *unstructured.Unstructured) (kube.Verdict, error) {
		if obj == nil {
			return kube.Pending("", "the Service does not exist"), nil
		}
		var err error
		found, err = s.behind(ctx, obj)
		if incomplete := (*NotImportableError)(nil); errors.As(err, &incomplete) {
			return kube.Pending("", "%s", incomplete.Seen), nil
		}
		if err != nil {
			return kube.Verdict{}, err
		}
		return found.verdict(), nil
	})
	return found, err
}

// behind describes the ingress that a Service belongs to, and compares everything that is there with that.
func (s seeker) behind(ctx context.Context, service *unstructured.Unstructured) (Ingress, error) {
	seed := s.seed
	id := service.GetAnnotations()[annotationIngress]
	namespace, name, marked := strings.Cut(id, "/")
	if !marked {
		id, namespace, name = "", DefaultNamespace, service.GetName() // no mark names it either
	}
	seed.Namespace, seed.Name = namespace, name
	spec, err := Import(ctx, s.management, s.clusters, seed)
	if err != nil {
		return Ingress{}, err
	}
	status, err := New(s.management, s.clusters, spec, nil).Observe(ctx)
	if err != nil {
		return Ingress{}, err
	}
	if status.Endpoint.IsZero() && status.Reason == ReasonExternalIPDiscoveryFailed {
		status.Phase, status.Reason = PhasePending, ReasonWaitingForExternalIP
	}
	return Ingress{
		ID: id, Mode: spec.Mode, Domain: spec.Domain, Range: spec.MetalLB.Range,
		Phase: status.Phase, Reason: status.Reason, Message: status.Message, Endpoint: status.Endpoint,
	}, nil
}
