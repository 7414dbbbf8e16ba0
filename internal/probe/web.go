package probe

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

const (
	mostHeader = 1 << 20
	mostBody   = 1 << 20
)

// stage is what a connection is at.
type stage string

const (
	connecting  stage = "connecting"
	handshaking stage = "doing the TLS handshake"
	waiting     stage = "waiting for the answer"
	reading     stage = "reading the body"
)

// site is where a path leads to that ends with an HTTP server.
type site struct {
	path    string // its name
	host    string // address or host name; empty: there is none
	port    uint16
	tls     bool
	place   Location
	missing string
	words   webText
}

func (c *check) endpoint(path string) site {
	host := c.Hostname
	if c.IP.IsValid() {
		host = c.IP.Unmap().String()
	}
	// A DNS server that is missing is none of the endpoint's business.
	return c.site(site{path: path, host: host, tls: path == EndpointHTTPS, place: c.VLAN.Location, words: endpointWords})
}

func (c *check) proxy(path string) site {
	s := site{path: path, tls: path == ProxyHTTPS, place: c.Proxy.Location, missing: c.Proxy.Missing, words: proxyWords}
	if c.Proxy.Address.IsValid() {
		s.host = c.Proxy.Address.Unmap().String()
	}
	return c.site(s)
}

func (c *check) site(s site) site {
	s.port = c.HTTP
	if s.tls {
		s.port = c.HTTPS
	}
	return s
}

// browse checks a path whose end is an HTTP server.
func (c *check) browse(ctx context.Context, s site) Path {
	path := Path{Name: s.path, Expected: c.Web.expected()}
	switch {
	case s.port == 0:
		return notConfigured(path, "no port is given")
	case s.missing != "":
		return failed(path, "", s.missing)
	case s.host == "" && s.words.none != "":
		return notConfigured(path, s.words.none)
	case c.unpublished():
		return failed(path, "", textNoEndpoint)
	case !c.nameFits():
		return failed(path, "", textNoName)
	case over(ctx):
		return failed(path, seenNothing, textOutOfTime)
	}
	request, err := c.request(ctx, s)
	if err != nil {
		return failed(path, "", "the path to ask for is not valid in a URL")
	}

	address := hostPort(s.host, s.port)
	here := c.stand(ctx, s.place, address)
	if !here.routed {
		return notTestable(path, "", textNoRoute)
	}
	path.Asked = address
	found := c.Attempt.run(ctx, here.silenceCounts, func(ctx context.Context) finding {
		return c.visit(ctx, s, address, request)
	})
	return judge(path, found, here.silenceCounts)
}

// expected says what an answer has to be.
func (w Web) expected() string {
	text := "an HTTP answer"
	if w.Status != 0 {
		text = statusText(w.Status)
	}
	if w.Body != "" {
		text += " with " + strconv.Quote(w.Body)
	}
	return text
}

func statusText(status int) string { return fmt.Sprintf("HTTP %d", status) }

func (c *check) request(ctx context.Context, s site) (*http.Request, error) {
	scheme, usual := "http", uint16(80)
	if s.tls {
		scheme, usual = "https", 443
	}
	host := c.name
	if s.port != usual {
		host = hostPort(c.name, s.port)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host+"/"+strings.TrimPrefix(c.Web.Path, "/"), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	request.Close = true
	request.Header.Set("User-Agent", "terraform-provider-oooi")
	return request, nil
}

// visit is one attempt. It is done without http.Transport, which hides at which stage it failed behind texts, tries again on its
// own, and knows proxies and redirects.
func (c *check) visit(ctx context.Context, s site, address string, request *http.Request) finding {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		at := connecting
		if s.tls && isCut(err) { // it was taken first: which of the two is seen is a matter of microseconds
			at = handshaking
		}
		return brokenWeb(at, err, s.words)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(longAgo) })()

	stream, shown := conn, ""
	if s.tls {
		secure := tls.Client(conn, c.tlsConfig())
		if err := secure.HandshakeContext(ctx); err != nil {
			return brokenWeb(handshaking, err, s.words)
		}
		certificates := secure.ConnectionState().PeerCertificates
		shown = c.certificateText(certificates)
		if c.Web.Verify {
			if message := c.distrust(certificates); message != "" {
				return finding{observed: shown, message: message}
			}
		}
		stream, shown = secure, ", "+shown
	}
	return c.fetch(stream, s, request, shown)
}

func (c *check) fetch(conn net.Conn, s site, request *http.Request, shownCertificate string) finding {
	if err := request.Write(conn); err != nil && !isCut(err) { // who has ended the connection may have answered before
		return brokenWeb(waiting, err, s.words)
	}
	limited := &io.LimitedReader{R: conn, N: mostHeader}
	response, err := readResponse(bufio.NewReader(limited), request)
	if err != nil {
		return brokenWeb(waiting, err, s.words)
	}
	defer func() {
		_ = conn.Close() // first: the end of a body reads what is left of it
		_ = response.Body.Close()
	}()
	limited.N = 2 * mostBody // the frames of a chunked body count here, too

	found := finding{observed: statusText(response.StatusCode) + shownCertificate}
	switch {
	case c.Web.Status != 0 && response.StatusCode != c.Web.Status:
		found.message = wrongStatus(response.StatusCode, c.Web.Status)
		return found
	case c.Web.Body == "":
		found.ok = true
		return found
	}

	contained, err := contains(io.LimitReader(response.Body, mostBody), c.Web.Body)
	switch {
	case contained:
		found.ok = true
	case err != nil:
		broken := brokenWeb(reading, err, s.words)
		broken.observed = statusText(response.StatusCode) + ", then " + broken.observed + shownCertificate
		return broken
	default:
		found.observed = statusText(response.StatusCode) + " without the text" + shownCertificate
		found.message = "something else answers than what is expected: see which application the name leads to"
	}
	return found
}

// readResponse skips what a server says before its answer.
func readResponse(from *bufio.Reader, request *http.Request) (*http.Response, error) {
	for {
		response, err := http.ReadResponse(from, request)
		if err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
		if response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			return response, nil
		}
		_ = response.Body.Close()
	}
}

func wrongStatus(status, wanted int) string {
	switch {
	case status == http.StatusServiceUnavailable:
		return "the way is fine, but the router has no route for the name, or no pod behind it is ready"
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		return "the way is fine, but the answer is a redirect, which is not followed"
	default:
		return fmt.Sprintf("the way is fine, but the answer is %s instead of %s", statusText(status), statusText(wanted))
	}
}

// contains reads until it has seen the text: a body may have no end.
func contains(body io.Reader, text string) (bool, error) {
	const piece = 4096
	var seen []byte
	buffer := make([]byte, piece)
	for {
		n, err := body.Read(buffer)
		from := max(0, len(seen)-len(text)+1)
		seen = append(seen, buffer[:n]...)
		if bytes.Contains(seen[from:], []byte(text)) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading the body: %w", err)
		}
	}
}
