package kube

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// FieldManager is the name under which every write is made, except a Patch with a manager of its own. It never changes:
// the API server keeps it on the objects.
const FieldManager = "terraform-provider-oooi"

// requestTimeout is how long one request may take. An admission webhook may use up to 30 seconds of it.
const requestTimeout = 35 * time.Second

// Cluster is one API server. It connects at first use, not before, and asks no discovery: callers name resources in full.
// It is safe for concurrent use. A request that is answered by 401 is repeated once with credentials read afresh.
type Cluster struct {
	name      string
	connector connector
	turns     turns
	uid       types.UID // guarded by the turn for the namespace it is read from
}

// NewCluster names a cluster and says how its connection is configured. load is called at first use, and again after a 401.
func NewCluster(name string, load func(ctx context.Context) (*rest.Config, error)) *Cluster {
	return &Cluster{name: name, connector: connector{load: load}}
}

// String is the cluster's name in messages: "management cluster", "hosted cluster clusters/demo".
func (c *Cluster) String() string { return c.name }

// The verbs, as errors name them.
const (
	verbGet    = "get"
	verbList   = "list"
	verbWatch  = "watch"
	verbApply  = "apply"
	verbPatch  = "patch"
	verbUpdate = "update"
	verbDelete = "delete"
)

// request sends one request, and a second time after a 401 or a certificate that no longer fits what was read before. Every
// error is an *Error; when it is our own time limit that passed, it is transient.
func (c *Cluster) request(ctx context.Context, verb string, ref Ref, send func(ctx context.Context, conn *connection) error) error {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return c.wrap(verb, ref, blame(ctx, limited, requestTimeout, c.authorized(limited, send)))
}

// authorized sends, and sends again over a new connection when the credentials of the old one are no longer good.
func (c *Cluster) authorized(ctx context.Context, send func(ctx context.Context, conn *connection) error) error {
	conn, err := c.connector.get(ctx, nil)
	if err != nil {
		return err
	}
	err = send(ctx, conn)
	if !IsUnauthorized(err) && !isCertificate(err) {
		return err
	}
	fresh, loadErr := c.connector.get(ctx, conn)
	if loadErr != nil {
		return fmt.Errorf("read the credentials again: %w", loadErr)
	}
	return send(ctx, fresh)
}

func (c *Cluster) wrap(verb string, ref Ref, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Verb: verb, Ref: ref, Cluster: c.name, Err: err}
}

// blame says whose time ran out: the end of a context of our own is a transient error as long as the caller's goes on, and the
// end of the caller's context is always recognizable as that, whatever the network made of it.
func blame(outer, inner context.Context, limit time.Duration, err error) error {
	switch {
	case err == nil:
		return nil
	case outer.Err() != nil && !isContextEnd(err):
		return fmt.Errorf("%w: %w", contextError(outer), err)
	case outer.Err() == nil && inner.Err() != nil:
		return &silence{after: limit, err: err}
	default:
		return err
	}
}
