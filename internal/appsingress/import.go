package appsingress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// Import describes an ingress that exists already. seed says what the user told of it: name, namespace, and any of Infra,
// HostedCluster, Service and Access. An attachment of that name says the rest. Without one it is found: the Service by its mark or
// its default name, the pool by the Service's annotation, the advertisement by the pool, the DNS name by the published entries or
// the HostedCluster.
//
// Errors say what could not be found and which part of the import id would tell it.
func Import(ctx context.Context, management *kube.Cluster, clusters *kube.Clusters, seed Spec) (Spec, error) {
	if spec, err := importAttachment(ctx, management, seed); spec.Mode == ModeAttachment || err != nil {
		return spec, err
	}
	i := importer{run: &run{spec: seed, management: management}}
	a := access{management: management, clusters: clusters, spec: seed}
	hosted, hostedCluster, err := a.connect(ctx)
	if err != nil {
		return Spec{}, fmt.Errorf("find the hosted cluster: %w", err)
	}
	i.run.hosted = hosted
	for _, find := range []func(context.Context) error{i.service, i.pool, i.advertisement, i.operator, i.publication} {
		if err := find(ctx); err != nil {
			return Spec{}, err
		}
	}
	if err := i.domain(hostedCluster); err != nil {
		return Spec{}, err
	}
	return i.run.spec, nil
}

// importAttachment describes the ingress of an attachment of that name, if there is one that is enabled and the seed does not say
// that direct mode is meant.
func importAttachment(ctx context.Context, management *kube.Cluster, seed Spec) (Spec, error) {
	if seed.Infra != "" || seed.Service.Name != "" || seed.Access != (Access{}) {
		return Spec{}, nil
	}
	obj, err := find(ctx, management, attachmentRef(seed))
	if kube.IsForbidden(err) { // who may not see attachments has none to import
		return Spec{}, nil
	}
	if err != nil || obj == nil {
		return Spec{}, err
	}
	if enabled, _, _ := unstructured.NestedBool(obj.Object, "spec", "appsIngress", "enabled"); !enabled {
		return Spec{}, nil
	}
	spec := seed
	spec.Mode, spec.Infra = ModeAttachment, specText(obj, "infraRef", "name")
	spec.HostedCluster, spec.Domain = attachedCluster(obj), attachedDomain(obj)
	if spec.HostedCluster.Namespace == "" {
		spec.HostedCluster.Namespace = DefaultNamespace
	}
	err = readAppsIngress(&spec, obj)
	return spec, err
}

// readAppsIngress takes over what an attachment says of its apps ingress, with the defaults of the feature.
func readAppsIngress(spec *Spec, obj *unstructured.Unstructured) (err error) {
	read := func(fields ...string) string { return specText(obj, append([]string{"appsIngress"}, fields...)...) }
	m, s := &spec.MetalLB, &spec.Service
	m.AddressPoolName = read("metallb", "addressPoolName")
	m.RangeText = read("metallb", "ipAddressPoolRange")
	m.L2AdvertisementName = cmp.Or(read("metallb", "l2AdvertisementName"), DefaultL2AdvertisementName(m.AddressPoolName))
	if m.Range, err = addresspool.Parse(m.RangeText); err != nil {
		return &NotImportableError{Seen: fmt.Sprintf("%s: %v", attachmentRef(*spec), err)}
	}
	s.Name = cmp.Or(read("service", "name"), DefaultServiceName)
	s.Namespace = cmp.Or(read("service", "namespace"), DefaultServiceNamespace)
	s.Labels, _, _ = unstructured.NestedStringMap(obj.Object, "spec", "appsIngress", "service", "labels")
	annotations, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "appsIngress", "service", "annotations")
	for key, value := range annotations {
		if slices.Contains(reservedServiceAnnotations(), key) {
			continue
		}
		s.Annotations = set(s.Annotations, key, value)
	}
	pinned := &unstructured.Unstructured{Object: map[string]any{}}
	pinned.SetAnnotations(annotations)
	s.LoadBalancerIP = pinnedAddress(pinned)
	spec.Ports = Ports{HTTP: DefaultHTTPPort, HTTPS: DefaultHTTPSPort}
	for field, port := range map[string]*int32{"http": &spec.Ports.HTTP, "https": &spec.Ports.HTTPS} {
		if value, found, _ := unstructured.NestedInt64(obj.Object, "spec", "appsIngress", "ports", field); found {
			*port = number(value)
		}
	}
	return nil
}

// importer fills in the spec of its run, part by part.
type importer struct {
	run      *run
	wildcard string // as published; empty: nothing is
}

