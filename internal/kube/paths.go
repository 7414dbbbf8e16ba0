package kube

import (
	"os"
	"path/filepath"
	"strings"
)

// expand puts the home directory where "~" stands at the beginning, and leaves out empty paths.
func expand(getenv func(string) string, paths []string) []string {
	var expanded []string
	for _, path := range paths {
		rest, isHome := strings.CutPrefix(path, "~")
		if isHome && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
			path = filepath.Join(homeOf(getenv), rest)
		}
		if path != "" {
			expanded = append(expanded, path)
		}
	}
	return expanded
}

func homeOf(getenv func(string) string) string {
	if home := getenv("HOME"); home != "" {
		return home
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "~"
	}
	return home
}

// readFile reads a file that source names.
func readFile(path, source string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &ConnectionError{Source: source, Err: err}
	}
	return data, nil
}
