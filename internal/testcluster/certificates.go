package testcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

const certificateLifetime = 24 * time.Hour

// ServerName is a name, beside localhost and 127.0.0.1, that the servers' certificate is valid for: what the endpoint of
// a HostedCluster would be called. It resolves nowhere; tests use it as TLS server name.
const ServerName = "api.demo.clusters.example.com"

// authority signs the certificates of the servers of one environment.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	PEM         []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the authority's key: %w", err)
	}
	template := certificateTemplate("testcluster-ca")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing the authority's certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the authority's certificate: %w", err)
	}
	return &authority{certificate: certificate, key: key, PEM: encode("CERTIFICATE", der)}, nil
}

// Server makes a certificate for a server on this machine, and its key, both as PEM.
func (a *authority) Server() (certificate, key []byte, err error) {
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a server's key: %w", err)
	}
	template := certificateTemplate("testcluster")
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost", ServerName}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, serverKey.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing a server's certificate: %w", err)
	}
	key, err = encodeKey(serverKey)
	if err != nil {
		return nil, nil, err
	}
	return encode("CERTIFICATE", der), key, nil
}

// WriteServer puts a server's certificate and key into files.
func (a *authority) WriteServer(certificateFile, keyFile string) error {
	certificate, key, err := a.Server()
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
	certificate, key, err := a.Server()
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("loading a server's certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

// Pool is for clients of the servers.
func (a *authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// writeKey puts a new private key into a file: the one that API servers sign service account tokens with.
func writeKey(file string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generating a signing key: %w", err)
	}
	content, err := encodeKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return fmt.Errorf("writing a signing key: %w", err)
	}
	return nil
}

func certificateTemplate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour), // clocks that are set back while tests run
		NotAfter:     now.Add(certificateLifetime),
	}
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
