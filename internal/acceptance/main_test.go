package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

func TestMain(m *testing.M) {
	if servedAsPlugin() {
		return
	}
	os.Exit(run(m))
}

// run gives Terraform a configuration of its own: the machine's may point to a file that does not exist.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "acceptance-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	config := filepath.Join(dir, "terraformrc")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		panic(err)
	}
	settings := map[string]string{"TF_ACC": "1", "TF_CLI_CONFIG_FILE": config, "CHECKPOINT_DISABLE": "1"}
	if terraform, err := exec.LookPath("terraform"); err == nil && os.Getenv("TF_ACC_TERRAFORM_PATH") == "" {
		settings["TF_ACC_TERRAFORM_PATH"] = terraform
	}
	for name, value := range settings {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return testcluster.Main(m)
}
