package certificates_test

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/certificates"
)

func TestIssue(t *testing.T) {
	t.Parallel()
	authority, err := certificates.NewAuthority("authority")
	if err != nil {
		t.Fatal(err)
	}
	other, err := certificates.NewAuthority("other")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(certificates.Request{Hosts: []string{"*.apps.example.com", "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	expired, err := authority.Issue(certificates.Request{Hosts: []string{"a.example.com"}, NotAfter: time.Now().Add(-time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name        string
		certificate *x509.Certificate
		host        string
		roots       *x509.CertPool
		valid       bool
	}{
		{"wildcard", pair.Leaf, "a.apps.example.com", authority.Pool(), true},
		{"address", pair.Leaf, "127.0.0.1", authority.Pool(), true},
		{"another name", pair.Leaf, "a.example.com", authority.Pool(), false},
		{"another authority", pair.Leaf, "127.0.0.1", other.Pool(), false},
		{"expired", expired.Leaf, "a.example.com", authority.Pool(), false},
	} {
		_, err := tt.certificate.Verify(x509.VerifyOptions{DNSName: tt.host, Roots: tt.roots})
		if (err == nil) != tt.valid {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	certificate, key, err := certificates.Encode(pair)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		t.Error(err)
	}
}
