package testcluster

import (
	"os"
	"testing"
)

// RequiredVariable is set where a test fails, and is not skipped, that this machine lacks something for.
const RequiredVariable = "TESTCLUSTER_REQUIRED"

// SkipWithout skips a test when something is missing, and says what.
func SkipWithout(tb testing.TB, missing error) {
	tb.Helper()
	switch {
	case missing == nil:
	case os.Getenv(RequiredVariable) != "":
		tb.Fatal(missing)
	default:
		tb.Skip(missing)
	}
}
