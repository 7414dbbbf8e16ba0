package simulator

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	poolWebhook          = "ipaddresspoolvalidationwebhook.metallb.io"
	advertisementWebhook = "l2advertisementvalidationwebhook.metallb.io"
	mutatingWebhook      = "defaults.simulator.example.com"

	validatePath = "/validate"
	mutatePath   = "/mutate"
	probeName    = "admission-probe"

	// effectiveWithin bounds how long an API server may take to notice a webhook configuration.
	effectiveWithin = 10 * time.Second
)

// Mutation is what a mutating webhook adds to every Service and IPAddressPool that is written.
type Mutation struct {
	Annotations map[string]string
	Labels      map[string]string
	Defaults    map[string]any // fields of spec, added where they are absent
	Port        map[string]any // a port that a Service gets, unless it has one of this name; nil: none
	Services    bool
	Pools       bool
}

// Admission plays MetalLB's validating webhook, and someone else's mutating one, on the hosted cluster. Both are off
// until switched on. MetalLB's own controller runs without its webhooks, so this is the only validation at write.
type Admission struct {
	client dynamic.Interface
	server *webhookServer

	mu       sync.Mutex
	enabled  map[string]bool
	mutation Mutation
	slow     time.Duration
}

func newAdmission(client dynamic.Interface, logf func(string, ...any)) *Admission {
	a := &Admission{client: client, enabled: map[string]bool{}}
	a.server = &webhookServer{logf: logf, validate: a.validatePool, mutate: a.mutate}
	return a
}

// WebhookNotReady registers MetalLB's webhooks without anybody listening, as while its pods start: writes of pools and
// advertisements fail with "failed calling webhook". It returns when the API server acts on it.
func (a *Admission) WebhookNotReady(ctx context.Context) error {
	if err := a.server.close(); err != nil {
		return err
	}
	if err := a.registerValidating(ctx); err != nil {
		return err
	}
	return a.effective(ctx, poolsResource, probePool(), func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "failed calling webhook")
	})
}

// WebhookReady serves the webhooks, each answer delayed by slow. Overlapping pools are denied as MetalLB does.
func (a *Admission) WebhookReady(ctx context.Context, slow time.Duration) error {
	a.mu.Lock()
	a.slow = slow
	a.mu.Unlock()
	if err := a.server.listen(ctx); err != nil {
		return err
	}
	if err := a.registerValidating(ctx); err != nil {
		return err
	}
	before := a.server.calls.Load()
	return a.effective(ctx, poolsResource, probePool(), func(error) bool { return a.server.calls.Load() > before })
}