// service finds the Service: the named one, else the one that carries our mark, else the one of the default name.
func (i *importer) service(ctx context.Context) error {
	s := &i.run.spec.Service
	var obj *unstructured.Unstructured
	if s.Name == "" {
		var err error
		if obj, err = i.markedService(ctx); err != nil {
			return err
		}
		s.Namespace, s.Name = DefaultServiceNamespace, DefaultServiceName
	}
	if obj == nil {
		var err error
		if obj, err = find(ctx, i.run.hosted, serviceRef(i.run.spec)); err != nil {
			return fmt.Errorf("look for the Service: %w", err)
		}
	}
	if obj == nil {
		return &NotImportableError{
			Seen: fmt.Sprintf("%s does not exist in the %s", serviceRef(i.run.spec), i.run.hosted),
			Part: "service=namespace/name",
		}
	}
	i.run.live.service = obj
	s.Namespace, s.Name = obj.GetNamespace(), obj.GetName()
	return i.readService(obj)
}

// markedService finds the Service that carries our mark, wherever it is; nil when there is none, or when a user who may not list
// Services everywhere asks.
func (i *importer) markedService(ctx context.Context) (*unstructured.Unstructured, error) {
	list, err := i.run.hosted.List(ctx, serviceKind(), "", metav1.ListOptions{LabelSelector: LabelManagedBy + "=" + kube.FieldManager})
	if kube.IsForbidden(err) {
		return nil, nil //nolint:nilnil // none is an answer here
	}
	if err != nil {
		return nil, fmt.Errorf("look for the Service: %w", err)
	}
	for n := range list.Items {
		if list.Items[n].GetAnnotations()[annotationIngress] == i.run.spec.ID() {
			return &list.Items[n], nil
		}
	}
	return nil, nil //nolint:nilnil // see above
}

// readService takes over what the Service says of the configuration.
func (i *importer) readService(obj *unstructured.Unstructured) error {
	spec := &i.run.spec
	spec.Service.Labels, spec.Service.Annotations = ownMetadata(obj)
	spec.Service.LoadBalancerIP = pinnedAddress(obj)
	spec.Service.ExternalTrafficPolicy, _, _ = unstructured.NestedString(obj.Object, "spec", "externalTrafficPolicy")
	spec.MetalLB.LoadBalancerClass, _, _ = unstructured.NestedString(obj.Object, "spec", "loadBalancerClass")
	for name, port := range map[string]*int32{httpPortName: &spec.Ports.HTTP, httpsPortName: &spec.Ports.HTTPS} {
		entry := portNamed(obj, name)
		if entry == nil {
			return &NotImportableError{Seen: fmt.Sprintf("%s has no port named %s", serviceRef(*spec), name)}
		}
		*port = number(entry["port"])
	}
	for _, prefix := range metallbPrefixes() {
		if pool := obj.GetAnnotations()[prefix+poolAnnotation]; pool != "" {
			spec.MetalLB.AddressPoolName = pool
			return nil
		}
	}
	return &NotImportableError{Seen: fmt.Sprintf("%s names no address pool in an annotation", serviceRef(*spec))}
}

// ownMetadata are the labels and annotations that an ingress of this provider has set for its user.
func ownMetadata(obj *unstructured.Unstructured) (labels, annotations map[string]string) {
	owned := ownedFields(obj)
	for key, value := range obj.GetLabels() {
		if key != LabelManagedBy && owned.label(key) {
			labels = set(labels, key, value)
		}
	}
	for key, value := range obj.GetAnnotations() {
		if !slices.Contains(reservedServiceAnnotations(), key) && owned.annotation(key) {
			annotations = set(annotations, key, value)
		}
	}
	return labels, annotations
}

