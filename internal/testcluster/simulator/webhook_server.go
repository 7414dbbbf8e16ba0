package simulator

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/certificates"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

// webhookServer answers admission reviews on one loopback port, which stays the same while it is closed: so a webhook
// that is not ready and one that is differ as they do in a cluster, by whether somebody listens.
type webhookServer struct {
	logf     func(string, ...any)
	validate func(ctx context.Context, u *unstructured.Unstructured) error
	mutate   func(u *unstructured.Unstructured) []jsonPatch

	port     int
	caBundle []byte
	calls    atomic.Int64

	certificate tls.Certificate
	mu          sync.Mutex
	server      *http.Server
	ended       chan struct{}
}

// prepare chooses the port and makes the certificate.
func (w *webhookServer) prepare(ctx context.Context) error {
	ports, err := process.FreePorts(ctx, 1)
	if err != nil {
		return err
	}
	authority, err := certificates.NewAuthority("metallb-webhook-service")
	if err != nil {
		return err
	}
	w.port, w.caBundle = ports[0], authority.PEM
	w.certificate, err = authority.Issue(certificates.Request{Hosts: []string{"127.0.0.1"}})
	return err
}

// listen serves until close; serving already is fine.
func (w *webhookServer) listen(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server != nil {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(w.port)))
	if err != nil {
		return fmt.Errorf("listening for admission reviews: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(validatePath, w.review(w.answerValidate))
	mux.HandleFunc(mutatePath, w.review(w.answerMutate))
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	w.ended = make(chan struct{})
	secure := tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{w.certificate}, MinVersion: tls.VersionTLS12})
	go func(server *http.Server, ended chan struct{}) {
		defer close(ended)
		if err := server.Serve(secure); !errors.Is(err, http.ErrServerClosed) {
			w.logf("webhook server: %v", err)
		}
	}(w.server, w.ended)
	return nil
}

// close stops listening and cuts the connections, which an API server would otherwise keep using.
func (w *webhookServer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server == nil {
		return nil
	}
	err := w.server.Close()
	<-w.ended
	w.server = nil
	if err != nil {
		return fmt.Errorf("closing webhook server: %w", err)
	}
	return nil
}

type answer func(ctx context.Context, u *unstructured.Unstructured, response *admissionv1.AdmissionResponse) error

// review unpacks an admission review, has it answered and packs the answer.
func (w *webhookServer) review(answer answer) http.HandlerFunc {
	return func(out http.ResponseWriter, in *http.Request) {
		w.calls.Add(1)
		var review admissionv1.AdmissionReview
		var u unstructured.Unstructured
		err := json.NewDecoder(in.Body).Decode(&review)
		if err == nil && review.Request != nil {
			err = json.Unmarshal(review.Request.Object.Raw, &u.Object)
		}
		if err != nil || review.Request == nil {
			http.Error(out, "not an admission review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if err := answer(in.Context(), &u, review.Response); err != nil {
			review.Response.Allowed = false
			review.Response.Result = &metav1.Status{Message: err.Error(), Code: http.StatusForbidden}
		}
		review.Request = nil
		out.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(out).Encode(review); err != nil {
			w.logf("webhook server: %v", err)
		}
	}
}

func (w *webhookServer) answerValidate(ctx context.Context, u *unstructured.Unstructured, _ *admissionv1.AdmissionResponse) error {
	return w.validate(ctx, u)
}

func (w *webhookServer) answerMutate(_ context.Context, u *unstructured.Unstructured, response *admissionv1.AdmissionResponse) error {
	patches := w.mutate(u)
	if len(patches) == 0 {
		return nil
	}
	raw, err := json.Marshal(patches)
	if err != nil {
		return fmt.Errorf("encoding patch: %w", err)
	}
	kind := admissionv1.PatchTypeJSONPatch
	response.Patch, response.PatchType = raw, &kind
	return nil
}
