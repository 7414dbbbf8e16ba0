package kube

import (
	"context"

	"k8s.io/client-go/rest"
)

// Config is the provider's own arguments; nil is not set.
type Config struct {
	ConfigPath            *string
	ConfigPaths           []string
	ConfigContext         *string
	ConfigContextCluster  *string
	ConfigContextAuthInfo *string
	Host                  *string
	Token                 *string
	ClientCertificate     *string
	ClientKey             *string
	ClusterCACertificate  *string
	Insecure              *bool
	TLSServerName         *string
	ProxyURL              *string
	Exec                  *Exec
	UserAgent             string
}

// Exec is a credential plugin.
type Exec struct {
	APIVersion string
	Command    string
	Args       []string
	Env        map[string]string
}

// Loader turns the arguments into a connection. No file is read and no environment variable looked up before it is called.
func (c Config) Loader(getenv func(string) string) func(ctx context.Context) (*rest.Config, error) { panic("todo") }

// Validate finds sources that contradict each other. It reads no file.
func (c Config) Validate(getenv func(string) string) error { panic("todo") }

// ConnectionError is a configuration that cannot be turned into a connection.
type ConnectionError struct {
	Source string
	Err    error
}

func (e *ConnectionError) Error() string { panic("todo") }

func (e *ConnectionError) Unwrap() error { return e.Err }
