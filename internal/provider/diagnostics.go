package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// This file, with the commands of diagnostics_commands.go and the texts of diagnostics_data_sources.go, is the only place where texts
// for users are composed. A summary says what did not happen, without the names of objects, so that equal failures can be grouped;
// details always have one order. Golden files hold them.

// valueRefused is a value that can never work. problem says what was seen, remedy what to write instead.
func valueRefused(p path.Path, problem, remedy string) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(p, "A value of the configuration cannot be used",
		fmt.Sprintf("%s: %s.\n\n%s.", p, problem, remedy))
}

// configRefused is a value that cannot work with what is in the clusters.
func configRefused(e *appsingress.ConfigError) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(attributePath(e.Attribute), "The configuration does not fit the clusters",
		fmt.Sprintf("%s: %s.\n\n%s. Nothing was changed in any cluster.", e.Attribute, e.Problem, upperFirst(e.Remedy)))
}

// configDoubted is a value that most likely does not work with what is in the clusters.
func configDoubted(e *appsingress.ConfigError) diag.Diagnostic {
	return diag.NewAttributeWarningDiagnostic(attributePath(e.Attribute), "The configuration may not fit the clusters",
		fmt.Sprintf("%s: %s.\n\n%s, unless this is meant.", e.Attribute, e.Problem, upperFirst(e.Remedy)))
}

// attributePath reads "metallb.ip_address_pool_range".
func attributePath(text string) path.Path {
	steps := strings.Split(text, ".")
	p := path.Root(steps[0])
	for _, step := range steps[1:] {
		p = p.AtName(step)
	}
	return p
}

// modeUnread is an unset mode that cannot be decided at apply either.
func modeUnread(err error) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("infra_ref"), summaryOf(verbCreate, err),
		"The management cluster did not say whether the Infra of infra_ref exists, so the mode is not known, and nothing was done.\n\n"+
			"Check the provider block and the network, and that the user may get that Infra.\n"+
			"Look further: kubectl get infras.hostedcluster.densityops.com --all-namespaces\n\nCause: "+err.Error())
}

// importIDRefused is an import id that cannot be read.
func importIDRefused(id string, err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic("The import id cannot be read",
		fmt.Sprintf("The id is %q, and %v.\n\nWrite namespace/name, and behind it, each after a comma, what the provider cannot find out: "+
			"hosted_cluster=namespace/name (default: clusters/ and the name), infra=name, service=namespace/name, "+
			"config_path=FILE and config_context=NAME of a kubeconfig of the hosted cluster.", id, err))
}

// importFailed is an ingress that is not there, or cannot be described.
func importFailed(id string, err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic(summaryOf(verbImport, err),
		fmt.Sprintf("Nothing was imported for %q, and nothing was changed in any cluster.\n"+
			"Look further: kubectl --kubeconfig HOSTED-KUBECONFIG get service --all-namespaces -l %s=terraform-provider-oooi\n"+
			"Cause: %v", id, appsingress.LabelManagedBy, err))
}

// providerArgumentsRefused is a provider block that contradicts itself.
func providerArgumentsRefused(err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic("The provider's arguments cannot be used",
		fmt.Sprintf("%s.\n\nCorrect the provider block or the environment. No connection was made.", upperFirst(err.Error())))
}

// providerUnknown is a verb that needs a cluster while the provider's arguments are unknown.
func providerUnknown(v verb) diag.Diagnostic {
	return diag.NewErrorDiagnostic(summaryOf(v, nil),
		"An argument of the provider is not known yet, so there is no connection to the management cluster.\n\n"+
			"Create what the provider's arguments come from first, with terraform apply -target=ADDRESS, then apply everything.")
}

// clusterUnread is a management cluster that cannot even be identified.
func clusterUnread(v verb, err error) diag.Diagnostic {
	var connection *kube.ConnectionError
	if errors.As(err, &connection) {
		return diag.NewErrorDiagnostic(summaryOf(v, err),
			"There is no connection to the management cluster, so nothing was done.\n\n"+
				"Correct the provider block, or the environment variables that stand in for it.\n\nCause: "+connection.Error())
	}
	return diag.NewErrorDiagnostic(summaryOf(v, err),
		"The management cluster could not be identified by the UID of its namespace kube-system, so nothing was done.\n\n"+
			"Check the provider block, the network, and that the user may get that namespace.\n"+
			"Look further: kubectl get namespace kube-system\n\nCause: "+err.Error())
}

