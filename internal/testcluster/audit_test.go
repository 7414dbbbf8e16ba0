package testcluster_test

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

func TestAuditCountsByUser(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	create(t, cluster, configMaps, configMap("clusters", "before-the-mark"))
	mark, err := cluster.Audit().Mark()
	must(t, err)

	provider := cluster.Dynamic(testcluster.UserProvider).Resource(configMaps).Namespace("clusters")
	create(t, cluster, configMaps, configMap("clusters", "by-the-test"))
	watcher, err := provider.Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	_, err = provider.Create(t.Context(), configMap("clusters", "by-the-provider"), metav1.CreateOptions{})
	must(t, err)
	if _, err = provider.Get(t.Context(), "nothing", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("got %v, want not found", err)
	}
	watcher.Stop()

	entries, err := cluster.Audit().Since(mark, testcluster.ByUser(testcluster.UserProvider))
	must(t, err)
	var got []string
	for _, entry := range entries {
		got = append(got, fmt.Sprintf("%s %s %s/%s %d", entry.Verb, entry.Object.Resource, entry.Object.Namespace, entry.Object.Name,
			entry.Response.Code))
		if entry.RequestReceived.IsZero() || entry.StageTime.Before(entry.RequestReceived) ||
			entry.RequestURI == "" || entry.UserAgent == "" {
			t.Errorf("incomplete entry: %+v", entry)
		}
	}
	want := "[watch configmaps clusters/ 200 create configmaps clusters/by-the-provider 201 get configmaps clusters/nothing 404]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}

	writes, err := cluster.Audit().Since(mark, testcluster.Writes(), testcluster.ByUser(testcluster.UserProvider, testcluster.UserTest))
	must(t, err)
	if len(writes) != 2 || len(writes[0].RequestObject) == 0 {
		t.Errorf("got %v, want two writes with what was sent", writes)
	}
}

func TestAuditKeepsSecretsOut(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	mark, err := cluster.Audit().Mark()
	must(t, err)
	secret := object("v1", "Secret", "clusters", "kubeconfig")
	secret.Object["stringData"] = map[string]any{"kubeconfig": "confidential"}
	create(t, cluster, schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, secret)
	writes, err := cluster.Audit().Since(mark, testcluster.Writes())
	must(t, err)
	if len(writes) != 1 || len(writes[0].RequestObject)+len(writes[0].ResponseObject) != 0 {
		t.Errorf("got %v, want one write without its content", writes)
	}
}
