package provider

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// TestMain makes Terraform independent of the machine: no CLI configuration, and the Terraform on the path when there is one.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "oooi-provider-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	cli := filepath.Join(dir, "terraformrc")
	env := map[string]string{"TF_CLI_CONFIG_FILE": cli, "CHECKPOINT_DISABLE": "1"}
	if terraform, err := exec.LookPath("terraform"); err == nil && os.Getenv("TF_ACC_TERRAFORM_PATH") == "" {
		env["TF_ACC_TERRAFORM_PATH"] = terraform
	}
	for name, value := range env {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := os.WriteFile(cli, nil, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// terraformTest runs real Terraform with a scripted driver. With -short it is left out.
func terraformTest(t *testing.T, c resource.TestCase) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs Terraform, which -short does without")
	}
	resource.UnitTest(t, c)
}
