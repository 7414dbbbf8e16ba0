package acceptance

import (
	"archive/zip"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

func encode(content []byte) string { return base64.StdEncoding.EncodeToString(content) }

// keyPair is a certificate and its key, as PEM.
func keyPair(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nobody"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// credentials are texts that may be nowhere, each under what it is.
type credentials map[string]string

// add adds a credential in the forms in which it could get out. Of a text with lines every line is one: logs and JSON break them
// in their own ways.
func (c credentials) add(name, content string) {
	for i, line := range strings.Split(strings.TrimSpace(content), "\n") {
		if len(line) > 15 && !strings.HasPrefix(line, "-----") {
			c[fmt.Sprintf("%s, line %d", name, i+1)] = line
		}
	}
	// Whatever is in front of it, a part of it that is long enough is found.
	for shift := range 3 {
		part := encode([]byte(content[shift:]))
		c[fmt.Sprintf("%s in base64 from %d", name, shift)] = part[:min(len(part)-4, 64)]
	}
}

// leaks are the credentials that a content has.
func (c credentials) leaks(t *testing.T, where string, content []byte) {
	t.Helper()
	for name, text := range c {
		if at := bytes.Index(content, []byte(text)); at >= 0 {
			t.Errorf("%s is in %s: %q", name, where, content[max(0, at-200):min(len(content), at+40)])
		}
	}
}

// A whole life under the most talkative log leaves no credential anywhere: not in logs, outputs, states, backups and plans.
func TestNoCredentialGetsOut(t *testing.T) {
	w := newWorld(t)
	w.settled()
	secret := credentials{}
	c := newCLI(t, "")
	management, hosted := w.pair.Management.REST(testcluster.UserProvider), w.pair.Hosted.REST(testcluster.UserProvider)

	// The hosted cluster's kubeconfig has a token, a certificate and a key; the management cluster's credential is the plugin's.
	certificate, key := keyPair(t)
	config := w.loaded(w.pair.Hosted.KubeconfigBytes(testcluster.UserProvider))
	config.AuthInfos[testcluster.UserProvider].ClientCertificateData = certificate
	config.AuthInfos[testcluster.UserProvider].ClientKeyData = key
	kubeconfig := encoded(t, config)
	w.must(w.sims.HyperShift.PublishKubeconfig(w.management.ctx(), "clusters", clusterName, kubeconfig))
	secret.add("the management cluster's token", management.BearerToken)
	secret.add("the hosted cluster's token", hosted.BearerToken)
	secret.add("the key", string(key))
	secret.add("the certificate", string(certificate))
	secret.add("the hosted cluster's kubeconfig", string(kubeconfig[:120]))
	secret["the kubeconfig's key"] = encode(key)[:64]
	delete(secret, "the hosted cluster's kubeconfig, line 1")

	plugin := c.file("plugin", "#!/bin/sh\n"+
		`printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$SECRET"`+"\n")
	w.must(os.Chmod(plugin, 0o700))
	block := fmt.Sprintf(`host = %q
  cluster_ca_certificate = <<-PEM
%sPEM
  exec {
    api_version = "client.authentication.k8s.io/v1"
    command     = %q
    env         = { SECRET = var.token }
  }`, management.Host, management.CAData, plugin)
	base := func(changes ...change) string {
		return "variable \"token\" {\n  ephemeral = true\n}\n" +
			strings.Replace(w.config(changes...), fmt.Sprintf("config_path = %q", w.managementKubeconfig()), block, 1)
	}
	log := filepath.Join(c.dir, "trace.log")
	c.env = append(c.env, "TF_LOG=TRACE", "TF_LOG_PATH="+log, "TF_VAR_token="+management.BearerToken)

	c.config(base())
	outputs := c.must(planFlags("-out=plan")...)
	outputs += c.must("show", "-json", "plan")
	outputs += c.must("apply", "-input=false", "-no-color", "plan")
	c.config(base(set("service.labels", object("team", "apps"))))
	w.at(services).label("team", "other")
	outputs += c.apply()
	c.unchanged()
	outputs += c.must("state", "rm", address)
	outputs += c.must("import", "-no-color", address, "clusters/demo")
	outputs += c.must("show", "-json")

	// Credentials that are refused, and a kubeconfig that cannot be read, are no reason to show them.
	malformed := append(bytes.Clone(kubeconfig), ": ["...)
	w.must(w.sims.HyperShift.PublishKubeconfig(w.management.ctx(), "clusters", clusterName, malformed))
	outputs += c.fails([]string{"Secret clusters/demo-admin-kubeconfig"}, planFlags()...)
	w.must(w.sims.HyperShift.PublishKubeconfig(w.management.ctx(), "clusters", clusterName,
		bytes.ReplaceAll(kubeconfig, []byte(hosted.BearerToken), []byte("x"+hosted.BearerToken))))
	outputs += c.fails([]string{"Unauthorized"}, planFlags()...)
	w.must(w.sims.HyperShift.PublishKubeconfig(w.management.ctx(), "clusters", clusterName, kubeconfig))
	outputs += c.destroy()

	secret.leaks(t, "an output", []byte(outputs))
	secret.leaks(t, "an output", []byte(strings.Join(strings.Fields(outputs), "")))
	files := w.files(c, secret)
	for _, wanted := range []string{"trace.log", "terraform.tfstate", "terraform.tfstate.backup", "plan"} {
		if files[wanted] < 100 {
			t.Errorf("%s was not looked at", wanted)
		}
	}
	if trace, err := os.ReadFile(log); err != nil || !bytes.Contains(trace, []byte("ingress=clusters/demo")) {
		t.Errorf("the provider's own log is not among what was looked at: %v", err)
	}
}

// files looks for credentials in all files that Terraform has written, and says how large they are.
func (w *world) files(c *cli, secret credentials) map[string]int {
	w.t.Helper()
	sizes := map[string]int{}
	err := filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // a folder of this test alone
		sizes[entry.Name()] = len(content)
		secret.leaks(w.t, entry.Name(), content)
		if archive, zipErr := zip.NewReader(bytes.NewReader(content), int64(len(content))); zipErr == nil {
			for _, file := range archive.File {
				secret.leaks(w.t, entry.Name()+"/"+file.Name, unpacked(w.t, file))
			}
		}
		return err
	})
	w.must(err)
	return sizes
}

func unpacked(t *testing.T, file *zip.File) []byte {
	t.Helper()
	reader, err := file.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // read only
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
