package process_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a shell script and waits until it has printed "up".
func start(t *testing.T, script string) *process.Process {
	t.Helper()
	p, err := process.Start(process.Options{
		Program: "/bin/sh", Args: []string{"-c", script}, Env: []string{"GREETING=hello"}, LogFile: filepath.Join(t.TempDir(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	err = p.Ready(t.Context(), func(context.Context) error {
		if !strings.HasSuffix(p.Tail(), "up") {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script        string
		paused        bool
		after, before time.Duration // how long it may take
	}{
		"at once":        {"echo up; exec sleep 1000", false, 0, 2 * time.Second},
		"while paused":   {"echo up; exec sleep 1000", true, 0, 2 * time.Second},
		"a stubborn one": {"trap '' TERM; echo up; while :; do sleep 0.1; done", false, 2 * time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, test.script)
			if p.Err() != nil {
				t.Fatalf("it is said to have ended: %v", p.Err())
			}
			if test.paused {
				if err := p.Pause(); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			p.Stop()
			if took := time.Since(began); took < test.after || took > test.before {
				t.Errorf("it took %s to stop", took)
			}
			select {
			case <-p.Exited():
			default:
				t.Error("it has not exited")
			}
			p.Stop()
			p.Kill()
		})
	}
}

func TestEndsByItself(t *testing.T) {
	t.Parallel()
	p := start(t, "echo $GREETING; echo up; sleep 0.5; exit 3")
	<-p.Exited()
	var status *exec.ExitError
	if !errors.As(p.Err(), &status) || status.ExitCode() != 3 {
		t.Errorf("it exited with %v", p.Err())
	}
	err := p.Ready(t.Context(), func(context.Context) error { return nil })
	if !errors.As(err, &status) || !strings.Contains(err.Error(), "hello\nup") {
		t.Errorf("the error does not tell what happened: %v", err)
	}
	if err := p.Resume(); err != nil {
		t.Errorf("a signal that comes too late: %v", err)
	}
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := process.Start(process.Options{Program: missing}); err == nil {
		t.Error("a program that is missing was started")
	}
	if _, err := process.Start(process.Options{Program: "/bin/sh", LogFile: filepath.Join(missing, "log")}); err == nil {
		t.Error("a program was started without its log file")
	}
	refused := errors.New("refused")
	_, err := process.Start(process.Options{Program: "/bin/sh", Inside: func(func() error) error { return refused }})
	if !errors.Is(err, refused) {
		t.Errorf("a place that cannot be entered: %v", err)
	}
}
