package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
)

// fault is why a connection brought no answer.
type fault int

const (
	faultOther        fault = iota // it is not spoken what was expected
	faultLate                      // nothing came in time
	faultUnreachable               // routers, or the neighbours, say that nobody is there
	faultRefused                   // nothing listens
	faultCut                       // closed or reset: which of the two is a matter of microseconds
	faultBlocked                   // this machine does not let it out
	faultNotTLS                    // something else than TLS came
	faultAlert                     // the other side says in TLS that it does not go on
	faultUnknownHost               // the host name does not exist
	faultHostNotFound              // the host name could not be looked up
)

// The numbers that Windows has of its own, which the names in syscall do not stand for.
const (
	windowsAccess      = 10013
	windowsNoFamily    = 10047
	windowsNoAddress   = 10049
	windowsNetDown     = 10050
	windowsNetUnreach  = 10051
	windowsAborted     = 10053
	windowsReset       = 10054
	windowsRefused     = 10061
	windowsHostDown    = 10064
	windowsHostUnreach = 10065
)

func faultOf(err error) fault {
	var (
		lookup *net.DNSError
		netErr net.Error
		record tls.RecordHeaderError
		op     *net.OpError
	)
	switch {
	case errors.As(err, &lookup):
		return lookupFault(lookup)
	case errors.As(err, &record):
		return faultNotTLS
	case errors.As(err, &op) && op.Op == "remote error": // that is what package tls calls an alert, whose type nobody else knows
		return faultAlert
	case isUnreachable(err):
		return faultUnreachable
	case isErrno(err, syscall.ECONNREFUSED, windowsRefused):
		return faultRefused
	case isErrno(err, syscall.EPERM, syscall.EACCES, windowsAccess):
		return faultBlocked
	case isCut(err):
		return faultCut
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &netErr) && netErr.Timeout():
		return faultLate
	default:
		return faultOther
	}
}

func lookupFault(err *net.DNSError) fault {
	if err.IsNotFound {
		return faultUnknownHost
	}
	return faultHostNotFound
}

// isUnreachable says that there is no way to an address, as the routing table or somebody on the way says.
func isUnreachable(err error) bool {
	return isErrno(err, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EHOSTDOWN,
		syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT,
		windowsNetUnreach, windowsHostUnreach, windowsNetDown, windowsHostDown, windowsNoAddress, windowsNoFamily)
}

// isCut says that the other side has ended the connection. Whether that is seen as its end, as a reset or as a broken pipe
// depends on which packet is faster.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		isErrno(err, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, windowsReset, windowsAborted)
}

func isErrno(err error, numbers ...syscall.Errno) bool {
	var number syscall.Errno
	return errors.As(err, &number) && slices.Contains(numbers, number)
}
