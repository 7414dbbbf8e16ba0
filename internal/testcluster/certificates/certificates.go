// Package certificates makes certificates for the servers of tests. They are valid for a day.
package certificates

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
	"time"
)

const lifetime = 24 * time.Hour

// Authority signs certificates.
type Authority struct {
	PEM []byte // its own certificate

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Request is a certificate to be. Its first host is its common name.
type Request struct {
	Hosts    []string  // names, wildcards and IP addresses
	NotAfter time.Time // zero: a day from now
}

// NewAuthority makes an authority of that name.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of %s: %w", name, err)
	}
	template := newTemplate(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	a := &Authority{certificate: template, key: key}
	if a.certificate, err = a.sign(template, key); err != nil {
		return nil, err
	}
	a.PEM = encode("CERTIFICATE", a.certificate.Raw)
	return a, nil
}

// Pool is for those who trust the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Issue makes a certificate for a server, with a key of its own.
func (a *Authority) Issue(request Request) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("generating a server's key: %w", err)
	}
	template := newTemplate(request.Hosts[0])
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if !request.NotAfter.IsZero() {
		template.NotAfter = request.NotAfter
	}
	for _, host := range request.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	leaf, err := a.sign(template, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return signed, nil
}

func newTemplate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-2 * lifetime), // before the end of a certificate that is to have expired, and clocks are set back
		NotAfter:     now.Add(lifetime),
	}
}

// Encode turns a certificate that was issued here, and its key, into PEM: the key in the one form that an API server takes
// for signing tokens, too.
func Encode(pair tls.Certificate) (certificate, key []byte, err error) {
	private, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil, fmt.Errorf("encoding a key: it is a %T", pair.PrivateKey)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	return encode("CERTIFICATE", pair.Certificate[0]), encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
