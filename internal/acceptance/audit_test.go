package acceptance

import (
	"strings"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// requests is what an API server has recorded since a moment.
type requests struct {
	t     *testing.T
	audit *testcluster.Audit
	mark  testcluster.Mark
}

// requests begins to record.
func (l live) requests() requests {
	l.t.Helper()
	mark, err := l.cluster.Audit().Mark()
	if err != nil {
		l.t.Fatal(err)
	}
	return requests{l.t, l.cluster.Audit(), mark}
}

// ofProvider are the provider's own requests.
func (r requests) ofProvider() []testcluster.AuditEntry {
	r.t.Helper()
	entries, err := r.audit.Since(r.mark, testcluster.ByUser(testcluster.UserProvider))
	if err != nil {
		r.t.Fatal(err)
	}
	return entries
}

// writes are the provider's requests that changed something.
func (r requests) writes() []testcluster.AuditEntry {
	r.t.Helper()
	var writes []testcluster.AuditEntry
	for _, entry := range r.ofProvider() {
		if entry.Write() {
			writes = append(writes, entry)
		}
	}
	return writes
}

// lines are entries, one a line.
func lines(entries []testcluster.AuditEntry) string {
	var out strings.Builder
	for _, entry := range entries {
		out.WriteString(entry.String() + "\n")
	}
	return out.String()
}

// firstWrite is the provider's first write to a resource.
func firstWrite(t *testing.T, entries []testcluster.AuditEntry, resource string) testcluster.AuditEntry {
	t.Helper()
	for _, entry := range entries {
		if entry.Object.Resource == resource {
			return entry
		}
	}
	t.Fatalf("nothing was written to %s:\n%s", resource, lines(entries))
	return testcluster.AuditEntry{}
}
