package kube

// Error is what every method of a Cluster returns. Unwrap gives the error of the API server or of the connection.
type Error struct {
	Verb    string
	Ref     Ref
	Cluster string
	Err     error
}

func (e *Error) Error() string { panic("todo") }

func (e *Error) Unwrap() error { return e.Err }

// FieldConflict is one field that another manager owns, from a refused server-side apply.
type FieldConflict struct{ Field, Manager, Message string }

// IsNotFound says that the object, or its whole kind, is absent.
func IsNotFound(err error) bool { panic("todo") }

// IsConflict says that somebody else wrote in between, or owns a field.
func IsConflict(err error) bool { panic("todo") }

// IsForbidden is a 403.
func IsForbidden(err error) bool { panic("todo") }

// IsUnauthorized is a 401.
func IsUnauthorized(err error) bool { panic("todo") }

// IsInvalid is a 422.
func IsInvalid(err error) bool { panic("todo") }

// IsApplyConflict names the fields that a server-side apply without force was refused for; nil when it is another error.
func IsApplyConflict(err error) []FieldConflict { panic("todo") }

// IsTransient says that the same request may succeed later.
func IsTransient(err error) bool { panic("todo") }

// IsDenied says that the API server, its validation or an admission webhook refused the request for good.
func IsDenied(err error) bool { panic("todo") }
