package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"flag"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
)

var badKinds = []string{
	"wrong-ca", "no-cert", "expired", "wrong-alpn", "wrong-name", "huge-frame", "truncated", "garbage", "half-open",
	"empty", "fin-only", "no-fin", "extra", "reset", "hang-up", "vanish", "not-quic",
}

// A badClient does one thing wrong, tells what came of it, and whether the server still serves others.
type badClient struct {
	to             dialer
	kind, probe    string
	count          int
	timeout, dwell time.Duration
}

func runBad(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var b badClient
	b.to.register(flags, "transport.stdio-client")
	flags.StringVar(&b.kind, "kind", "", strings.Join(badKinds, ", "))
	flags.StringVar(&b.probe, "probe", "health", "how to see that the server still serves others: health, echo or none")
	flags.IntVar(&b.count, "count", 10_000, "streams to leave half open")
	flags.DurationVar(&b.timeout, "timeout", 5*time.Second, "how long to wait for what comes of it")
	flags.DurationVar(&b.dwell, "dwell", 0, "how long to stay before hanging up")
	if err := parse(flags, args, "kind", "addr", "certs-dir"); err != nil {
		return err
	}
	if !slices.Contains(badKinds, b.kind) {
		return usageError{fmt.Sprintf("--kind %q: one of %s", b.kind, strings.Join(badKinds, ", "))}
	}
	start := time.Now()
	line, err := b.misbehave(ctx)
	if err != nil {
		return err
	}
	line["kind"], line["ms"] = b.kind, time.Since(start).Milliseconds()
	if b.probe != "none" {
		problem := b.alive(ctx)
		line["alive"] = problem == nil
		if problem != nil {
			line["probeError"] = problem.Error()
		}
	}
	report(line)
	return nil
}

func (b *badClient) misbehave(ctx context.Context) (fields, error) {
	if b.kind == "not-quic" {
		return b.sendNoise()
	}
	config, err := b.tls()
	if err != nil {
		return nil, err
	}
	if b.kind == "half-open" {
		return b.openHalf(ctx, config)
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	conn, err := dialTLS(ctx, b.to.addr, config)
	if err != nil {
		return describe(err), nil
	}
	line := b.misuse(ctx, conn)
	time.Sleep(b.dwell)
	// The end of the process alone tells the other side nothing.
	if b.kind != "vanish" {
		hangUp(conn)
	}
	return line, nil
}

func (b *badClient) tls() (*tls.Config, error) {
	config, err := b.to.tls()
	if err != nil {
		return nil, err
	}
	switch b.kind {
	case "wrong-ca":
		other, err := newAuthority("Orchestra CA")
		if err != nil {
			return nil, err
		}
		return b.withLeaf(config, other, certLifetime)
	case "expired":
		ca, err := ensureAuthority(b.to.certsDir)
		if err != nil {
			return nil, err
		}
		return b.withLeaf(config, ca, -time.Hour)
	case "no-cert":
		config.Certificates = nil
	case "wrong-alpn":
		config.NextProtos = []string{"h3"}
	case "wrong-name":
		config.ServerName = "somebody.else"
	}
	return config, nil
}

// withLeaf shows the certificate even to a server that asks for one of another authority.
func (b *badClient) withLeaf(config *tls.Config, ca authority, life time.Duration) (*tls.Config, error) {
	leaf, err := newLeaf(b.to.name, ca, "ed25519", life)
	config.Certificates = nil
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &leaf, nil }
	return config, err
}

// misuse sends on one stream what the kind says, and waits for what comes back.
func (b *badClient) misuse(ctx context.Context, conn quic.Connection) fields {
	s, err := openStream(ctx, conn)
	if err != nil {
		return describe(err)
	}
	deadline, _ := ctx.Deadline()
	_ = s.SetDeadline(deadline)
	good := frame(goodRequest(b.probe))
	switch b.kind {
	case "huge-frame":
		_, _ = s.Write(append(binary.BigEndian.AppendUint32(nil, tooBig), make([]byte, tooBig)...))
	case "truncated":
		_, _ = s.Write(frame(make([]byte, 100))[:headerBytes+10])
	case "garbage":
		_ = s.writeFrame([]byte("\xff\xff\xff this is no message"))
	case "empty":
		_ = s.writeFrame(nil)
	case "fin-only":
	case "extra":
		_, _ = s.Write(append(good, "and something more"...))
	case "reset":
		_, _ = s.Write(good[:len(good)-1])
		s.CancelWrite(7)
	default:
		_, _ = s.Write(good)
	}
	if b.kind == "hang-up" || b.kind == "vanish" {
		return fields{"observed": "nothing"}
	}
	if b.kind != "no-fin" && b.kind != "reset" {
		_ = s.Close()
	}
	answer, err := s.readFrame()
	if err == nil {
		return fields{"observed": "answered", "bytes": len(answer), "answer": answerText(answer)}
	}
	if s.ended {
		return fields{"observed": "ended without an answer"}
	}
	if conn.Context().Err() != nil {
		err = context.Cause(conn.Context())
	}
	if isTimeout(err) {
		return fields{"observed": "timeout", "error": err.Error()}
	}
	return describe(err)
}

// openHalf leaves streams open that never get to the end of their first frame, over as many
// connections as it takes: one connection has credit for only so many.
func (b *badClient) openHalf(ctx context.Context, config *tls.Config) (fields, error) {
	var conns []quic.Connection
	defer func() { hangUpAll(conns) }()
	line := fields{"observed": "opened"}
	opened := 0
	for opened < b.count {
		dialCtx, cancel := context.WithTimeout(ctx, b.timeout)
		conn, err := dialTLS(dialCtx, b.to.addr, config)
		cancel()
		if err != nil {
			line = describe(err)
			break
		}
		conns = append(conns, conn)
		before := opened
		for opened < b.count {
			s, err := conn.OpenStream()
			if err != nil {
				break
			}
			if _, err := s.Write([]byte{0, 0}); err != nil {
				break
			}
			opened++
		}
		if opened == before {
			line = fields{"observed": "no credit for streams"}
			break
		}
	}
	if b.probe != "none" {
		problem := b.alive(ctx)
		line["aliveMeanwhile"] = problem == nil
	}
	time.Sleep(b.dwell)
	ended := 0
	for _, conn := range conns {
		if conn.Context().Err() != nil {
			ended++
		}
	}
	line["opened"], line["connections"], line["endedByServer"] = opened, len(conns), ended
	return line, nil
}

// sendNoise sends packets that are nobody's.
func (b *badClient) sendNoise() (fields, error) {
	conn, err := net.Dial("udp", b.to.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	packet := make([]byte, 1200)
	for number := range b.count {
		for i := range packet {
			packet[i] = byte(number*31 + i*7)
		}
		_, _ = conn.Write(packet[:1+number%len(packet)])
	}
	return fields{"observed": "nothing", "packets": b.count}, nil
}

// alive is whether a client that does nothing wrong is served.
func (b *badClient) alive(ctx context.Context) error {
	conns, err := b.to.dialAll(ctx, 1)
	if err != nil {
		return err
	}
	defer hangUpAll(conns)
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	if b.probe == "echo" {
		return echoCall(ctx, conns[0], []byte("alive"), sendWhole)
	}
	response, err := call(ctx, conns[0], healthRequest())
	if err == nil && response.GetHealth() == nil {
		return fmt.Errorf("not well: %s", asJSON(response))
	}
	return err
}
