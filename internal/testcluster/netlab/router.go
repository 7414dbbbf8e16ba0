package netlab

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

const readHeaderTimeout = 10 * time.Second

// router plays the pod of the default IngressController that runs on a worker. It answers for every host below its
// domain, and says which one it was asked for; what it does not know gets 503, as from the real one.
type router struct {
	worker string
	domain string // "apps.<name>.<base domain>"
	tls    *tls.Config
}

func newRouter(worker, domain string, certificate tls.Certificate) *router {
	return &router{worker: worker, domain: domain, tls: &tls.Config{
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS12,
	}}
}

// serve listens on an address inside of the worker, and serves until the server is closed.
func (r *router) serve(ctx context.Context, n *Namespace, address netip.AddrPort, scheme string) (*http.Server, error) {
	listener, err := n.Listen(ctx, "tcp", address.String())
	if err != nil {
		return nil, fmt.Errorf("listening for the router: %w", err)
	}
	if scheme == "https" {
		listener = tls.NewListener(listener, r.tls)
	}
	server := &http.Server{
		Handler:           r,
		ReadHeaderTimeout: readHeaderTimeout,
		ErrorLog:          log.New(io.Discard, "", 0), //nolint:forbidigo // it throws away what clients do that hang up
	}
	n.tasks.Go(func() { _ = server.Serve(listener) }) // it always fails in the end
	return server, nil
}

// ServeHTTP says what the router saw of a request. The SNI is worth a word only where it is another host.
func (r *router) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	host := request.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if label, below := strings.CutSuffix(strings.ToLower(host), "."+r.domain); !below || label == "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "no route for %s on %s\n", host, r.worker) //nolint:gosec // plain text, to a test
		return
	}
	scheme, sni := "http", ""
	if request.TLS != nil {
		scheme = "https"
		if request.TLS.ServerName != host {
			sni = fmt.Sprintf(" (SNI %s)", request.TLS.ServerName)
		}
	}
	_, _ = fmt.Fprintf(w, "%s %s%s from %s\n", scheme, host, sni, r.worker) //nolint:gosec // plain text, to a test
}
