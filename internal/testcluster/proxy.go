package testcluster

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Verbs, as a Match names them. They are those of HTTP, with the three ways of reading told apart.
const (
	VerbGet    = "GET"
	VerbList   = "LIST"
	VerbWatch  = "WATCH"
	VerbPost   = "POST"
	VerbPut    = "PUT"
	VerbPatch  = "PATCH"
	VerbDelete = "DELETE"
)

// Proxy stands before an API server and lets requests through, but for those that a rule says otherwise of. Clients reach
// it with Cluster.KubeconfigThroughProxy.
type Proxy struct {
	URL string

	address string
	tls     *tls.Config
	forward http.Handler

	mutex    sync.Mutex
	server   *http.Server // nil while stopped
	listener net.Listener
	rules    []*Rule
	before   func(*http.Request)
}

// Match says which requests a rule is for. Its zero value is for all.
type Match struct {
	Verbs []string // none: all
	Path  string   // a regular expression, found anywhere in the path; empty: all
	Skip  int      // so many pass before
	Times int      // so many are met, the rest passes; 0: all
}

// Rule is a Match with an Action, in force until it is removed.
type Rule struct {
	verbs []string
	path  *regexp.Regexp
	act   Action

	proxy       *Proxy
	mutex       sync.Mutex
	skip, times int
	removed     chan struct{}
	hits        atomic.Int64
}

func newProxy(target string, ca *authority) (*Proxy, error) {
	upstream, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("parsing the proxy's target: %w", err)
	}
	config, err := ca.TLS()
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		address: "127.0.0.1:0",
		tls:     config,
		forward: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
			Transport: &http.Transport{
				TLSClientConfig:     &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12},
				MaxIdleConnsPerHost: 100,
				DisableCompression:  true, // pass on what the client asked for
			},
			FlushInterval: -1,                                                      // watches
			ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // faults are what it is for
			ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		},
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

// Start listens again, on the same port, after Stop.
func (p *Proxy) Start() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", p.address) //nolint:noctx // it ends with Stop
	if err != nil {
		return fmt.Errorf("listening as a proxy: %w", err)
	}
	if p.URL == "" { // later it is the same, and others read it
		p.address = listener.Addr().String()
		p.URL = "https://" + p.address
	}
	p.server = &http.Server{ //nolint:gosec // its clients are tests
		Handler:  p,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	p.listener = listener
	server := p.server
	go server.Serve(tls.NewListener(listener, p.tls)) //nolint:errcheck // it ends with Stop
	return nil
}

// Stop makes the API look down: connections are cut, new ones refused.
func (p *Proxy) Stop() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.server != nil {
		_ = p.server.Close()
		_ = p.listener.Close() // the server closes only what it has begun to serve
		p.server = nil
	}
}

// Close ends the proxy.
func (p *Proxy) Close() {
	p.Clear()
	p.Stop()
}

// Add puts a rule in force. Of several that match, the one added last decides.
func (p *Proxy) Add(match Match, action Action) *Rule {
	rule := &Rule{
		verbs: match.Verbs, path: regexp.MustCompile(match.Path), act: action,
		proxy: p, skip: match.Skip, times: match.Times, removed: make(chan struct{}),
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.rules = append(p.rules, rule)
	return rule
}

// Before calls a function with each request, on its way to the rules. Nil ends that.
func (p *Proxy) Before(hook func(*http.Request)) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.before = hook
}

// Clear removes all rules and the hook.
func (p *Proxy) Clear() {
	p.mutex.Lock()
	rules := slices.Clone(p.rules)
	p.before = nil
	p.mutex.Unlock()
	for _, rule := range rules {
		rule.Remove()
	}
}

// Hits is how many requests the rule has met.
func (r *Rule) Hits() int { return int(r.hits.Load()) }

// Remove ends the rule. Requests that it makes wait go on, or are closed when they were never to be answered.
func (r *Rule) Remove() {
	r.proxy.mutex.Lock()
	defer r.proxy.mutex.Unlock()
	if at := slices.Index(r.proxy.rules, r); at >= 0 {
		r.proxy.rules = slices.Delete(r.proxy.rules, at, at+1)
		close(r.removed)
	}
}

// meets says whether the rule is for this request, and counts it.
func (r *Rule) meets(verb, path string) bool {
	if len(r.verbs) > 0 && !slices.Contains(r.verbs, verb) || !r.path.MatchString(path) {
		return false
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.skip > 0 {
		r.skip--
		return false
	}
	if r.times > 0 && int(r.hits.Load()) >= r.times {
		return false
	}
	r.hits.Add(1)
	return true
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	p.mutex.Lock()
	before, rules := p.before, slices.Clone(p.rules)
	p.mutex.Unlock()
	if before != nil {
		before(request)
	}
	verb := RequestVerb(request)
	for _, rule := range slices.Backward(rules) {
		if rule.meets(verb, request.URL.Path) {
			rule.act(Exchange{Writer: w, Request: request, Forward: p.forward, removed: rule.removed})
			return
		}
	}
	p.forward.ServeHTTP(w, request)
}

// RequestVerb is the verb of a request as a Match names it.
func RequestVerb(request *http.Request) string {
	if request.Method != http.MethodGet {
		return request.Method
	}
	if watch := request.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		return VerbWatch
	}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return VerbGet // discovery, health, OpenAPI
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	if len(parts) == 1 {
		return VerbList
	}
	return VerbGet
}
