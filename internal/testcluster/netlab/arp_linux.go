package netlab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	etherTypeARP = 0x0806
	arpRequest   = 1
	arpReply     = 2
	frameLength  = 42 // Ethernet header and ARP message, for IPv4
)

// WhoHas asks on a link who has an IPv4 address, and returns all hardware addresses that answer within the time.
func (n *Namespace) WhoHas(ctx context.Context, link string, address netip.Addr, within time.Duration) ([]net.HardwareAddr, error) {
	answers, err := n.whoHas(ctx, link, address, within)
	if err != nil {
		return nil, fmt.Errorf("asking who has %s: %w", address, err)
	}
	return answers, nil
}

func (n *Namespace) whoHas(ctx context.Context, link string, address netip.Addr, within time.Duration) ([]net.HardwareAddr, error) {
	if !address.Is4() {
		return nil, errors.New("it is no IPv4 address")
	}
	socket, own, source, err := n.openARP(link)
	if err != nil {
		return nil, err
	}
	defer socket.Close() //nolint:errcheck // every answer that matters was read
	defer context.AfterFunc(ctx, func() { _ = socket.SetDeadline(time.Now()) })()
	if err := socket.SetDeadline(time.Now().Add(within)); err != nil {
		return nil, fmt.Errorf("limiting the time: %w", err)
	}
	if _, err := socket.Write(requestFrame(own, source, address)); err != nil {
		return nil, fmt.Errorf("asking: %w", err)
	}
	var answers []net.HardwareAddr
	frame := make([]byte, 2*frameLength)
	for {
		length, err := socket.Read(frame)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return answers, ctx.Err()
		case err != nil:
			return nil, fmt.Errorf("reading an answer: %w", err)
		}
		from, ok := replyFrom(frame[:length], address)
		if ok && !slices.ContainsFunc(answers, func(known net.HardwareAddr) bool { return slices.Equal(known, from) }) {
			answers = append(answers, from)
		}
	}
}

// openARP opens a socket for ARP messages on a link, and finds the link's own addresses.
func (n *Namespace) openARP(link string) (socket *os.File, own net.HardwareAddr, source netip.Addr, err error) {
	err = n.Do(func() error {
		found, err := net.InterfaceByName(link)
		if err != nil {
			return err
		}
		own = found.HardwareAddr
		if source, err = firstIPv4(found); err != nil {
			return err
		}
		protocol := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, etherTypeARP))
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, int(protocol))
		if err != nil {
			return fmt.Errorf("opening a packet socket: %w", err)
		}
		socket = os.NewFile(uintptr(fd), "arp")
		if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: found.Index}); err != nil {
			return errors.Join(fmt.Errorf("binding a packet socket: %w", err), socket.Close())
		}
		return nil
	})
	return socket, own, source, err
}

func firstIPv4(link *net.Interface) (netip.Addr, error) {
	addresses, err := link.Addrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("reading the addresses of %s: %w", link.Name, err)
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Is4() {
			return prefix.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("%s has no IPv4 address", link.Name)
}

// requestFrame is a broadcast that asks for an address.
func requestFrame(own net.HardwareAddr, source, wanted netip.Addr) []byte {
	broadcast := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	frame := slices.Concat(broadcast, own)
	frame = binary.BigEndian.AppendUint16(frame, etherTypeARP)
	frame = append(frame, 0, 1, 8, 0, 6, 4, 0, arpRequest) // Ethernet, IPv4, the lengths of their addresses
	return slices.Concat(frame, own, source.AsSlice(), make([]byte, 6), wanted.AsSlice())
}

// replyFrom is who says in a frame that it has the address.
func replyFrom(frame []byte, wanted netip.Addr) (net.HardwareAddr, bool) {
	if len(frame) < frameLength || binary.BigEndian.Uint16(frame[20:]) != arpReply {
		return nil, false
	}
	sender, _ := netip.AddrFromSlice(frame[28:32])
	return slices.Clone(frame[22:28]), sender == wanted
}
