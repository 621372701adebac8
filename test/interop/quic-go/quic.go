package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/quic-go/quic-go"
)

const alpn = "orchestra-plugin"

// quicConfig leaves all else to quic-go, as the original does: 100 incoming streams among it.
func quicConfig() *quic.Config {
	return &quic.Config{MaxIdleTimeout: 5 * time.Minute, KeepAlivePeriod: 15 * time.Second}
}

// A dialer is how a command reaches a server, by its flags.
type dialer struct {
	addr, certsDir, name, serverName string
}

func (d *dialer) register(flags *flag.FlagSet, name string) {
	flags.StringVar(&d.addr, "addr", "", "HOST:PORT of the server")
	flags.StringVar(&d.certsDir, "certs-dir", "", "folder of the certificates")
	flags.StringVar(&d.name, "name", name, "whose certificate to show")
	flags.StringVar(&d.serverName, "server-name", "", "name to expect in the server's certificate (the host)")
}

func (d *dialer) tls() (*tls.Config, error) {
	ca, cert, err := identity(d.certsDir, d.name)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{alpn},
		RootCAs:      ca.pool(),
		Certificates: []tls.Certificate{cert},
		ServerName:   d.serverName,
	}, nil
}

func (d *dialer) dial(ctx context.Context) (quic.Connection, error) {
	config, err := d.tls()
	if err != nil {
		return nil, err
	}
	return dialTLS(ctx, d.addr, config)
}

func dialTLS(ctx context.Context, addr string, config *tls.Config) (quic.Connection, error) {
	conn, err := quic.DialAddr(ctx, addr, config, quicConfig())
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", addr, err)
	}
	return conn, nil
}

func hangUp(conn quic.Connection) {
	_ = conn.CloseWithError(0, "client closed")
}

// A listening is how a command serves, by its flags.
type listening struct {
	addr, certsDir, name           string
	requireClientCert, untilEOF    bool
	originalDefect                 bool
	flagOfAddr, certificateDefault string
}

func (l *listening) register(flags *flag.FlagSet) {
	flags.StringVar(&l.addr, l.flagOfAddr, "localhost:0", "HOST:PORT to listen on")
	flags.StringVar(&l.certsDir, "certs-dir", "", "folder of the certificates")
	flags.StringVar(&l.name, "name", l.certificateDefault, "whose certificate to show")
	flags.BoolVar(&l.requireClientCert, "require-client-cert", false, "refuse clients without a certificate")
	flags.BoolVar(&l.originalDefect, "original-defect", false, "answer without reading to the end of the stream")
	flags.BoolVar(&l.untilEOF, "until-stdin-ends", false, "stop when stdin ends")
}

func (l *listening) tls() (*tls.Config, error) {
	ca, cert, err := identity(l.certsDir, l.name)
	if err != nil {
		return nil, err
	}
	auth := tls.VerifyClientCertIfGiven
	if l.requireClientCert {
		auth = tls.RequireAndVerifyClientCert
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{alpn},
		ClientCAs:    ca.pool(),
		ClientAuth:   auth,
		Certificates: []tls.Certificate{cert},
	}, nil
}

func (l *listening) listen() (*quic.Listener, error) {
	config, err := l.tls()
	if err != nil {
		return nil, err
	}
	listener, err := quic.ListenAddr(l.addr, config, quicConfig())
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", l.addr, err)
	}
	return listener, nil
}

// peerName is the common name of the certificate that the other side has shown, if it has.
func peerName(conn quic.Connection) string {
	certs := conn.ConnectionState().TLS.PeerCertificates
	if len(certs) == 0 {
		return ""
	}
	return certs[0].Subject.CommonName
}

// describe says how the other side ended a stream or a connection, in terms that tests can compare.
func describe(err error) fields {
	if err == nil {
		return fields{"observed": "nothing"}
	}
	line := fields{"observed": "failed", "error": err.Error()}
	var transport *quic.TransportError
	var application *quic.ApplicationError
	var stream *quic.StreamError
	var idle *quic.IdleTimeoutError
	var handshake *quic.HandshakeTimeoutError
	switch {
	case errors.As(err, &stream):
		line["observed"], line["code"], line["remote"] = "stream reset", stream.ErrorCode, stream.Remote
	case errors.As(err, &application):
		line["observed"], line["code"], line["remote"] = "connection closed", application.ErrorCode, application.Remote
	case errors.As(err, &transport):
		line["observed"], line["code"], line["remote"] = "connection refused", transport.ErrorCode, transport.Remote
	case errors.As(err, &idle), errors.As(err, &handshake), errors.Is(err, context.DeadlineExceeded):
		line["observed"] = "timeout"
	}
	return line
}
