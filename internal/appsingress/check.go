package appsingress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// Findings are what a plan can know of a configuration that will not work.
type Findings struct {
	Refusals []*ConfigError
	Warnings []*ConfigError // what is most likely wrong, and may be meant
}

// Check looks for what the range and the places of publication collide with, everything side by side. It writes nothing and does
// not wait. A cluster that cannot be read hides what is in it: the error says so, beside what was found in the other one.
//
// What an ingress of this provider has is left to the apply: it may be on its way out in the same run.
func Check(ctx context.Context, management *kube.Cluster, clusters *kube.Clusters, spec Spec) (Findings, error) {
	r := &run{spec: spec, management: management}
	looks := []func(context.Context) (Findings, error){
		r.checkVLAN,
		func(ctx context.Context) (Findings, error) { return r.checkPools(ctx, clusters) },
	}
	if spec.Mode == ModeAttachment {
		r.spec = asOperator(spec)
	} else {
		looks = append(looks, r.checkPublication)
	}
	found := make([]Findings, len(looks))
	var group errgroup.Group // one that fails must not cancel the others
	for i, look := range looks {
		group.Go(func() (err error) {
			found[i], err = look(ctx)
			return err
		})
	}
	err := group.Wait()
	var all Findings
	for _, f := range found {
		all.Refusals = append(all.Refusals, f.Refusals...)
		all.Warnings = append(all.Warnings, f.Warnings...)
	}
	if r.begun() {
		all = Findings{Warnings: append(all.Warnings, all.Refusals...)}
	}
	return all, err
}

// begun says that something of the ingress exists already. Terraform plans before it destroys, too: what has been begun must not be
// kept from being removed.
func (r *run) begun() bool {
	for _, s := range append(allSteps(), attachmentObject{}) {
		if len(s.present(r)) > 0 {
			return true
		}
	}
	return false
}

// checkPublication finds a DNSServer or ProxyServer that an Infra owns, and addresses of the range that others publish already.
func (r *run) checkPublication(ctx context.Context) (Findings, error) {
	if err := (publication{}).observe(ctx, r); err != nil {
		return Findings{}, err
	}
	var found Findings
	for _, b := range bulletins(r.spec) {
		obj := *r.slot(b)
		if obj == nil {
			continue // it may be made in the same run
		}
		if infra := owningInfra(obj); infra != "" {
			found.Refusals = append(found.Refusals, ownedByInfra(b, infra))
			continue
		}
		if entry, address := r.publishedElsewhere(b, obj); entry != "" {
			found.Refusals = append(found.Refusals, r.rangeRefused("holds %s, which the entry %s of %s points at", address, entry, b.ref))
		}
	}
	return found, nil
}

// publishedElsewhere is the first entry that nobody's ingress of this provider has made and that points into the range.
func (r *run) publishedElsewhere(b bulletin, obj *unstructured.Unstructured) (name, address string) {
	for _, item := range b.entries.items(obj) {
		entry, _ := item.(map[string]any)
		hostname := strings.ToLower(strings.TrimSuffix(text(entry["hostname"]), "."))
		_, marked := obj.GetAnnotations()[listMarkFor(hostname).ingress]
		target := text(entry[b.entries.target])
		ip, err := netip.ParseAddr(target)
		if err == nil && !marked && !b.entries.owns(entry) && r.spec.MetalLB.Range.Contains(ip) {
			return b.entries.describe(entry), target
		}
	}
	return "", ""
}

// checkVLAN compares with what the Infra and the attachments on it have. An attachment that an ingress of this provider made for the
// same cluster may be on its way out in the same run.
func (r *run) checkVLAN(ctx context.Context) (Findings, error) {
	return r.lookAtVLAN(ctx, func(other *unstructured.Unstructured) bool {
		return madeByProvider(other) && r.sameCluster(other) != ""
	})
}

// lookAtVLAN leaves out the attachments that do not count.
func (r *run) lookAtVLAN(ctx context.Context, leaveOut func(*unstructured.Unstructured) bool) (Findings, error) {
	if r.spec.Infra == "" {
		return Findings{}, nil
	}
	infra, err := find(ctx, r.management, infraRef(r.spec))
	if err != nil {
		return Findings{}, err
	}
	if infra == nil {
		return Findings{Warnings: []*ConfigError{r.noInfra()}}, nil
	}
	attachments, err := findAll(ctx, r.management, attachmentKind(), r.spec.Namespace)
	if err != nil {
		return Findings{}, err
	}
	if own := named(attachments, r.spec.Name); own != nil {
		r.live.attachment = own.DeepCopy() // the list is about to lose it
	}
	attachments = slices.DeleteFunc(attachments, func(other unstructured.Unstructured) bool {
		return specText(&other, "infraRef", "name") != r.spec.Infra || other.GetName() == r.spec.Name ||
			other.GetDeletionTimestamp() != nil || leaveOut(&other)
	})
	vlan := vlanOf(infra)
	reserveAttachments(&vlan, attachments)
	var found Findings
	for _, conflict := range vlan.Conflicts(r.spec.MetalLB.Range) {
		found.Refusals = append(found.Refusals,
			r.rangeRefused("holds addresses of %s of Infra %s (%s)", conflict.What, r.spec.Infra, conflict.Range))
	}
	if vlan.Outside(r.spec.MetalLB.Range) {
		found.Warnings = append(found.Warnings, r.rangeRefused("is not all inside %s, the network of Infra %s", vlan.CIDR, r.spec.Infra))
	}
	for i := range attachments {
		if attribute := r.sameCluster(&attachments[i]); r.spec.Mode == ModeAttachment && attribute != "" {
			found.Refusals = append(found.Refusals, &ConfigError{
				Attribute: attribute,
				Problem: fmt.Sprintf("%s has the same, and the Infra %s would publish neither of the two",
					kube.Ref{Resource: attachmentKind(), Namespace: r.spec.Namespace, Name: attachments[i].GetName()}, r.spec.Infra),
				Remedy: "give the ingress the name of that attachment, or delete it, or correct the attribute",
			})
		}
	}
	return found, nil
}

