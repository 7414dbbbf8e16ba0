package probe

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// tlsConfig takes every certificate: what is wrong with one is found afterwards, when it can be shown, too.
func (c *check) tlsConfig() *tls.Config {
	return &tls.Config{
		ServerName:         c.name,
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // Web.Verify says whether it has to be valid, and distrust looks
	}
}

// distrust says what is wrong with the certificate; empty when it is valid for the name.
func (c *check) distrust(certificates []*x509.Certificate) string {
	if len(certificates) == 0 {
		return "the other side shows no certificate"
	}
	between := x509.NewCertPool()
	for _, certificate := range certificates[1:] {
		between.AddCert(certificate)
	}
	_, err := certificates[0].Verify(x509.VerifyOptions{DNSName: c.name, Roots: c.Web.Roots, Intermediates: between})
	if err == nil {
		return ""
	}
	var (
		invalid   x509.CertificateInvalidError
		otherName x509.HostnameError
		authority x509.UnknownAuthorityError
		system    x509.SystemRootsError
	)
	switch {
	case errors.As(err, &otherName):
		return fmt.Sprintf("the certificate is for another name than %s: see which one the router is given", c.shown)
	case errors.As(err, &authority):
		return "the certificate is of an unknown authority: see whether the right one is trusted here"
	case errors.As(err, &system):
		return "the authorities that this machine trusts cannot be read"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired, or is not valid yet: see its dates, and this machine's clock"
	default:
		return "the certificate is not valid for a server"
	}
}

// certificateText names a few of the names in the certificate.
func (c *check) certificateText(certificates []*x509.Certificate) string {
	if len(certificates) == 0 {
		return "no certificate"
	}
	names := make([]string, 0, len(certificates[0].DNSNames))
	for _, name := range certificates[0].DNSNames {
		names = append(names, printable(c.show(strings.ToLower(name))))
	}
	if len(names) == 0 && certificates[0].Subject.CommonName != "" {
		names = append(names, printable(c.show(certificates[0].Subject.CommonName)))
	}
	if len(names) == 0 {
		return "certificate without a name"
	}
	slices.Sort(names)
	names = slices.Compact(names)
	const most = 3
	return "certificate for " + someOf(names, most)
}

// printable keeps out what a stranger may have put into a name to confuse a terminal, or to fill it.
func printable(name string) string {
	const longest = 100
	runes := []rune(strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name))
	if len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return string(runes)
}
