package testcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	modulePath = "github.com/densityops/terraform-provider-oooi"

	// AssetsVariable names a folder with kube-apiserver and etcd, for those who have them already.
	AssetsVariable = "KUBEBUILDER_ASSETS"
)

// MissingError says that something was not built yet, and how to get it.
type MissingError struct{ Path string }

func (e *MissingError) Error() string {
	return e.Path + " is missing; get it with: make tools-clusters tools-datapath"
}

// Binary finds a program that internal/tools/build.sh builds.
func Binary(name string) (string, error) {
	if folder := os.Getenv(AssetsVariable); folder != "" {
		if path := filepath.Join(folder, name); exists(path) {
			return path, nil
		}
	}
	return built(name)
}

// built finds what internal/tools/build.sh put into bin/.
func built(elements ...string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(append([]string{root, "bin"}, elements...)...)
	if !exists(path) {
		return "", &MissingError{Path: path}
	}
	return path, nil
}

// moduleRoot is the folder of this module's go.mod, above the working directory: that is where go test runs a test.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for the module's folder: %w", err)
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		content, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		switch {
		case err == nil && strings.HasPrefix(string(content), "module "+modulePath+"\n"):
			return folder, nil
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return "", fmt.Errorf("looking for the module's folder: %w", err)
		case folder == filepath.Dir(folder):
			return "", fmt.Errorf("looking for the module's folder: %s is not inside of it", start)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
