package testcluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// The users of every cluster. All but the restricted one may do everything; there are several so that the audit log
// tells who did what.
const (
	UserAdmin     = "admin"     // this package itself: making and resetting clusters
	UserTest      = "test"      // what a test does by hand
	UserProvider  = "provider"  // the provider under test
	UserSimulator = "simulator" // stand-ins for controllers
	UserMetalLB   = "metallb"   // the MetalLB controller

	// UserRestricted may do nothing but what Cluster.Grant gives it.
	UserRestricted = "restricted"
)

const mastersGroup = "system:masters"

// tokens holds the bearer token of each user. An environment has one set, valid on each of its clusters.
type tokens map[string]string

func newTokens() tokens {
	all := tokens{}
	for _, user := range []string{UserAdmin, UserTest, UserProvider, UserSimulator, UserMetalLB, UserRestricted} {
		all[user] = user + "-" + strings.ToLower(rand.Text())
	}
	return all
}

// Write puts the tokens into a file as kube-apiserver reads it: token, user, uid, groups.
func (t tokens) Write(file string) error {
	var content strings.Builder
	for _, user := range slices.Sorted(maps.Keys(t)) {
		group := mastersGroup
		if user == UserRestricted {
			group = ""
		}
		fmt.Fprintf(&content, "%s,%s,%s,%q\n", t[user], user, user, group)
	}
	if err := os.WriteFile(file, []byte(content.String()), 0o600); err != nil {
		return fmt.Errorf("writing the tokens: %w", err)
	}
	return nil
}

// Permission is a rule of a ClusterRole: "" is the core group, "*" is everything.
type Permission struct{ Groups, Resources, Verbs []string }

// Grant gives a restricted user these rights in the whole cluster, in place of those that it had. They end with the test.
func (c *Cluster) Grant(ctx context.Context, user string, rules ...Permission) error {
	var list []any
	for _, rule := range rules {
		list = append(list, map[string]any{
			"apiGroups": anySlice(rule.Groups), "resources": anySlice(rule.Resources), "verbs": anySlice(rule.Verbs),
		})
	}
	role := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": "granted-" + user},
		"rules":    list,
	}}
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": "granted-" + user},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "granted-" + user},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
	}}
	for plural, object := range map[string]*unstructured.Unstructured{"clusterroles": role, "clusterrolebindings": binding} {
		resource := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: plural}
		client := c.Dynamic(UserAdmin).Resource(resource)
		err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("taking back what %s was granted: %w", user, err)
		}
		if _, err := client.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("granting rights to %s: %w", user, err)
		}
	}
	return c.waitGranted(ctx, user, rules)
}

// waitGranted waits until the API server acts on a new role: it learns of it by a watch.
func (c *Cluster) waitGranted(ctx context.Context, user string, rules []Permission) error {
	reviews := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
	for _, rule := range rules {
		attributes := map[string]any{"group": rule.Groups[0], "resource": rule.Resources[0], "verb": rule.Verbs[0]}
		err := wait.PollUntilContextTimeout(ctx, askPoll, settleTimeout, true, func(ctx context.Context) (bool, error) {
			review := newObject("authorization.k8s.io/v1", "SelfSubjectAccessReview", "", "")
			review.Object["spec"] = map[string]any{"resourceAttributes": attributes}
			answer, err := c.Dynamic(user).Resource(reviews).Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return false, err
			}
			allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
			return allowed, nil
		})
		if err != nil {
			return fmt.Errorf("waiting until %s may %s %s: %w", user, rule.Verbs[0], rule.Resources[0], err)
		}
	}
	return nil
}

func anySlice(values []string) []any {
	all := make([]any, 0, len(values))
	for _, value := range values {
		all = append(all, value)
	}
	return all
}
