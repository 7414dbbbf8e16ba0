package netlab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

const validity = 24 * time.Hour

// routerCertificate is the certificate of all routers of a lab, and who vouches for it.
type routerCertificate struct {
	ca   *x509.CertPool
	leaf tls.Certificate
}

func newRouterCertificate(name string) (*routerCertificate, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the router's authority: %w", err)
	}
	ca := template(1, "ingress-operator")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	if ca, err = sign(ca, ca, caKey, caKey); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the router's key: %w", err)
	}
	leaf := template(2, name)
	leaf.DNSNames, leaf.KeyUsage = []string{name}, x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if leaf, err = sign(leaf, ca, key, caKey); err != nil {
		return nil, err
	}
	made := &routerCertificate{
		ca:   x509.NewCertPool(),
		leaf: tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf},
	}
	made.ca.AddCert(ca)
	return made, nil
}

func template(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(validity),
	}
}

func sign(certificate, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, certificate, parent, key.Public(), parentKey)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", certificate.Subject.CommonName, err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of %s: %w", certificate.Subject.CommonName, err)
	}
	return signed, nil
}
