package netlab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// askTimeout is how long one question may take: who asks again has to get on.
const askTimeout = 2 * time.Second

// LookupA asks a DNS server (address and port) from inside for the IPv4 addresses of a name. It returns them in order, or
// what is answered instead, such as NXDOMAIN.
func (n *Namespace) LookupA(ctx context.Context, server, name string) (string, error) {
	conn, err := n.Dial(ctx, "udp", server)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // the answer was read
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA)
	client := dns.Client{Timeout: askTimeout}
	reply, _, err := client.ExchangeWithConnContext(ctx, question, &dns.Conn{Conn: conn})
	if err != nil {
		return "", fmt.Errorf("asking %s for %s: %w", server, name, err)
	}
	if reply.Rcode != dns.RcodeSuccess {
		return dns.RcodeToString[reply.Rcode], nil
	}
	var addresses []string
	for _, record := range reply.Answer {
		if a, is := record.(*dns.A); is {
			addresses = append(addresses, a.A.String())
		}
	}
	slices.Sort(addresses)
	return strings.Join(addresses, " "), nil
}

// Answer is what came over HTTP or HTTPS.
type Answer struct {
	Status      int
	Body        string
	Certificate *x509.Certificate // of the server; nil without TLS
}

// String is the status and the body.
func (a Answer) String() string { return fmt.Sprintf("%d %s", a.Status, a.Body) }

// Fetch asks for a URL from inside of a namespace, at the address that is found for its host. It trusts the authority
// behind the router's certificate, and no other.
func (l *Lab) Fetch(ctx context.Context, from *Namespace, at Lookup, target string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return Answer{}, err
	}
	response, err := from.HTTP(at, &tls.Config{RootCAs: l.CA}).Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(response.Body)
	answer := Answer{Status: response.StatusCode, Body: string(body)}
	if response.TLS != nil {
		answer.Certificate = response.TLS.PeerCertificates[0]
	}
	return answer, err
}
