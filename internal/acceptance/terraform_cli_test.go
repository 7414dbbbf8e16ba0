package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/densityops/terraform-provider-oooi/internal/provider"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
)

const (
	// pluginName is what Terraform looks for in a folder. The test binary under this name is the provider.
	pluginName = "terraform-provider-oooi"
	// pidVariable names the file that a provider process leaves its process id in.
	pidVariable = "ACCEPTANCE_PROVIDER_PID"
	// patience only ends a test that hangs.
	patience = 2 * time.Minute
)

// servedAsPlugin serves the provider when this process was started as one by Terraform: a process of its own, with an
// environment of its own, that can be killed, without building anything.
func servedAsPlugin() bool {
	if filepath.Base(os.Args[0]) != pluginName {
		return false
	}
	if file := os.Getenv(pidVariable); file != "" {
		_ = os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600) // the test that needs it fails without
	}
	options := providerserver.ServeOpts{Address: "registry.terraform.io/densityops/oooi"}
	if err := providerserver.Serve(context.Background(), provider.New("test"), options); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// cli is a working folder in which a test runs Terraform's commands itself: with any flag, an environment that holds nothing
// but what it is given, and a provider in a process of its own.
type cli struct {
	t       *testing.T
	program string
	dir     string
	env     []string
	inside  *netlab.Namespace // where its commands run; nil: on this machine
}

// newCLI makes a working folder with this configuration. The environment is pairs of NAME=value, on top of the little that
// Terraform needs.
func newCLI(t *testing.T, config string, env ...string) *cli {
	t.Helper()
	c := &cli{t: t, program: os.Getenv("TF_ACC_TERRAFORM_PATH"), dir: t.TempDir()}
	plugins := filepath.Join(c.dir, "plugins")
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(os.Mkdir(plugins, 0o700), os.Symlink(self, filepath.Join(plugins, pluginName)))
	}
	if err != nil {
		t.Fatal(err)
	}
	c.file("terraformrc", fmt.Sprintf(
		"provider_installation {\n  dev_overrides {\n    \"hashicorp/oooi\" = %q\n  }\n  direct {}\n}\n", plugins))
	c.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1",
		"TF_CLI_CONFIG_FILE=" + filepath.Join(c.dir, "terraformrc"), pidVariable + "=" + filepath.Join(c.dir, "provider.pid"),
	}, env...)
	c.config(config)
	return c
}

// config replaces the configuration.
func (c *cli) config(content string) { c.file("main.tf", content) }

// file writes a file into the working folder and returns its path.
func (c *cli) file(name, content string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// command is a run of Terraform, under way.
type command struct {
	cli     *cli
	process *exec.Cmd
	out     lockedBuffer
	ended   chan struct{}
	code    int
}

// start starts a command without terminal and colours.
func (c *cli) start(args ...string) *command {
	c.t.Helper()
	_ = os.Remove(filepath.Join(c.dir, "provider.pid")) // of the command before
	ctx := context.WithoutCancel(c.t.Context())
	run := &command{cli: c, process: exec.CommandContext(ctx, c.program, args...), ended: make(chan struct{})}
	run.process.Dir, run.process.Env = c.dir, c.env
	run.process.Stdout, run.process.Stderr = &run.out, &run.out
	start := run.process.Start
	if c.inside != nil {
		start = func() error { return c.inside.Do(run.process.Start) }
	}
	if err := start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		defer close(run.ended)
		_ = run.process.Wait() // the exit code says it
		run.code = run.process.ProcessState.ExitCode()
	}()
	c.t.Cleanup(func() {
		select {
		case <-run.ended:
		default:
			run.killProvider()
			_ = run.process.Process.Kill()
			<-run.ended
		}
	})
	return run
}

// wait returns what the command printed, and its exit code.
func (r *command) wait() (output string, code int) {
	r.cli.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.cli.t.Fatalf("terraform does not end:\n%s", r.out.String())
	}
	return r.out.String(), r.code
}

// interrupt is Ctrl-C.
func (r *command) interrupt() { _ = r.process.Process.Signal(os.Interrupt) }

// killProvider kills the provider process that the command started last.
func (r *command) killProvider() {
	content, _ := os.ReadFile(filepath.Join(r.cli.dir, "provider.pid"))
	if pid, err := strconv.Atoi(string(content)); err == nil {
		if plugin, err := os.FindProcess(pid); err == nil {
			_ = plugin.Kill()
		}
	}
}

