package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/miekg/dns"
)

const (
	udpSize = 1232 // what passes everywhere in one piece
	overUDP = "udp"
	overTCP = "tcp"
)

var (
	errTruncated = errors.New("the answer is truncated")
	errStranger  = errors.New("the answer is to another question")
	errMalformed = errors.New("the answer is no DNS message")
)

// longAgo is a deadline that ends whatever a connection is waiting for.
var longAgo = time.Unix(1, 0)

// resolve checks a path whose end is a DNS server.
func (c *check) resolve(ctx context.Context, name string, server Resolver) Path {
	path := Path{Name: name, Expected: c.expectedRecord(server)}
	words := dnsWords[name]
	switch {
	case c.byName() && name != PublicDNS:
		return notConfigured(path, textNoRecord)
	case server.Missing != "":
		return failed(path, "", server.Missing)
	case !server.Server.IsValid():
		return notConfigured(path, words.none)
	case c.unpublished() && (name != PublicDNS || !server.Expected.IsValid()):
		return failed(path, "", textNoEndpoint)
	case !c.byName() && !server.Expected.IsValid():
		return notConfigured(path, words.nothingExpected)
	case !c.nameFits():
		return failed(path, "", textNoName)
	case over(ctx):
		return failed(path, seenNothing, textOutOfTime)
	}

	here := c.stand(ctx, server.Location, server.Server.String())
	switch {
	case !here.routed:
		return notTestable(path, "", textNoRoute)
	case !here.member:
		return notTestable(path, "", textOtherView)
	}
	path.Asked = server.Server.String()
	found := c.Attempt.run(ctx, here.silenceCounts, func(ctx context.Context) finding {
		reply, err := ask(ctx, server, c.name)
		switch {
		case err != nil:
			return brokenDNS(err, words)
		case server.Expected.IsValid():
			return c.judgeAddress(reply, server.Expected.Unmap(), words)
		default:
			return c.judgeAlias(ctx, server, reply, words)
		}
	})
	return judge(path, found, here.silenceCounts)
}

// expectedRecord is empty while nothing is expected.
func (c *check) expectedRecord(server Resolver) string {
	switch {
	case server.Expected.IsValid():
		return server.Expected.Unmap().String()
	case c.byName():
		return strings.TrimSuffix(c.Hostname, ".")
	default:
		return ""
	}
}

func (c *check) judgeAddress(reply reply, expected netip.Addr, words dnsText) finding {
	found := finding{observed: c.show(reply.String())}
	switch {
	case reply.rcode != dns.RcodeSuccess || len(reply.addresses) == 0:
		found.message = words.rejected(reply.rcode, c.shown)
	case !slices.Equal(reply.addresses, []netip.Addr{expected}):
		found.message = fmt.Sprintf("it answers %s instead of %s: %s", joined(reply.addresses), expected, words.wrong)
	default:
		found.ok = true
	}
	return found
}

// judgeAlias is for an endpoint that is a host name: the name leads there as an alias, or has the addresses that the host name
// has. They may change at any time, so that no text has them when all is well.
func (c *check) judgeAlias(ctx context.Context, server Resolver, answer reply, words dnsText) finding {
	host := dns.CanonicalName(c.Hostname)
	shownHost := strings.TrimSuffix(c.Hostname, ".")
	found := finding{observed: c.show(answer.String())}
	switch {
	case answer.rcode != dns.RcodeSuccess:
		found.message = words.rejected(answer.rcode, c.shown)
		return found
	case slices.Contains(answer.chain, host):
		return finding{ok: true, observed: c.show(shownNames(answer.chain))}
	case len(answer.addresses) == 0:
		found.message = words.rejected(answer.rcode, c.shown)
		return found
	}

	same, err := ask(ctx, server, host)
	switch {
	case err != nil:
		return brokenDNS(&heardError{err}, words)
	case slices.Equal(same.addresses, answer.addresses):
		return finding{ok: true, observed: "the addresses of " + shownHost}
	case len(same.addresses) == 0:
		found.message = fmt.Sprintf("the name is no alias of %s, which has no address there: %s", shownHost, words.wrong)
	default:
		found.message = fmt.Sprintf("the name is no alias of %s and has not its addresses: %s", shownHost, words.wrong)
	}
	return found
}

