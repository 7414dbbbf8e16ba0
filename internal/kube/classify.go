package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// IsNotFound says that the object, or its whole kind, is absent. A kubeconfig that could not be read is not that.
func IsNotFound(err error) bool {
	return hasCode(err, http.StatusNotFound) || meta.IsNoMatchError(err)
}

// IsAnswer says that an API server has answered the request, if only with an error. A connection that failed is no answer.
func IsAnswer(err error) bool {
	_, ok := statusOf(err)
	return ok
}

// IsConflict says that somebody else wrote in between, or owns a field (then IsApplyConflict names it).
func IsConflict(err error) bool {
	status, ok := statusOf(err)
	return ok && status.Reason == metav1.StatusReasonConflict
}

// IsForbidden is a 403: of authorization or of an admission webhook.
func IsForbidden(err error) bool { return hasCode(err, http.StatusForbidden) }

// isWebhookDenial tells the 403 of an admission webhook from that of authorization: the API server's text alone does.
func isWebhookDenial(err error) bool {
	status, ok := statusOf(err)
	return ok && strings.HasPrefix(status.Message, "admission webhook ")
}

// IsUnauthorized is a 401 that a fresh reading of the credentials did not cure.
func IsUnauthorized(err error) bool { return hasCode(err, http.StatusUnauthorized) }

// IsInvalid is a 422: the object breaks its schema or a validation rule.
func IsInvalid(err error) bool { return hasCode(err, http.StatusUnprocessableEntity) }

// IsDenied says that the API server, its validation or an admission webhook refused the request: repeating it is of no use.
func IsDenied(err error) bool {
	status, ok := statusOf(err)
	if !ok {
		return false
	}
	switch status.Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	default:
		return false
	}
}

// IsTransient says that the same request may succeed later: the server is away, overloaded or not ready ("failed calling
// webhook" included), the credentials expired, or somebody else wrote in between. The end of the caller's own context is not.
// An error of the caller's own says so itself with a method Transient() bool.
func IsTransient(err error) bool {
	if err == nil {
		return false
	}
	var silent *silence
	if errors.As(err, &silent) {
		return true
	}
	var declared interface{ Transient() bool }
	if errors.As(err, &declared) {
		return declared.Transient()
	}
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		return isTransientStatus(err, api.Status())
	}
	return !isContextEnd(err) && !isCertificate(err) && isTransientNetwork(err)
}

func isTransientStatus(err error, status metav1.Status) bool {
	switch {
	case status.Code == http.StatusUnauthorized, status.Code == http.StatusRequestTimeout, status.Code == http.StatusTooManyRequests:
		return true
	case status.Code == http.StatusNotImplemented:
		return false
	case status.Code >= http.StatusInternalServerError:
		return true
	default:
		return status.Reason == metav1.StatusReasonConflict && IsApplyConflict(err) == nil
	}
}

// isTransientNetwork is a connection that failed on the way. A name that does not exist is not, it is most likely mistyped;
// neither is a server that does not speak TLS, or that refuses ours.
func isTransientNetwork(err error) bool {
	var (
		name  *net.DNSError
		alert tls.AlertError
		plain tls.RecordHeaderError
		errno syscall.Errno
		gone  *lost
	)
	switch {
	case errors.As(err, &name):
		return !name.IsNotFound
	case errors.As(err, &alert), errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return false
	case errors.As(err, &gone):
		return true
	case errors.As(err, &errno):
		return isTransientErrno(errno)
	default:
		return utilnet.IsTimeout(err) || utilnet.IsProbableEOF(lastOf(err)) || utilnet.IsHTTP2ConnectionLost(err) || isHTTP2(err)
	}
}

// isHTTP2 is a stream that ended while its answer was read.
func isHTTP2(err error) bool {
	var (
		goAway http2.GoAwayError
		stream http2.StreamError
	)
	return errors.As(err, &goAway) || errors.As(err, &stream)
}

func isTransientErrno(errno syscall.Errno) bool {
	switch errno {
	case syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT,
		syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN, syscall.EADDRNOTAVAIL:
		return true
	default:
		return false
	}
}

// lastOf is the innermost error of a chain: the end of a stream is compared by identity.
func lastOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// isContextEnd looks for the context errors themselves: errors.Is would also find them in every timeout of the net package.
func isContextEnd(err error) bool {
	switch wrapped := err.(type) { //nolint:errorlint // it is the walk along the chain
	case interface{ Unwrap() error }:
		return isContextEnd(wrapped.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(wrapped.Unwrap(), isContextEnd)
	default:
		return err == context.Canceled || err == context.DeadlineExceeded //nolint:errorlint // see above
	}
}

// isCertificate says that our own verification of the server's certificate failed.
func isCertificate(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		hostname     x509.HostnameError
		invalid      x509.CertificateInvalidError
	)
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &hostname) || errors.As(err, &invalid)
}

func hasCode(err error, code int32) bool {
	status, ok := statusOf(err)
	return ok && status.Code == code
}