// clusterChanged is another management cluster under the same configuration.
func clusterChanged(made, found string) diag.Diagnostic {
	return diag.NewErrorDiagnostic("The management cluster is another one than before",
		fmt.Sprintf("The ingress was made in the cluster whose namespace kube-system has the UID %s, "+
			"and the provider block now leads to one with %s. The state is unchanged, and so are the clusters.\n\n"+
			"Correct the provider block, its context or its environment variables. "+
			"If the cluster was rebuilt and the ingress is really gone: terraform state rm ADDRESS.\n"+
			"Look further: kubectl get namespace kube-system -o jsonpath='{.metadata.uid}'", made, found))
}

// addressMoved is a planned address that another one has replaced by the time of the apply.
func addressMoved(planned, found appsingress.Endpoint) diag.Diagnostic {
	return diag.NewErrorDiagnostic("The address moved between plan and apply",
		fmt.Sprintf("The plan was made for %s, and the ingress has %s now. The ingress itself is up to date, and so is the state; "+
			"what uses its address in this run was planned with the old one.\n\nRun terraform apply again.",
			orNone(planned), orNone(found)))
}

func orNone(e appsingress.Endpoint) string {
	if e.IsZero() {
		return "no address"
	}
	return e.String()
}

// leftBehind is something that a destroy could not or must not remove.
func leftBehind(text string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Something was left in place", upperFirst(text))
}

// providerDefect is what cannot happen.
func providerDefect(doing string, err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic("The provider has a defect", fmt.Sprintf("Error in %s: %s\n\nPlease report it.", doing, err))
}

// failed is a verb that a driver did not bring to its end. Refused values get an error each, on their attribute, so that one
// run tells them all; any other failure is one error.
func failed(op operation, elapsed time.Duration, err error) diag.Diagnostics {
	step := &appsingress.StepError{Err: err}
	_ = errors.As(err, &step)
	configs, foreign, rest := sortOut(step.Err)
	if !step.Refused { // a value that became wrong under way is a failure like any other
		configs, rest = nil, step.Err
	}
	var diags diag.Diagnostics
	for _, refused := range configs {
		diags.Append(configRefused(refused))
	}
	if len(foreign) == 0 && rest == nil {
		return diags
	}
	parts := []string{
		where(step, foreign),
		lastSeen(step),
		timeSpent(op, elapsed, step, err),
		existing(op.verb, step),
		next(op.verb, err),
		wayOut(op, foreign),
		"Look further: " + lookFurther(op.spec, step, foreign),
		rawError(step, foreign, rest),
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	diags.AddError(summaryOf(op.verb, err), strings.Join(parts, "\n"))
	return diags
}

// sortOut finds every refusal in a tree of errors, and what is none.
func sortOut(err error) (configs []*appsingress.ConfigError, foreign []*appsingress.OwnershipError, rest error) {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case *appsingress.ConfigError:
		return []*appsingress.ConfigError{e}, nil, nil
	case *appsingress.OwnershipError:
		return nil, []*appsingress.OwnershipError{e}, nil
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			c, f, r := sortOut(inner)
			configs, foreign, rest = append(configs, c...), append(foreign, f...), errors.Join(rest, r)
		}
	case interface{ Unwrap() error }:
		configs, foreign, rest = sortOut(e.Unwrap())
	}
	if len(configs)+len(foreign) == 0 {
		return nil, nil, err
	}
	return configs, foreign, rest
}

// rawError is the error itself, without the foreign objects and the last state, which are told before.
func rawError(e *appsingress.StepError, foreign []*appsingress.OwnershipError, rest error) string {
	if len(foreign) > 0 {
		_, _, rest = sortOut(rest)
	}
	if rest == nil {
		return ""
	}
	if timeout, ok := rest.(*kube.TimeoutError); ok { //nolint:errorlint // what wraps it has a text of its own
		short := *timeout
		if short.Last.String() != "" && strings.Contains(e.Last, short.Last.String()) {
			short.Last = kube.Verdict{}
		}
		if short.LastErr != nil && strings.Contains(e.Last, short.LastErr.Error()) {
			short.LastErr = nil
		}
		rest = &short
	}
	return "Cause: " + rest.Error()
}

// summaryOf says what did not happen.
func summaryOf(v verb, err error) string {
	text := map[verb]string{
		verbCreate: "The apps ingress was not created",
		verbRead:   "The apps ingress could not be read",
		verbUpdate: "The apps ingress was not updated",
		verbDelete: "The apps ingress was not removed",
		verbImport: "The apps ingress was not imported",
	}[v]
	return text + end(err)
}

// end is how a summary goes on when time or the user ended it.
func end(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return ": interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		return " in time"
	}
	return ""
}

