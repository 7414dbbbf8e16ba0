package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
)

const (
	appName = "hello.apps." + clusterName + "." + baseDomain
	appURL  = "https://" + appName + "/"

	firstAddress = "198.51.100.200" // of the range that examples/demo begins with
	movedRange   = "198.51.100.230-198.51.100.240"
	movedAddress = "198.51.100.230"

	patience = 10 * time.Second // for an answer; all of them come much sooner
	silence  = 300 * time.Millisecond
)

func (d *demo) askFirst(ctx context.Context) error {
	d.step("Ask for a name below the wildcard, from inside of both networks")
	d.say("    asked by the demo itself; dig shows the same, and so does curl where it trusts the router's authority")
	return d.ask(ctx, firstAddress)
}

// move gives the ingress another address, and shows that everything follows.
func (d *demo) move(ctx context.Context) error {
	d.step("Another range of addresses: the ingress moves, and all that depends on it, in one apply")
	d.say("    $ export TF_VAR_range=%s", movedRange)
	d.tf.variable("range", movedRange)
	if err := d.tf.apply(ctx); err != nil {
		return err
	}
	for _, output := range []string{"external_ip", "record"} {
		value, err := d.tf.value(ctx, output)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(value, movedAddress) {
			return fmt.Errorf("the output %s is %q, without the new address %s", output, value, movedAddress)
		}
	}

	d.step("The same questions, and who has the old address")
	if err := d.ask(ctx, movedAddress); err != nil {
		return err
	}
	if err := d.answered(ctx, movedAddress); err != nil {
		return err
	}
	return d.unanswered(ctx, firstAddress)
}

// ask shows where the name leads on each of the networks.
func (d *demo) ask(ctx context.Context, vip string) error {
	vlan, pods := d.vlan(), d.pods()
	d.say("    From the VLAN:")
	if err := d.dig(ctx, vlan, vip); err != nil {
		return err
	}
	if err := d.curl(ctx, vlan); err != nil {
		return err
	}
	d.say("    From the pod network:")
	if err := d.dig(ctx, pods, netlab.ProxyClusterIP); err != nil {
		return err
	}
	if err := d.curl(ctx, pods); err != nil {
		return err
	}
	conn, err := pods.client.Dial(ctx, "tcp", vip+":443")
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ENETUNREACH) {
		return fmt.Errorf("from the pod network to %s: got %w, want no route", vip, errOr(err))
	}
	d.say("    No route leads from there to %s: it was Envoy that answered, and the certificate is still the router's own", vip)
	return nil
}

// dig waits until the name has the address that was announced.
func (d *demo) dig(ctx context.Context, from view, want string) error {
	d.say("    $ dig +short %s @%s", appName, from.server)
	got := ""
	err := until(ctx, func(ctx context.Context) (err error) {
		got, err = from.lookup(ctx)
		if err == nil && got != want {
			err = fmt.Errorf("the answer on the %s is %q, want %s", from.name, got, want)
		}
		return err
	})
	if err != nil {
		return err
	}
	d.say("    %s", got)
	return nil
}

// curl waits until the router answers, with a certificate that is valid and its own.
func (d *demo) curl(ctx context.Context, from view) error {
	d.say("    $ curl %s", appURL)
	lab := d.clusters.lab
	var got netlab.Answer
	err := until(ctx, func(ctx context.Context) (err error) {
		got, err = lab.Fetch(ctx, from.client, from.client.Resolve(from.server+":53"), appURL)
		switch {
		case err != nil:
			return err
		case got.Status != http.StatusOK || !strings.HasPrefix(got.Body, "https "+appName+" from worker-"):
			return fmt.Errorf("the answer on the %s is %q", from.name, got)
		case !lab.Certificate.Equal(got.Certificate):
			return fmt.Errorf("the certificate on the %s is not the router's", from.name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.say("    %s", strings.TrimSpace(got.Body))
	return nil
}

// answered waits until exactly one machine on the VLAN has an address.
func (d *demo) answered(ctx context.Context, address string) error {
	owner := ""
	err := until(ctx, func(ctx context.Context) error {
		owners, err := d.clusters.lab.Client.WhoHas(ctx, netlab.VLANLink, netip.MustParseAddr(address), silence)
		if err == nil && len(owners) != 1 {
			err = fmt.Errorf("%d machines answer for %s, want one", len(owners), address)
		}
		if err == nil {
			owner = owners[0].String()
		}
		return err
	})
	if err != nil {
		return err
	}
	d.say("    ARP on the VLAN: %s is at %s", address, owner)
	return nil
}

// unanswered waits until nobody on the VLAN has an address.
func (d *demo) unanswered(ctx context.Context, address string) error {
	err := until(ctx, func(ctx context.Context) error {
		owners, err := d.clusters.lab.Client.WhoHas(ctx, netlab.VLANLink, netip.MustParseAddr(address), silence)
		if err == nil && len(owners) > 0 {
			err = fmt.Errorf("%s is still at %s", address, owners)
		}
		return err
	})
	if err != nil {
		return err
	}
	d.say("    ARP on the VLAN: nobody answers for %s any more", address)
	return nil
}

// forgotten waits until neither network knows the name.
func (d *demo) forgotten(ctx context.Context) error {
	err := until(ctx, func(ctx context.Context) error {
		for _, from := range []view{d.vlan(), d.pods()} {
			if got, err := from.lookup(ctx); err != nil || got != "NXDOMAIN" {
				return fmt.Errorf("the answer on the %s is %q: %w", from.name, got, errOr(err))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.say("    the names are gone too: NXDOMAIN, on the VLAN and on the pod network")
	return nil
}

func (v view) lookup(ctx context.Context) (string, error) {
	return v.client.LookupA(ctx, v.server+":53", appName)
}

// until repeats a check until it holds, or for as long as that may take.
func until(ctx context.Context, check func(context.Context) error) error {
	const interval = 50 * time.Millisecond
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if last == nil || ctx.Err() == nil { // what the end of the time does to a question says little
			last = err
		}
		return err == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("not within %s: %w", patience, last)
}

// errOr is an error also where there is none: the value was wrong.
func errOr(err error) error {
	if err == nil {
		return errors.New("wrong")
	}
	return err
}
