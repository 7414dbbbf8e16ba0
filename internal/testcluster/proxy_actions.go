package testcluster

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Exchange is one request that a rule has met.
type Exchange struct {
	Writer  http.ResponseWriter
	Request *http.Request
	Forward http.Handler // answers as if there were no rule

	removed <-chan struct{}
}

// Action is what a rule does with a request.
type Action func(Exchange)

func (e Exchange) pass() { e.Forward.ServeHTTP(e.Writer, e.Request) }

// Pass only counts.
func Pass() Action { return Exchange.pass }

// Do calls a function before the request goes on: to act right at this point of a run.
func Do(act func(*http.Request)) Action {
	return func(e Exchange) {
		act(e.Request)
		e.pass()
	}
}

// Delay lets the request go on after a while.
func Delay(duration time.Duration) Action {
	return func(e Exchange) {
		timer := time.NewTimer(duration)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-e.removed:
		case <-e.Request.Context().Done():
			return
		}
		e.pass()
	}
}

// Refuse closes the connection before any answer. Go's HTTP client asks once more by itself when it was a read on a
// connection that it had used before; without Match.Times both meet the rule.
func Refuse() Action {
	return func(Exchange) { panic(http.ErrAbortHandler) }
}

// Cut lets the API server act on the request, and closes the connection in the middle of the answer's body; of a watch,
// in the middle of the first event.
func Cut() Action {
	return func(e Exchange) { e.Forward.ServeHTTP(&cutWriter{ResponseWriter: e.Writer}, e.Request) }
}

// Lose lets the API server act on the request, and closes the connection without passing on anything of the answer.
func Lose() Action {
	return func(e Exchange) { e.Forward.ServeHTTP(&lostWriter{header: http.Header{}}, e.Request) }
}

// Hang accepts the request and never answers.
func Hang() Action {
	return func(e Exchange) {
		select {
		case <-e.removed:
		case <-e.Request.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
}

// Answer answers in place of the API server, as it would: with a Status object. The headers are pairs of name and value.
func Answer(code int, reason metav1.StatusReason, message string, headers ...string) Action {
	return func(e Exchange) {
		for i := 0; i+1 < len(headers); i += 2 {
			e.Writer.Header().Set(headers[i], headers[i+1])
		}
		body, err := json.Marshal(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message, //nolint:gosec // three digits
		})
		if err != nil {
			panic(err) // a plain struct always encodes
		}
		e.Writer.Header().Set("Content-Type", "application/json")
		e.Writer.WriteHeader(code)
		_, _ = e.Writer.Write(body) // the client may be gone
	}
}

// Hold starts the answer and holds back its body until it is released or the rule removed: with VerbWatch, the events.
func Hold() (action Action, release func()) {
	released := make(chan struct{})
	action = func(e Exchange) {
		e.Forward.ServeHTTP(&heldWriter{ResponseWriter: e.Writer, exchange: e, released: released}, e.Request)
	}
	return action, sync.OnceFunc(func() { close(released) })
}

// errCut makes the reverse proxy close the connection.
var errCut = errors.New("cut on purpose")

type cutWriter struct{ http.ResponseWriter }

func (w *cutWriter) Write(content []byte) (int, error) {
	written, err := w.ResponseWriter.Write(content[:len(content)/2])
	if err != nil {
		return written, err
	}
	return written, errors.Join(errCut, http.NewResponseController(w.ResponseWriter).Flush())
}

type lostWriter struct{ header http.Header }

func (w *lostWriter) Header() http.Header       { return w.header }
func (w *lostWriter) WriteHeader(int)           { panic(http.ErrAbortHandler) }
func (w *lostWriter) Write([]byte) (int, error) { panic(http.ErrAbortHandler) }

type heldWriter struct {
	http.ResponseWriter

	exchange Exchange
	released <-chan struct{}
}

// Unwrap lets the reverse proxy flush.
func (w *heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *heldWriter) Write(content []byte) (int, error) {
	select {
	case <-w.released:
	case <-w.exchange.removed:
	case <-w.exchange.Request.Context().Done():
		return 0, w.exchange.Request.Context().Err()
	}
	return w.ResponseWriter.Write(content)
}
