package netlab

import (
	"context"
	"net/netip"
)

// Expose has the worker's router answer at the worker's own address as well: that is where a load balancer outside of the
// hosted cluster, such as a cloud's, leads to.
func (w *Worker) Expose(ctx context.Context) error {
	for scheme, port := range routerPorts() {
		address := netip.AddrPortFrom(w.Address, uint16(port)) //nolint:gosec // 80 and 443
		server, err := w.router.serve(ctx, w.Namespace, address, scheme)
		if err != nil {
			return err
		}
		context.AfterFunc(w.ctx, func() { _ = server.Close() }) //nolint:contextcheck // it serves as long as the worker is there
	}
	return nil
}
