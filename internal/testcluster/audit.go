package testcluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Audit is the audit log of an API server. It is written before a request's answer ends, so whoever has read a whole
// answer finds the request here.
type Audit struct{ file string }

// Mark is a point in the log.
type Mark struct {
	offset int64
	when   time.Time
}

// AuditEntry is one request.
type AuditEntry struct {
	ID               string          `json:"auditID"`
	Stage            string          `json:"stage"` // ResponseStarted for a watch that goes on, else ResponseComplete (or Panic)
	Verb             string          `json:"verb"`  // Kubernetes's word: get, list, watch, create, update, patch, delete
	RequestURI       string          `json:"requestURI"`
	UserAgent        string          `json:"userAgent"`
	User             AuditUser       `json:"user"`
	Object           AuditObject     `json:"objectRef"`
	Response         AuditResponse   `json:"responseStatus"`
	RequestReceived  time.Time       `json:"requestReceivedTimestamp"`
	StageTime        time.Time       `json:"stageTimestamp"`
	RequestObject    json.RawMessage `json:"requestObject,omitempty"`  // of writes, but not of Secrets
	ResponseObject   json.RawMessage `json:"responseObject,omitempty"` // the same
	ImpersonatedUser AuditUser       `json:"impersonatedUser"`
}

// AuditUser is who asked.
type AuditUser struct {
	Name   string   `json:"username"`
	Groups []string `json:"groups"`
}

// AuditObject is what was asked for. It is empty for requests that are not for a resource, such as discovery.
type AuditObject struct {
	Group       string `json:"apiGroup"`
	Version     string `json:"apiVersion"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

// AuditResponse is what was answered.
type AuditResponse struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Write says that the request was meant to change something. A review (of access, of a token) and a dry run change nothing.
func (e AuditEntry) Write() bool {
	if strings.Contains(e.RequestURI, "dryRun=All") || e.Object.Group == "authorization.k8s.io" || e.Object.Group == "authentication.k8s.io" {
		return false
	}
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb)
}

// String is a line for the messages of a failed test.
func (e AuditEntry) String() string {
	return fmt.Sprintf("%s %d %s %s (%s)", e.RequestReceived.Format("15:04:05.000000"), e.Response.Code, e.Verb, e.RequestURI, e.User.Name)
}

// AuditFilter says whether an entry is wanted.
type AuditFilter func(AuditEntry) bool

// ByUser wants what these users asked.
func ByUser(names ...string) AuditFilter {
	return func(e AuditEntry) bool { return slices.Contains(names, e.User.Name) }
}

// Writes wants what was meant to change something.
func Writes() AuditFilter { return AuditEntry.Write }

// Mark is now.
func (a *Audit) Mark() (Mark, error) {
	info, err := os.Stat(a.file)
	if err != nil {
		return Mark{}, fmt.Errorf("reading the audit log: %w", err)
	}
	return Mark{offset: info.Size(), when: time.Now()}, nil
}

// Since returns the requests that came after the mark and fit all filters, in the order in which they came.
func (a *Audit) Since(mark Mark, filters ...AuditFilter) ([]AuditEntry, error) {
	file, err := os.Open(a.file)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close() //nolint:errcheck // read only
	if _, err := file.Seek(mark.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	entries, err := parseAudit(content)
	if err != nil {
		return nil, err
	}
	// Requests that were under way at the mark are answered after it. The log's times have no more than microseconds.
	from := mark.when.Truncate(time.Microsecond)
	return slices.DeleteFunc(entries, func(entry AuditEntry) bool {
		return entry.RequestReceived.Before(from) ||
			slices.ContainsFunc(filters, func(wanted AuditFilter) bool { return !wanted(entry) })
	}), nil
}

// parseAudit makes one entry of each request: of the several stages of a watch the last one is kept.
func parseAudit(content []byte) ([]AuditEntry, error) {
	var entries []AuditEntry
	known := map[string]int{}
	for decoder := json.NewDecoder(bytes.NewReader(content)); ; {
		var entry AuditEntry
		err := decoder.Decode(&entry)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the last line is just being written
			break
		}
		if err != nil {
			return nil, fmt.Errorf("parsing the audit log: %w", err)
		}
		if at, again := known[entry.ID]; again {
			entries[at] = entry
			continue
		}
		known[entry.ID] = len(entries)
		entries = append(entries, entry)
	}
	slices.SortStableFunc(entries, func(a, b AuditEntry) int { return a.RequestReceived.Compare(b.RequestReceived) })
	return entries, nil
}