// heardError says that the server has answered something before.
type heardError struct{ err error }

func (e *heardError) Error() string { return "after a first answer: " + e.err.Error() }
func (e *heardError) Unwrap() error { return e.err }

// ask asks for the addresses of a name: again over TCP when the answer does not fit, and again without EDNS when the server does
// not know that.
func ask(ctx context.Context, server Resolver, name string) (reply, error) {
	network, edns, heard := overUDP, true, false
	if server.TCP {
		network = overTCP
	}
	for {
		message, err := exchange(ctx, network, server.Server.String(), question(name, edns))
		switch {
		case err != nil && !server.TCP && network == overTCP:
			return reply{}, fmt.Errorf("%w: %w", errTruncated, err)
		case err != nil && heard:
			return reply{}, &heardError{err}
		case err != nil:
			return reply{}, err
		case edns && rejectsEDNS(message.Rcode):
			edns, heard = false, true
		case message.Truncated && network == overTCP:
			return reply{}, errTruncated
		case message.Truncated:
			network = overTCP
		default:
			return read(message, name), nil
		}
	}
}

func question(name string, edns bool) *dns.Msg {
	message := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA)
	if edns {
		message.SetEdns0(udpSize, false)
	}
	return message
}

func rejectsEDNS(rcode int) bool {
	return rcode == dns.RcodeFormatError || rcode == dns.RcodeNotImplemented || rcode == dns.RcodeBadVers
}

// exchange sends a question and waits for its answer, until the context ends.
func exchange(ctx context.Context, network, server string, question *dns.Msg) (*dns.Msg, error) {
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, network, server)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(ctx, func() { _ = raw.SetDeadline(longAgo) })()

	// A server that does not care for the size in the question may send more.
	conn := &dns.Conn{Conn: raw, UDPSize: dns.MaxMsgSize - 1}
	message, err := converse(conn, question)
	switch {
	case err != nil && network == overTCP:
		return nil, &heardError{err} // it has taken the connection
	case isCut(err):
		return nil, fmt.Errorf("%w: %w", syscall.ECONNREFUSED, err) // Windows says so when nothing listens
	default:
		return message, err
	}
}

func converse(conn *dns.Conn, question *dns.Msg) (*dns.Msg, error) {
	if err := conn.WriteMsg(question); err != nil {
		return nil, fmt.Errorf("asking: %w", err)
	}
	stranger := false
	for {
		packet, err := conn.ReadMsgHeader(nil)
		switch {
		case errors.Is(err, dns.ErrShortRead):
			return nil, errMalformed
		case err != nil && stranger:
			return nil, fmt.Errorf("%w: %w", errStranger, err)
		case err != nil:
			return nil, fmt.Errorf("waiting for the answer: %w", err)
		}
		message := new(dns.Msg)
		if err := message.Unpack(packet); err != nil {
			return nil, fmt.Errorf("%w: %w", errMalformed, err)
		}
		if answers(message, question) {
			return message, nil
		}
		stranger = true // it may be late, or forged: the right one may still come
	}
}

// answers says whether a message is the answer to a question. A server that rejects one need not repeat it.
func answers(message, question *dns.Msg) bool {
	if message.Id != question.Id || !message.Response || message.Opcode != dns.OpcodeQuery {
		return false
	}
	if len(message.Question) == 0 {
		return message.Rcode != dns.RcodeSuccess
	}
	asked, repeated := question.Question[0], message.Question[0]
	return len(message.Question) == 1 && strings.EqualFold(asked.Name, repeated.Name) &&
		asked.Qtype == repeated.Qtype && asked.Qclass == repeated.Qclass
}
