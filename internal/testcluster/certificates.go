package testcluster

import (
	"crypto/tls"
	"fmt"
	"os"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/certificates"
)

// ServerName is a name, beside localhost and 127.0.0.1, that the servers' certificate is valid for: what the endpoint of
// a HostedCluster would be called. It resolves nowhere; tests use it as TLS server name.
const ServerName = "api.demo.clusters.example.com"

// authority signs the certificates of the servers of one environment.
type authority struct{ *certificates.Authority }

func newAuthority() (*authority, error) {
	made, err := certificates.NewAuthority("testcluster-ca")
	if err != nil {
		return nil, err
	}
	return &authority{made}, nil
}

func (a *authority) server() (tls.Certificate, error) {
	return a.Issue(certificates.Request{Hosts: []string{"localhost", ServerName, "127.0.0.1"}})
}

// WriteServer makes a server's certificate and puts it and its key into files.
func (a *authority) WriteServer(certificateFile, keyFile string) error {
	pair, err := a.server()
	if err != nil {
		return err
	}
	certificate, key, err := certificates.Encode(pair)
	if err != nil {
		return err
	}
	if err := os.WriteFile(certificateFile, certificate, 0o600); err != nil {
		return fmt.Errorf("writing a server's certificate: %w", err)
	}
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		return fmt.Errorf("writing a server's key: %w", err)
	}
	return nil
}

// TLS makes a configuration for a server inside this process.
func (a *authority) TLS() (*tls.Config, error) {
	pair, err := a.server()
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

// writeKey puts a new private key into a file: the one that API servers sign service account tokens with.
func (a *authority) writeKey(file string) error {
	pair, err := a.server()
	if err != nil {
		return err
	}
	_, key, err := certificates.Encode(pair)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, key, 0o600); err != nil {
		return fmt.Errorf("writing a signing key: %w", err)
	}
	return nil
}