// noInfra doubts an Infra that does not exist: nothing can be compared with it, and it may be made in the same run.
func (r *run) noInfra() *ConfigError {
	return &ConfigError{
		Attribute: "infra_ref",
		Problem:   fmt.Sprintf("%s does not exist in the %s", infraRef(r.spec), r.management),
		Remedy:    "correct infra_ref",
	}
}

// sameCluster is the attribute in which an attachment is for the same cluster as the ingress; empty: it is for another.
func (r *run) sameCluster(other *unstructured.Unstructured) string {
	domain, cluster := attachedDomain(other), attachedCluster(other)
	if cluster.Namespace == "" {
		cluster.Namespace = DefaultNamespace
	}
	switch {
	case domain == r.spec.Domain:
		return "dns"
	case cluster == r.spec.HostedCluster:
		return "hosted_cluster_ref"
	}
	return ""
}

// vlanOf is what an Infra says of its network.
func vlanOf(infra *unstructured.Unstructured) addresspool.VLAN {
	read := func(fields ...string) string { return specText(infra, fields...) }
	var vlan addresspool.VLAN
	if cidr, err := netip.ParsePrefix(read("networkConfig", "cidr")); err == nil {
		vlan.CIDR = cidr.Masked()
	}
	vlan.Reserve("the gateway", read("networkConfig", "gateway"))
	for _, component := range []string{"dhcp", "dns", "proxy"} {
		vlan.Reserve("the "+component+" server", read("infraComponents", component, "serverIP"))
	}
	vlan.ReserveRange("the DHCP pool", read("infraComponents", "dhcp", "rangeStart"), read("infraComponents", "dhcp", "rangeEnd"))
	return vlan
}

// reserveAttachments adds the ranges of attachments.
func reserveAttachments(vlan *addresspool.VLAN, attachments []unstructured.Unstructured) {
	for i := range attachments {
		addresses := specText(&attachments[i], "appsIngress", "metallb", "ipAddressPoolRange")
		enabled, _, _ := unstructured.NestedBool(attachments[i].Object, "spec", "appsIngress", "enabled")
		if taken, err := addresspool.Parse(addresses); err == nil && enabled {
			vlan.Reserved = append(vlan.Reserved, addresspool.Reservation{What: "attachment " + attachments[i].GetName(), Range: taken})
		}
	}
}

// checkPools compares the range with the pools of the hosted cluster that this provider did not make.
func (r *run) checkPools(ctx context.Context, clusters *kube.Clusters) (Findings, error) {
	a := access{management: r.management, clusters: clusters, spec: r.spec}
	hosted, _, err := a.connect(ctx)
	if gone := (*HostedClusterGoneError)(nil); errors.As(err, &gone) {
		return Findings{Warnings: []*ConfigError{a.unknownCluster()}}, nil
	}
	if err != nil {
		return Findings{}, err
	}
	r.hosted = hosted
	if err := observe(ctx, r, []step{operator{}, addressPool{}, service{}}); err != nil {
		return Findings{}, err
	}
	var made string // by the operator, for this ingress: it is on its way out when another is wanted
	if r.spec.Mode == ModeAttachment {
		current, err := find(ctx, r.management, attachmentRef(r.spec))
		if err != nil {
			return Findings{}, err
		}
		made = appliedPool(current)
	}
	var found Findings
	for i := range r.live.pools {
		pool := &r.live.pools[i]
		if name := pool.GetName(); madeByProvider(pool) || name == r.spec.MetalLB.AddressPoolName || name == made {
			continue
		}
		if overlap := r.overlap(pool, hosted); overlap != nil {
			found.Refusals = append(found.Refusals, overlap)
		}
	}
	return found, nil
}

// appliedPool is the pool that the operator has made for an attachment.
func appliedPool(attachment *unstructured.Unstructured) string {
	if attachment == nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(attachment.Object, "status", "appsIngressStatus", "appliedAddressPoolName")
	return name
}
