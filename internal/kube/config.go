package kube

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"
)

// Config is the provider's own arguments; nil, and empty, is not set. What is not set comes from the environment variables of
// the same meaning, and then from the kubeconfig.
type Config struct {
	ConfigPath            *string
	ConfigPaths           []string
	ConfigContext         *string
	ConfigContextCluster  *string
	ConfigContextAuthInfo *string
	Host                  *string
	Token                 *string
	ClientCertificate     *string // PEM
	ClientKey             *string // PEM
	ClusterCACertificate  *string // PEM
	Insecure              *bool
	TLSServerName         *string
	ProxyURL              *string
	Exec                  *Exec

	UserAgent string // what API servers log as the client; not an argument
}

// Exec is a credential plugin. It is always run without a terminal.
type Exec struct {
	APIVersion string
	Command    string
	Args       []string
	Env        map[string]string
}

// Loader turns the arguments into a connection. It reads no file and no environment variable before it is called, and all of
// them again at every call, so that rotated credentials are found. Its errors are *ConnectionError.
func (c Config) Loader(getenv func(string) string) func(ctx context.Context) (*rest.Config, error) {
	return func(context.Context) (*rest.Config, error) {
		s, err := c.settle(getenv)
		if err != nil {
			return nil, err
		}
		config, err := s.connect(getenv)
		if err != nil {
			return nil, asConnectionError(err)
		}
		config.UserAgent = c.UserAgent
		return config, nil
	}
}

// Validate finds sources that contradict each other, as a *ConnectionError that names both. It reads no file.
func (c Config) Validate(getenv func(string) string) error {
	_, err := c.settle(getenv)
	return err
}

// ConnectionError is a configuration that cannot be turned into a connection. It names the source, never what is in it that
// could be a credential.
type ConnectionError struct {
	Source string // the argument, variable, file or Secret at fault; empty when Err says it
	Err    error
}

// Error is "argument config_path: file /x does not exist".
func (e *ConnectionError) Error() string {
	if e.Source == "" {
		return "no connection: " + e.Err.Error()
	}
	return e.Source + ": " + e.Err.Error()
}

// Unwrap is the reason.
func (e *ConnectionError) Unwrap() error { return e.Err }

// asConnectionError marks an error met while a connection was being configured, so that an absent Secret is not taken for an
// absent object.
func asConnectionError(err error) error {
	var known *ConnectionError
	if errors.As(err, &known) {
		return err
	}
	return &ConnectionError{Err: err}
}
