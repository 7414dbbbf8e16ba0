// Command demo shows the provider at work on this machine: it starts a management and a hosted cluster, applies
// examples/demo with the local build, breaks something in the cluster, lets Terraform find and repair it, destroys, and
// leaves nothing running. Everything in the clusters that is not Terraform's is real (API servers, etcd, MetalLB) or, as far
// as it needs machines (nodes, OLM, HyperShift), simulated with short delays. In attachment mode an Infra owns what is
// published, and the oooi operator is simulated too, with the times of the real one.
//
// Where this machine lets it make network namespaces, the workers are on a VLAN, CoreDNS and Envoy are real, and the demo
// asks them what they were configured for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
)

func main() {
	var d demo
	flag.StringVar(&d.program, "terraform", "terraform", "Terraform, or OpenTofu")
	flag.StringVar(&d.provider, "provider", "bin/terraform-provider-oooi", "the provider's local build")
	flag.StringVar(&d.example, "example", "examples/demo", "the configuration to apply")
	flag.StringVar(&d.mode, "mode", "direct", "direct, or attachment: the oooi operator does the work")
	flag.BoolVar(&d.keep, "keep", false, "leave the clusters up, with the ingress applied, until Ctrl-C")
	flag.Parse()
	if d.mode != "direct" && d.mode != modeAttachment {
		fmt.Fprintf(os.Stderr, "demo: there is no mode %q\n", d.mode)
		os.Exit(2)
	}
	d.out = os.Stdout
	rest.SetDefaultWarningHandler(rest.NoWarnings{}) // an API server's remarks are not the demo's subject

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := d.run(ctx)
	stopped := ctx.Err() != nil
	stop()
	switch {
	case err != nil && stopped:
		reason, _, _ := strings.Cut(err.Error(), "\n") // what programs printed that were ended is of no interest
		fmt.Fprintf(os.Stderr, "\ndemo: %s; nothing is left running\n", reason)
		os.Exit(130)
	case err != nil:
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
	d.say("\nNothing is left running.")
}

const modeAttachment = "attachment"

type demo struct {
	program  string
	provider string
	example  string
	mode     string
	keep     bool
	out      io.Writer

	steps    int
	clusters *clusters
	tf       *terraform
}

// step announces what comes next.
func (d *demo) step(what string) {
	d.steps++
	d.say("\n%d. %s", d.steps, what)
}

func (d *demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, format+"\n", args...)
}

// run owns all that the demo starts: when it returns, for whatever reason, it is gone.
func (d *demo) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "oooi-demo-")
	if err != nil {
		return fmt.Errorf("making a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	if err := d.start(ctx, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.clusters.stop()) }()

	work := filepath.Join(dir, "terraform")
	d.tf, err = newTerraform(d.program, d.provider, d.example, work, d.out)
	if err != nil {
		return err
	}
	d.tf.variable("kubeconfig", d.clusters.managementKubeconfig)
	if d.mode == modeAttachment {
		d.tf.variable("infra", infraName)
	}
	return d.play(ctx)
}

func (d *demo) start(ctx context.Context, dir string) (err error) {
	programs, missing := "API servers, etcd and MetalLB", netlab.DataPathAvailable()
	if missing == nil {
		programs = "API servers, etcd, MetalLB, CoreDNS and Envoy, on networks of their own"
	}
	d.step("Start a management and a hosted cluster: real " + programs + "; the rest is simulated")
	if missing != nil {
		d.say("    without real networks, so nobody asks for names or pages: %v", missing)
	}
	start := time.Now()
	d.clusters, err = startClusters(ctx, dir, d.mode == modeAttachment, missing == nil)
	if err != nil {
		return err
	}
	d.say("    up after %s; the hosted cluster's nodes become Ready in %s, OLM and MetalLB take a moment too",
		time.Since(start).Round(100*time.Millisecond), workerDelay)
	return nil
}

// play is the demo itself. Each scene ends the demo when it does not go as announced.
func (d *demo) play(ctx context.Context) error {
	scenes := []func(context.Context) error{d.create, d.empty}
	if d.clusters.lab != nil {
		scenes = append(scenes, d.askFirst, d.move)
	}
	scenes = append(scenes, d.breakIt, d.repair, d.empty)
	if d.keep {
		scenes = append(scenes, d.wait)
	} else {
		scenes = append(scenes, d.destroy)
	}
	for _, scene := range scenes {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) create(ctx context.Context) error {
	d.step("Apply: one ingress, and a resource that uses its address. `init` is not needed with a local build")
	start := time.Now()
	if err := d.tf.apply(ctx); err != nil {
		return err
	}
	d.say("\n    What the clusters did meanwhile:")
	for _, m := range d.clusters.moments(start) {
		d.say("    %5.1f s  %s", m.after.Seconds(), m.text)
	}
	d.say("    %5.1f s  apply returned", time.Since(start).Seconds())

	d.step("The outputs")
	return d.tf.output(ctx)
}

func (d *demo) empty(ctx context.Context) error {
	d.step("A plan now: nothing to do")
	changes, err := d.tf.plan(ctx)
	if err != nil {
		return err
	}
	if changes {
		return errors.New("the plan is not empty")
	}
	return nil
}

func (d *demo) breakIt(ctx context.Context) error {
	d.step("Break things behind Terraform's back")
	broken, err := d.clusters.breakThings(ctx)
	if err != nil {
		return err
	}
	for _, what := range broken {
		d.say("    %s", what)
	}
	if d.clusters.lab != nil {
		if err := d.unanswered(ctx, movedAddress); err != nil {
			return err
		}
	}

	d.step("The plan names what is broken")
	changes, err := d.tf.plan(ctx)
	if err != nil {
		return err
	}
	if !changes {
		return errors.New("the plan is empty, and should name what is broken")
	}
	return nil
}

func (d *demo) repair(ctx context.Context) error {
	d.step("Apply repairs it")
	if err := d.tf.apply(ctx); err != nil || d.clusters.lab == nil {
		return err
	}
	d.say("    From the VLAN:")
	return d.curl(ctx, d.vlan())
}

func (d *demo) destroy(ctx context.Context) error {
	d.step("Destroy")
	if err := d.tf.destroy(ctx); err != nil {
		return err
	}
	left, err := d.clusters.leftovers(ctx)
	if err != nil {
		return err
	}
	for _, object := range left {
		d.say("    left: %s", object)
	}
	if len(left) > 0 {
		return errors.New("destroy left something behind")
	}
	d.say("    nothing of the ingress is left in the clusters")
	if d.clusters.lab == nil {
		return nil
	}
	return d.forgotten(ctx)
}

// wait leaves everything up until Ctrl-C, which is no failure here.
func (d *demo) wait(ctx context.Context) error {
	d.step("The clusters stay up until Ctrl-C. In another terminal:")
	d.say("    export KUBECONFIG=%s   # management cluster", d.clusters.managementKubeconfig)
	d.say("    export KUBECONFIG=%s   # hosted cluster", d.clusters.hostedKubeconfig)
	d.say("    cd %s", d.tf.dir)
	for _, variable := range d.tf.env {
		d.say("    export %s", variable)
	}
	d.say("    %s plan", d.program)
	if d.clusters.lab != nil {
		d.hints(ctx)
	}
	<-ctx.Done()
	return nil
}