// where names the step and its object, or the objects that are somebody else's, which may belong to several steps.
func where(e *appsingress.StepError, foreign []*appsingress.OwnershipError) string {
	if len(foreign) > 0 {
		lines := make([]string, 0, len(foreign))
		for _, refused := range foreign {
			lines = append(lines, "Refused: "+refused.Error())
		}
		return strings.Join(lines, "\n")
	}
	if e.Of == 0 {
		return ""
	}
	text := fmt.Sprintf("Step %d of %d: %s", e.Step, e.Of, e.Name)
	if e.Object != "" {
		text += "\nObject: " + e.Object
	}
	return text
}

func lastSeen(e *appsingress.StepError) string {
	var lines []string
	if e.Last != "" {
		lines = append(lines, "Last seen: "+e.Last)
	}
	for _, event := range e.Events {
		lines = append(lines, "Event: "+event)
	}
	return strings.Join(lines, "\n")
}

// timeSpent tells each step's time, the total, and, when that was too little, what gives more. A refusal took no time.
func timeSpent(op operation, elapsed time.Duration, e *appsingress.StepError, err error) string {
	if e.Refused {
		return ""
	}
	spent := make([]string, 0, len(e.Done)+1)
	for _, done := range append(e.Done, appsingress.StepTime{Name: e.Name, Elapsed: e.Elapsed}) {
		if done.Name != "" {
			spent = append(spent, done.Name+" "+shortDuration(done.Elapsed))
		}
	}
	text := fmt.Sprintf("Time: %s of %s", shortDuration(elapsed), shortDuration(op.budget))
	if len(spent) > 0 {
		text += " (" + strings.Join(spent, ", ") + ")"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		text += fmt.Sprintf("; timeouts.%s gives more", op.verb)
	}
	return text
}

func existing(v verb, e *appsingress.StepError) string {
	switch {
	case v == verbRead:
		return ""
	case v == verbDelete && e.Of == 0:
		return "What exists could not be found out, and nothing was removed in any cluster"
	case len(e.Exists) == 0 && e.Blind:
		return "Exists now: not known, and nothing was changed in any cluster"
	case len(e.Exists) == 0:
		return "Exists now: nothing of this ingress"
	}
	return "Exists now: " + strings.Join(e.Exists, ", ")
}

// next is what the next run will do.
func next(v verb, err error) string {
	switch {
	case v == verbRead:
		return "Next: the state is unchanged, and the next refresh tries again"
	case v == verbUpdate:
		return "Next: the state is the one from before, and the next apply goes on where this one stopped"
	case v == verbDelete:
		return "Next: the state is kept, and the next destroy goes on where this one stopped"
	case refusedBeforeWriting(err):
		return "Next: the ingress is not in the state, and the next apply starts afresh"
	}
	return "Next: Terraform takes the ingress for tainted and would replace it. To go on where it stopped, run " +
		"terraform untaint ADDRESS, then apply. Destroy removes what exists"
}

// wayOut is what to do about objects of somebody else.
func wayOut(op operation, foreign []*appsingress.OwnershipError) string {
	if op.verb == verbDelete || op.verb == verbRead {
		return ""
	}
	owned := func(e *appsingress.OwnershipError) bool { return e.Owner != "" }
	var ways []string
	if slices.ContainsFunc(foreign, owned) {
		ways = append(ways, "Way out: choose other names in the configuration, or remove the other apps ingress first")
	}
	if slices.ContainsFunc(foreign, func(e *appsingress.OwnershipError) bool { return !owned(e) }) {
		way := "Way out: choose other names in the configuration; remove what is there; or take it over with adopt_existing = true, " +
			"after which destroy leaves it in place"
		if op.verb == verbCreate {
			way += ". If all of it is this ingress and Terraform has lost it: terraform import ADDRESS " + op.spec.ID()
		}
		ways = append(ways, way)
	}
	return strings.Join(ways, "\n")
}

// refusedBeforeWriting says that a create was refused and has changed nothing. What exists under its marks is another
// configuration's, or what an earlier create has left: the next one finds it again.
func refusedBeforeWriting(err error) bool {
	var step *appsingress.StepError
	return errors.As(err, &step) && step.Refused
}

// shortDuration is "30m" and not "30m0s", and has no more digits than a reader wants.
func shortDuration(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(time.Second)
	} else {
		d = d.Round(time.Millisecond)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func upperFirst(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// hostedUnseen is a refresh in attachment mode that could not look into the hosted cluster.
func hostedUnseen(why string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("The hosted cluster could not be looked into",
		"In attachment mode the oooi operator does the work in the hosted cluster, and what it reports was read. Whether something was "+
			"changed inside the hosted cluster is not known.\n\nReason: "+why)
}
