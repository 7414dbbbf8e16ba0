package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// terraform runs a program's commands in a folder of its own, against the local build of the provider.
type terraform struct {
	program string
	dir     string
	env     []string
	out     io.Writer
}

// newTerraform fills dir with the configuration of the demo and a CLI configuration that points at the folder with the
// provider. Under such an override there is nothing to install, so `terraform init` is not needed and the network is not
// asked for anything.
func newTerraform(program, provider, example, dir string, out io.Writer) (*terraform, error) {
	if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
		return nil, fmt.Errorf("copying the configuration: %w", err)
	}
	folder, err := filepath.Abs(filepath.Dir(provider))
	if err != nil {
		return nil, fmt.Errorf("looking for the provider: %w", err)
	}
	rc := filepath.Join(dir, "dev.tfrc")
	text := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %[1]q = %[3]q\n    %[2]q = %[3]q\n  }\n  direct {}\n}\n",
		"registry.terraform.io/densityops/oooi", "registry.opentofu.org/densityops/oooi", folder)
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("writing the CLI configuration: %w", err)
	}
	return &terraform{
		program: program, dir: dir, out: out,
		env: []string{"TF_CLI_CONFIG_FILE=" + rc, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1"},
	}, nil
}

// variable sets an input variable for all commands.
func (t *terraform) variable(name, value string) { t.env = append(t.env, "TF_VAR_"+name+"="+value) }

var progress = regexp.MustCompile(`^[^ ]+: (Creating|Still|Creation|Modif|Destr)|^(Apply|Destroy) complete`)

// apply brings about what the configuration says, and prints one line for each thing that happens.
func (t *terraform) apply(ctx context.Context) error {
	return t.run(ctx, progress.MatchString, "apply", "-auto-approve", "-input=false")
}

// destroy is apply the other way.
func (t *terraform) destroy(ctx context.Context) error {
	return t.run(ctx, progress.MatchString, "destroy", "-auto-approve", "-input=false")
}

// output prints the outputs.
func (t *terraform) output(ctx context.Context) error {
	return t.run(ctx, func(string) bool { return true }, "output")
}

// value prints one output, and returns it.
func (t *terraform) value(ctx context.Context, name string) (value string, err error) {
	err = t.run(ctx, func(line string) bool {
		value = line
		return true
	}, "output", "-raw", name)
	return value, err
}

// plan prints the actions alone, and says whether there are any.
func (t *terraform) plan(ctx context.Context) (changes bool, err error) {
	shown := false
	err = t.run(ctx, func(line string) bool {
		if strings.HasPrefix(line, "  #") || strings.HasPrefix(line, "No changes.") {
			shown = true
		}
		show := shown && strings.TrimSpace(line) != ""
		if strings.HasPrefix(line, "Plan:") || strings.HasPrefix(line, "No changes.") {
			shown = false
		}
		return show
	}, "plan", "-detailed-exitcode", "-input=false")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		return true, nil
	}
	return false, err
}

// run prints the lines that are to be shown as they come; all of them when the command fails.
func (t *terraform) run(ctx context.Context, show func(line string) bool, args ...string) error {
	_, _ = fmt.Fprintf(t.out, "    $ terraform %s\n", strings.Join(args, " "))

	cmd := exec.CommandContext(ctx, t.program, append(args, "-no-color")...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), t.env...)
	// In a group of its own: Ctrl-C reaches it once, from here. A second one would make it give up its state.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute

	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	var all []string
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		lines := bufio.NewScanner(reader)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			all = append(all, lines.Text())
			if show(lines.Text()) {
				_, _ = fmt.Fprintln(t.out, "    "+lines.Text())
			}
		}
		_, _ = io.Copy(io.Discard, reader)
	}()
	err := cmd.Run()
	_ = writer.Close()
	<-printed

	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) && exit.ExitCode() == 2 {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("terraform %s: %w", args[0], context.Cause(ctx))
	}
	_, _ = fmt.Fprintln(t.out, strings.Join(all, "\n"))
	return fmt.Errorf("terraform %s: %w", args[0], err)
}
