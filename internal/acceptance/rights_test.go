package acceptance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

var (
	serviceAccounts = kindOf("", "v1", "serviceaccounts", "ServiceAccount")
	accessReviews   = kindOf("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview")
	roles           = kindOf("rbac.authorization.k8s.io", "v1", "roles", "Role")
)

// rightsKinds are the kinds that the files in examples/rbac may have.
func rightsKinds() []kind {
	group := "rbac.authorization.k8s.io"
	return []kind{
		serviceAccounts, roles,
		kindOf(group, "v1", "rolebindings", "RoleBinding"),
		kindOf(group, "v1", "clusterroles", "ClusterRole"),
		kindOf(group, "v1", "clusterrolebindings", "ClusterRoleBinding"),
	}
}

// right is one verb on one resource. Without a namespace it is one in all of them, or on what is in none.
type right struct{ namespace, group, resource, verb, name string }

func (r right) String() string {
	return fmt.Sprintf("%s %s.%s %s in %q", r.verb, r.resource, r.group, r.name, r.namespace)
}

// account is who the provider is in a cluster: an account with the rights of the published files and no others.
type account struct {
	live live
	user string // as the audit log has it
	name string
	home string // namespace
}

// apply creates what a file has, as kubectl apply -f does, waits until the API server acts on it, and returns the rights.
func (a *account) apply(file string) (added []right) {
	a.live.t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "examples", "rbac", file))
	if err != nil {
		a.live.t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(obj); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			a.live.t.Fatal(err)
		}
		kinds := rightsKinds()
		k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == obj.GetKind() })]
		if _, err := a.live.client(k, obj.GetNamespace()).Create(a.live.ctx(), obj, metav1.CreateOptions{}); err != nil {
			a.live.t.Fatal(err)
		}
		if k == serviceAccounts {
			a.name, a.home = obj.GetName(), obj.GetNamespace()
			a.user = "system:serviceaccount:" + a.home + ":" + a.name
		}
		added = append(added, rightsOf(obj)...)
	}
	for _, r := range added {
		a.await(r, true)
	}
	return added
}

// rightsOf are the rights of a role, one by one.
func rightsOf(role *unstructured.Unstructured) []right {
	var all []right
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	for _, item := range rules {
		rule, _ := item.(map[string]any)
		part := func(name string) []string {
			values, _, _ := unstructured.NestedStringSlice(rule, name)
			return values
		}
		names := part("resourceNames")
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range part("apiGroups") {
			for _, resource := range part("resources") {
				for _, name := range names {
					for _, verb := range part("verbs") {
						all = append(all, right{role.GetNamespace(), group, resource, verb, name})
					}
				}
			}
		}
	}
	return all
}

// await waits until the API server allows, or does not allow any more, what a right stands for.
func (a *account) await(r right, want bool) {
	a.live.t.Helper()
	a.live.await("the right to "+r.String(), func() bool {
		review := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"user": a.user, "groups": []any{"system:serviceaccounts", "system:authenticated"},
			"resourceAttributes": map[string]any{
				"namespace": r.namespace, "group": r.group, "resource": r.resource, "verb": r.verb, "name": r.name,
			},
		}}}
		review.SetAPIVersion("authorization.k8s.io/v1")
		review.SetKind("SubjectAccessReview")
		answer, err := a.live.client(accessReviews, "").Create(a.live.ctx(), review, metav1.CreateOptions{})
		if err != nil {
			a.live.t.Fatal(err)
		}
		allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
		return allowed == want
	})
}

// kubeconfig is the cluster's, with a token of the account.
func (a *account) kubeconfig(w *world) []byte {
	a.live.t.Helper()
	request := &unstructured.Unstructured{Object: map[string]any{}}
	request.SetAPIVersion("authentication.k8s.io/v1")
	request.SetKind("TokenRequest")
	request.SetName(a.name)
	answer, err := a.live.client(serviceAccounts, a.home).Create(a.live.ctx(), request, metav1.CreateOptions{}, "token")
	if err != nil {
		a.live.t.Fatal(err)
	}
	token, _, _ := unstructured.NestedString(answer.Object, "status", "token")
	config := w.loaded(a.live.cluster.KubeconfigBytes(testcluster.UserProvider))
	config.AuthInfos[testcluster.UserProvider].Token = token
	return encoded(a.live.t, config)
}

