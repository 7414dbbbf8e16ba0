// Package kube talks to API servers: connection, reads, server-side apply, changes with optimistic concurrency, and the one
// wait helper. It knows no kind, holds no credential in any text, and must not import a generated clientset.
package kube