func set(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// pool finds the IPAddressPool, wherever MetalLB lives.
func (i *importer) pool(ctx context.Context) error {
	m := &i.run.spec.MetalLB
	pools, err := findAll(ctx, i.run.hosted, poolKind(), "")
	if kube.IsForbidden(err) { // everywhere, that is: what is in the default place may still be seen
		pools, err = findAll(ctx, i.run.hosted, poolKind(), DefaultMetalLBNamespace)
	}
	if err != nil {
		return fmt.Errorf("look for the address pool: %w", err)
	}
	pool := named(pools, m.AddressPoolName)
	if pool == nil {
		return &NotImportableError{Seen: fmt.Sprintf("IPAddressPool %s does not exist in the %s", m.AddressPoolName, i.run.hosted)}
	}
	addresses := poolAddresses(pool)
	if len(addresses) != 1 {
		return &NotImportableError{
			Seen: fmt.Sprintf("IPAddressPool %s has %d ranges, and an apps ingress has one", m.AddressPoolName, len(addresses)),
		}
	}
	if m.Range, err = addresspool.Parse(addresses[0]); err != nil {
		return &NotImportableError{Seen: fmt.Sprintf("IPAddressPool %s: %v", m.AddressPoolName, err)}
	}
	m.Namespace, m.RangeText = pool.GetNamespace(), addresses[0]
	m.AutoAssign = true // MetalLB's own default
	if auto, ok, _ := unstructured.NestedBool(pool.Object, "spec", "autoAssign"); ok {
		m.AutoAssign = auto
	}
	return nil
}

// advertisement finds the L2Advertisement of the pool.
func (i *importer) advertisement(ctx context.Context) error {
	m := &i.run.spec.MetalLB
	all, err := findAll(ctx, i.run.hosted, advertisementKind(), m.Namespace)
	if err != nil {
		return fmt.Errorf("look for the advertisement: %w", err)
	}
	m.L2AdvertisementName = DefaultL2AdvertisementName(m.AddressPoolName)
	for n := range all {
		pools, _, _ := unstructured.NestedStringSlice(all[n].Object, "spec", "ipAddressPools")
		if slices.Contains(pools, m.AddressPoolName) {
			m.L2AdvertisementName = all[n].GetName()
			return nil
		}
	}
	return nil
}

// operator finds out whether OLM installed MetalLB, and from where.
func (i *importer) operator(ctx context.Context) error {
	m := &i.run.spec.MetalLB
	all, err := findAll(ctx, i.run.hosted, subscriptionKind(), m.Namespace)
	if err != nil {
		return fmt.Errorf("look for the Subscription: %w", err)
	}
	for n := range all {
		read := func(field string) string {
			value, _, _ := unstructured.NestedString(all[n].Object, "spec", field)
			return value
		}
		if pkg := read("name"); pkg == DefaultPackage || madeByProvider(&all[n]) {
			m.Install = true
			m.Subscription = Subscription{
				Package: pkg, Channel: read("channel"), Source: read("source"), SourceNamespace: read("sourceNamespace"),
				StartingCSV: read("startingCSV"),
			}
			return nil
		}
	}
	return nil
}

// publication finds the DNSServer and the ProxyServer whose entries carry our mark, or those of the Infra.
func (i *importer) publication(ctx context.Context) error {
	p := &i.run.spec.Publish
	if infra := i.run.spec.Infra; infra != "" {
		*p = DefaultPublish(infra)
	}
	var errs []error
	for kind, name := range map[kube.Resource]*string{dnsServerKind(): &p.DNSServer, proxyServerKind(): &p.ProxyServer} {
		all, err := findAll(ctx, i.run.management, kind, i.run.spec.Namespace)
		if err != nil {
			errs = append(errs, fmt.Errorf("look for what is published: %w", err))
			continue
		}
		for n := range all {
			if wildcard := markedWildcard(&all[n], i.run.spec.ID()); wildcard != "" && (*name == "" || *name == all[n].GetName()) {
				*name, i.wildcard = all[n].GetName(), wildcard
			}
		}
	}
	return errors.Join(errs...)
}

// markedWildcard is the wildcard whose entries in a shared list carry the mark of the given ingress.
func markedWildcard(obj *unstructured.Unstructured, id string) string {
	for _, field := range []string{"staticEntries", "backends"} {
		for _, item := range (entryList{field: field}).items(obj) {
			entry, _ := item.(map[string]any)
			hostname := strings.ToLower(strings.TrimSuffix(text(entry["hostname"]), "."))
			if obj.GetAnnotations()[listMarkFor(hostname).ingress] == id {
				return hostname
			}
		}
	}
	return ""
}

// domain is what is published, else what HyperShift says.
func (i *importer) domain(hostedCluster *unstructured.Unstructured) error {
	if rest, ok := strings.CutPrefix(i.wildcard, "*.apps."); ok {
		cluster, base, _ := strings.Cut(rest, ".")
		i.run.spec.Domain = Domain{ClusterName: cluster, BaseDomain: base}
		return nil
	}
	if hostedCluster != nil {
		base, _, _ := unstructured.NestedString(hostedCluster.Object, "spec", "dns", "baseDomain")
		if base != "" {
			i.run.spec.Domain = Domain{ClusterName: hostedCluster.GetName(), BaseDomain: strings.TrimSuffix(base, ".")}
			return nil
		}
	}
	return &NotImportableError{
		Seen: "nothing tells the DNS name: no entry of this ingress is published, and no HostedCluster was named",
		Part: "hosted_cluster=namespace/name",
	}
}

// NotImportableError says what is missing to describe an ingress that exists.
type NotImportableError struct {
	Seen string
	Part string // the part of the import id that would tell; empty: none would
}

func (e *NotImportableError) Error() string {
	if e.Part == "" {
		return e.Seen
	}
	return e.Seen + "; say where it is with " + e.Part
}