// run runs a command to its end.
func (c *cli) run(args ...string) (output string, code int) {
	c.t.Helper()
	return c.start(args...).wait()
}

// must runs a command that has to succeed.
func (c *cli) must(args ...string) string {
	c.t.Helper()
	output, code := c.run(args...)
	if code != 0 {
		c.t.Fatalf("terraform %s: exit code %d\n%s", strings.Join(args, " "), code, output)
	}
	return output
}

// fails runs a command that has to end with one error that contains all these texts.
func (c *cli) fails(texts []string, args ...string) string {
	c.t.Helper()
	output, code := c.run(args...)
	c.failed(output, code, texts)
	return output
}

// summaries finds the beginnings of errors. What is lower case is an error inside of a text.
var summaries = regexp.MustCompile(`(?m)^Error: [A-Z]`)

// failed checks the end of a command that had to fail.
func (c *cli) failed(output string, code int, texts []string) {
	c.t.Helper()
	if errs := len(summaries.FindAllString(output, -1)); code != 1 || errs != 1 {
		c.t.Errorf("want exit code 1 and one error, got %d and %d:\n%s", code, errs, output)
	}
	for _, text := range texts {
		if !strings.Contains(unwrapped(output), text) {
			c.t.Errorf("the error does not say %q:\n%s", text, output)
		}
	}
}

func (c *cli) apply(args ...string) string {
	c.t.Helper()
	return c.must(append([]string{"apply", "-auto-approve", "-input=false", "-no-color"}, args...)...)
}

func (c *cli) destroy(args ...string) string {
	c.t.Helper()
	return c.must(append([]string{"destroy", "-auto-approve", "-input=false", "-no-color"}, args...)...)
}

// unchanged checks that a plan after a refresh is empty.
func (c *cli) unchanged(args ...string) {
	c.t.Helper()
	output, code := c.run(append([]string{"plan", "-detailed-exitcode", "-input=false", "-no-color"}, args...)...)
	if code != 0 {
		c.t.Errorf("the plan is not empty (exit code %d):\n%s", code, output)
	}
}

// values are the attributes of a resource in the state; nil when it is not there.
func (c *cli) values(address string) map[string]any {
	c.t.Helper()
	return c.shown(address).Values
}

// tainted says that Terraform would replace a resource.
func (c *cli) tainted(address string) bool {
	c.t.Helper()
	return c.shown(address).Tainted
}

type shownResource struct {
	Address string
	Tainted bool
	Values  map[string]any
}

func (c *cli) shown(address string) shownResource {
	c.t.Helper()
	var state struct {
		Values struct {
			RootModule struct{ Resources []shownResource } `json:"root_module"`
		}
	}
	c.show(&state)
	for _, resource := range state.Values.RootModule.Resources {
		if resource.Address == address {
			return resource
		}
	}
	return shownResource{}
}

// planned is what a saved plan knows of a resource after it, and what it does not.
type planned struct {
	Actions      []string
	After        map[string]any
	AfterUnknown map[string]any `json:"after_unknown"`
}

func (c *cli) planned(file, address string) planned {
	c.t.Helper()
	var plan struct {
		Changes []struct {
			Address string
			Change  planned
		} `json:"resource_changes"`
	}
	c.show(&plan, file)
	for _, change := range plan.Changes {
		if change.Address == address {
			return change.Change
		}
	}
	c.t.Fatalf("%s is not in the plan", address)
	return planned{}
}

// show decodes the JSON of a saved plan, or of the state.
func (c *cli) show(into any, file ...string) {
	c.t.Helper()
	output := c.must(append([]string{"show", "-json", "-no-color"}, file...)...)
	_, document, _ := strings.Cut(output, "{") // after the warning about the provider that is not from a registry
	if err := json.NewDecoder(strings.NewReader("{" + document)).Decode(into); err != nil {
		c.t.Fatalf("decoding the output of show: %v\n%s", err, output)
	}
}

// unwrapped undoes what Terraform does to texts: frames and line breaks.
func unwrapped(output string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(output)), " ")
}

// lockedBuffer collects output that is read while it is written.
type lockedBuffer struct {
	mutex   sync.Mutex
	content bytes.Buffer
}

func (b *lockedBuffer) Write(content []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.content.Write(content)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.content.String()
}
