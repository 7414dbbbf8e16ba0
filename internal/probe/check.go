package probe

import (
	"context"
	"crypto/rand"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// check is one run of Verify.
type check struct {
	Request

	name   string // that is asked for
	shown  string // the same in texts: a random label is a star there
	random string // the random label; empty when the caller gave one

	// local says from which address this machine would talk to another: a field, so that tests can be without a route.
	local func(ctx context.Context, address string) (netip.Addr, error)
}

func newCheck(request Request) *check {
	c := &check{Request: request, local: localAddress}
	label := request.Label
	if label == "" {
		label = randomLabel()
		c.random = label
	}
	c.name = strings.ToLower(label + "." + strings.TrimSuffix(request.Domain, "."))
	c.shown = c.show(c.name)
	return c
}

// randomLabel is a label that nobody has a record of its own for, so that only a wildcard answers.
func randomLabel() string {
	const length = 8
	return "oooi-" + strings.ToLower(rand.Text()[:length])
}

// show takes the random label out of a text that another has put together, such as a certificate that is made for the name
// when it is asked for.
func (c *check) show(text string) string {
	if c.random == "" {
		return text
	}
	return strings.ReplaceAll(text, c.random, "*")
}

func (c *check) paths(ctx context.Context) []Path {
	checks := []struct {
		name string
		run  func(name string) Path
	}{
		{VLANDNS, func(name string) Path { return c.resolve(ctx, name, c.VLAN) }},
		{EndpointHTTP, func(name string) Path { return c.browse(ctx, c.endpoint(name)) }},
		{EndpointHTTPS, func(name string) Path { return c.browse(ctx, c.endpoint(name)) }},
		{PodDNS, func(name string) Path { return c.resolve(ctx, name, c.Pod) }},
		{ProxyHTTP, func(name string) Path { return c.browse(ctx, c.proxy(name)) }},
		{ProxyHTTPS, func(name string) Path { return c.browse(ctx, c.proxy(name)) }},
		{PublicDNS, func(name string) Path { return c.resolve(ctx, name, c.Public) }},
	}
	paths := make([]Path, len(checks))
	var running sync.WaitGroup
	for i, one := range checks {
		if c.Only != nil && !slices.Contains(c.Only, one.name) {
			paths[i] = notConfigured(Path{Name: one.name}, textLeftOut)
			continue
		}
		running.Go(func() { paths[i] = one.run(one.name) })
	}
	running.Wait()
	return paths
}

// byName says that the endpoint is a host name.
func (c *check) byName() bool { return !c.IP.IsValid() && c.Hostname != "" }

// unpublished says that the ingress has no endpoint yet, so that there is nothing to ask for.
func (c *check) unpublished() bool { return !c.IP.IsValid() && c.Hostname == "" }

// nameFits says whether the name can be asked for at all: what DNS and a Host header both take.
func (c *check) nameFits() bool {
	const longestLabel, longestName = 63, 253
	if len(c.name) > longestName {
		return false
	}
	for label := range strings.SplitSeq(c.name, ".") {
		if label == "" || len(label) > longestLabel || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10))
}

func failed(path Path, observed, message string) Path {
	path.Result, path.Observed, path.Message = Failed, observed, message
	return path
}

func notConfigured(path Path, message string) Path {
	path.Result, path.Expected, path.Message = NotConfigured, "", message
	return path
}

func notTestable(path Path, observed, message string) Path {
	path.Result, path.Observed, path.Message = NotTestable, observed, message
	return path
}

// judge makes a path of what was found. Silence is no proof where this machine may be in another network.
func judge(path Path, found finding, silenceCounts bool) Path {
	switch {
	case found.ok:
		path.Result, path.Observed = OK, found.observed
		return path
	case found.silent && !silenceCounts:
		return notTestable(path, found.observed, textElsewhere)
	default:
		return failed(path, found.observed, found.message)
	}
}