// drop deletes the roles and bindings whose names end like this.
func (a *account) drop(suffix string) {
	a.live.t.Helper()
	for _, k := range rightsKinds()[1:] {
		all, err := a.live.client(k, "").List(a.live.ctx(), metav1.ListOptions{})
		if err != nil {
			a.live.t.Fatal(err)
		}
		for _, item := range all.Items {
			if item.GetName() == a.name+suffix {
				err := a.live.client(k, item.GetNamespace()).Delete(a.live.ctx(), item.GetName(), metav1.DeleteOptions{})
				if err != nil && !apierrors.IsNotFound(err) {
					a.live.t.Fatal(err)
				}
			}
		}
	}
}

// asked are the account's requests since a moment that needed a right.
func (a *account) asked(since requests) []testcluster.AuditEntry {
	a.live.t.Helper()
	entries, err := since.audit.Since(since.mark, testcluster.ByUser(a.user))
	if err != nil {
		a.live.t.Fatal(err)
	}
	return slices.DeleteFunc(entries, func(e testcluster.AuditEntry) bool { return e.Object.Resource == "" })
}

// uses says that a request needs a right. An apply that creates needs a second one.
func (r right) uses(e testcluster.AuditEntry) bool {
	verb := e.Verb == r.verb || r.verb == "create" && e.Verb == "patch" && e.Response.Code == 201
	return verb && e.Object.Group == r.group && e.Object.Resource == r.resource && e.Object.Namespace == r.namespace &&
		(r.name == "" || r.name == e.Object.Name)
}

// exact checks that every right was used and that no request was refused.
func (a *account) exact(rights []right, entries []testcluster.AuditEntry) {
	a.live.t.Helper()
	for _, r := range rights {
		if !slices.ContainsFunc(entries, r.uses) {
			a.live.t.Errorf("%s cluster: nothing needs the right to %s", a.live.cluster.Name, r)
		}
	}
	a.refused(entries, nil)
}

// refused checks that no request was refused, but for those that need one of these rights.
func (a *account) refused(entries []testcluster.AuditEntry, but []right) {
	a.live.t.Helper()
	for _, e := range entries {
		if e.Response.Code == 403 && !slices.ContainsFunc(but, func(r right) bool { return r.uses(e) }) {
			a.live.t.Errorf("%s cluster: refused: %s", a.live.cluster.Name, e)
		}
	}
}

// A life with the published rights and no others: every one of them is used and no request is refused. Without the optional ones
// the life is the same. A right that is missing is named.
func TestLifeWithThePublishedRights(t *testing.T) {
	w := newWorld(t, reluctant)
	management, hosted := &account{live: w.management}, &account{live: w.hosted}
	all := management.apply("management.yaml")
	needed := hosted.apply("hosted.yaml")
	optional := hosted.apply("hosted-optional.yaml")
	c := newCLI(t, "")
	file := c.file("management.yaml", string(management.kubeconfig(w)))
	life := restricted{w: w, c: c, file: file, management: management, hosted: hosted}

	sinceManagement, sinceHosted := w.management.requests(), w.hosted.requests()
	life.create()
	life.update()
	life.importAgain("clusters/demo")
	life.destroy()
	management.exact(all, management.asked(sinceManagement))
	// InstallPlans are only read when a destroy meets an installation under way, which this life does not have.
	used := slices.DeleteFunc(slices.Concat(needed, optional), func(r right) bool { return r.resource == "installplans" })
	hosted.exact(used, hosted.asked(sinceHosted))

	hosted.drop("-optional")
	for _, r := range optional {
		hosted.await(r, false)
	}
	life.planWithInfra()
	sinceHosted = w.hosted.requests()
	c.config(life.config())
	c.apply()
	life.importAgain("clusters/demo")
	c.destroy()
	asked := hosted.asked(sinceHosted)
	hosted.refused(asked, optional)
	if !strings.Contains(lines(asked), " 403 list ") {
		t.Error("the optional rights are still there")
	}
	c.apply()
	life.missing()
	c.config(life.config())
	c.destroy()
}
