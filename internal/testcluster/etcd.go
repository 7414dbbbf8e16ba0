package testcluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

// startEtcd starts the one etcd that all API servers of an environment share. It returns the URL for clients.
func startEtcd(ctx context.Context, dir string) (*process.Process, string, error) {
	binary, err := Binary("etcd")
	if err != nil {
		return nil, "", err
	}
	ports, err := process.FreePorts(ctx, 2)
	if err != nil {
		return nil, "", err
	}
	client := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	etcd, err := process.Start(process.Options{Program: binary, LogFile: filepath.Join(dir, "etcd.log"), Args: []string{
		"--name=default",
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--unsafe-no-fsync", // the data need not survive a crash, and syncing is most of the time of a write
		"--log-level=warn",
	}})
	if err != nil {
		return nil, "", err
	}
	if err := etcd.Ready(ctx, func(ctx context.Context) error { return healthy(ctx, http.DefaultClient, client+"/health") }); err != nil {
		etcd.Kill()
		return nil, "", err
	}
	return etcd, client, nil
}

// healthy asks a health endpoint.
func healthy(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking %s: %s: %s", url, response.Status, body)
	}
	return nil
}
