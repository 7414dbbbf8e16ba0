package kube

import "net/http"

// lost is a request that got no answer, in the words of the network. The HTTP client has errors of no exported type ("server
// closed idle connection"): that they came from the transport, and not from a credential plugin above it, is all there is to
// tell them by.
type lost struct{ err error }

func (l *lost) Error() string { return l.err.Error() }

func (l *lost) Unwrap() error { return l.err }

// marking marks what its transport fails with. It sits below everything that adds credentials.
type marking struct{ transport http.RoundTripper }

func (m marking) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := m.transport.RoundTrip(request)
	if err != nil {
		return nil, &lost{err}
	}
	return response, nil
}

// WrappedRoundTripper lets the helpers of apimachinery see the transport.
func (m marking) WrappedRoundTripper() http.RoundTripper { return m.transport }
