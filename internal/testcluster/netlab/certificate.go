package netlab

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/certificates"
)

// routerCertificate is the certificate of all routers of a lab, and who vouches for it.
type routerCertificate struct {
	ca   *x509.CertPool
	leaf tls.Certificate
}

func newRouterCertificate(name string) (*routerCertificate, error) {
	authority, err := certificates.NewAuthority("ingress-operator")
	if err != nil {
		return nil, err
	}
	leaf, err := authority.Issue(certificates.Request{Hosts: []string{name}})
	if err != nil {
		return nil, err
	}
	return &routerCertificate{ca: authority.Pool(), leaf: leaf}, nil
}