// Mutate adds something to every Service or pool written from now on.
func (a *Admission) Mutate(ctx context.Context, mutation Mutation) error {
	a.mu.Lock()
	a.mutation = mutation
	a.mu.Unlock()
	if err := a.server.listen(ctx); err != nil {
		return err
	}
	var rules []any
	if mutation.Services {
		rules = append(rules, rule("", "v1", servicesResource.Resource))
	}
	if mutation.Pools {
		rules = append(rules, rule(metallbGroup, "v1beta1", poolsResource.Resource))
	}
	config := newObject("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "simulator-defaults")
	config.Object["webhooks"] = []any{a.webhook(mutatingWebhook, mutatePath, rules)}
	if err := a.register(ctx, mutatingWebhooksResource.Resource, config); err != nil {
		return err
	}
	before := a.server.calls.Load()
	called := func(error) bool { return a.server.calls.Load() > before }
	if mutation.Services {
		return a.effective(ctx, servicesResource, probeService(), called)
	}
	return a.effective(ctx, poolsResource, probePool(), called)
}

// Off takes all webhooks away. It returns when the API server does without them.
func (a *Admission) Off(ctx context.Context) error {
	a.mu.Lock()
	enabled := maps.Clone(a.enabled)
	a.mu.Unlock()
	for key := range enabled {
		resource, name, _ := strings.Cut(key, "/")
		api := a.client.Resource(validatingWebhooksResource.GroupVersion().WithResource(resource))
		if err := remove(ctx, api, "", name); err != nil {
			return err
		}
		a.mu.Lock()
		delete(a.enabled, key)
		a.mu.Unlock()
	}
	if len(enabled) > 0 {
		if err := a.released(ctx); err != nil {
			return err
		}
	}
	return a.server.close()
}

// released waits until dry-run writes reach no webhook any more.
func (a *Admission) released(ctx context.Context) error {
	for _, probe := range []*unstructured.Unstructured{probePool(), probeService()} {
		resource := poolsResource
		if probe.GetKind() == "Service" {
			resource = servicesResource
		}
		calls := a.server.calls.Load()
		err := a.effective(ctx, resource, probe, func(err error) bool {
			same := a.server.calls.Load() == calls
			calls = a.server.calls.Load()
			return same && (err == nil || !strings.Contains(err.Error(), "failed calling webhook"))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *Admission) registerValidating(ctx context.Context) error {
	config := newObject("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "metallb-webhook-configuration")
	config.Object["webhooks"] = []any{
		a.webhook(poolWebhook, validatePath, []any{rule(metallbGroup, "v1beta1", poolsResource.Resource)}),
		a.webhook(advertisementWebhook, validatePath, []any{rule(metallbGroup, "v1beta1", advertisementsResource.Resource)}),
	}
	return a.register(ctx, validatingWebhooksResource.Resource, config)
}

// register creates the configuration, or puts the current one in place of an older one.
func (a *Admission) register(ctx context.Context, resource string, config *unstructured.Unstructured) error {
	api := a.client.Resource(validatingWebhooksResource.GroupVersion().WithResource(resource))
	live, err := create(ctx, api, config.DeepCopy())
	if err != nil {
		return err
	}
	live.Object["webhooks"] = config.Object["webhooks"]
	if _, err := api.Update(ctx, live, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("registering %s: %w", config.GetName(), err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.enabled[resource+"/"+config.GetName()] = true
	return nil
}

func (a *Admission) webhook(name, path string, rules []any) object {
	return object{
		"name": name, "rules": rules, "failurePolicy": "Fail", "sideEffects": "None",
		"admissionReviewVersions": []any{"v1"}, "timeoutSeconds": int64(10),
		"clientConfig": object{
			"url":      "https://127.0.0.1:" + strconv.Itoa(a.server.port) + path,
			"caBundle": base64.StdEncoding.EncodeToString(a.server.caBundle),
		},
	}
}

func rule(group, version, resource string) object {
	return object{
		"apiGroups": []any{group}, "apiVersions": []any{version}, "resources": []any{resource},
		"operations": []any{"CREATE", "UPDATE"}, "scope": "*",
	}
}

// effective writes a probe without effect until the API server shows that it knows of the webhook.
func (a *Admission) effective(ctx context.Context, resource schema.GroupVersionResource, probe *unstructured.Unstructured,
	done func(error) bool,
) error {
	ctx, cancel := context.WithTimeout(ctx, effectiveWithin)
	defer cancel()
	for ctx.Err() == nil {
		_, err := a.client.Resource(resource).Namespace(probe.GetNamespace()).
			Create(ctx, probe.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		// Without the kind there is nothing to probe yet; the webhook acts when the kind is there.
		if apierrors.IsNotFound(err) || done(err) {
			return nil
		}
		pause(ctx, unservedRetry)
	}
	return fmt.Errorf("waiting for the webhook to take effect: %w", ctx.Err())
}

func probePool() *unstructured.Unstructured {
	u := newObject(poolsResource.GroupVersion().String(), "IPAddressPool", "default", probeName)
	u.Object["spec"] = object{"addresses": []any{"127.255.255.254/32"}}
	return u
}

func probeService() *unstructured.Unstructured {
	u := newObject("v1", "Service", "default", probeName)
	u.Object["spec"] = object{"ports": []any{object{"port": int64(80)}}}
	return u
}

// validatePool denies a pool that shares addresses with another, as MetalLB's webhook does.
func (a *Admission) validatePool(ctx context.Context, pool *unstructured.Unstructured) error {
	a.mu.Lock()
	slow := a.slow
	a.mu.Unlock()
	pause(ctx, slow)
	if pool.GetKind() != "IPAddressPool" {
		return nil
	}
	others, err := list(ctx, a.client.Resource(poolsResource), pool.GetNamespace())
	if err != nil {
		return err
	}
	others = slices.DeleteFunc(others, func(u unstructured.Unstructured) bool { return u.GetName() == pool.GetName() })
	return overlap(pool, others)
}
