package kube

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
	getenv := func(name string) string { return env[name] }
	if config := inCluster(getenv, dir); config != nil {
		t.Error("there is no token")
	}
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := inCluster(getenv, dir)
	if config == nil || config.Host != "https://[fd00::1]:443" || config.BearerTokenFile != token || config.CAFile == "" {
		t.Errorf("got %v", config)
	}
	if config := inCluster(func(string) string { return "" }, dir); config != nil {
		t.Error("not in a pod")
	}
}
