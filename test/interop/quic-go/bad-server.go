package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "quicpeer/pluginv1"
)

var badServerKinds = append([]string{"wrong-ca", "expired", "wrong-name", "wrong-alpn", "hang", "flood"}, garbles...)

// runBadServer serves, and gets one thing wrong: its certificate, or each of its answers.
func runBadServer(ctx context.Context, flags *flag.FlagSet, args []string) error {
	where := listening{flagOfAddr: "listen", certificateDefault: "orchestrator"}
	where.register(flags)
	kind := flags.String("kind", "", strings.Join(badServerKinds, ", "))
	if err := parse(flags, args, "kind", "certs-dir"); err != nil {
		return err
	}
	if !slices.Contains(badServerKinds, *kind) {
		return usageError{fmt.Sprintf("--kind %q: one of %s", *kind, strings.Join(badServerKinds, ", "))}
	}
	config, err := where.tls()
	if err != nil {
		return err
	}
	if err := spoil(config, where, *kind); err != nil {
		return err
	}
	listener, err := quic.ListenAddr(where.addr, config, quicConfig())
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", where.addr, err)
	}
	srv := &server{originalDefect: where.originalDefect}
	srv.handle = func(ctx context.Context, conn quic.Connection, s *stream) error {
		return badAnswer(ctx, &caller{conn, s}, *kind)
	}
	report(fields{"event": "ready", "addr": listener.Addr().String()})
	err = srv.serve(untilInputEnds(ctx, where.untilEOF), listener)
	report(srv.totals())
	return err
}

func spoil(config *tls.Config, where listening, kind string) error {
	ca, err := ensureAuthority(where.certsDir)
	if err != nil {
		return err
	}
	var leaf tls.Certificate
	switch kind {
	case "wrong-ca":
		if ca, err = newAuthority("Orchestra CA"); err != nil {
			return err
		}
		leaf, err = newLeaf(where.name, ca, "ed25519", certLifetime)
	case "expired":
		leaf, err = newLeaf(where.name, ca, "ed25519", -time.Hour)
	case "wrong-name":
		template := certTemplate("somebody.else", certLifetime)
		template.DNSNames = []string{"somebody.else"}
		leaf, err = signLeaf(template, ca, "ed25519")
	case "wrong-alpn":
		config.NextProtos = []string{"h3"}
		return nil
	default:
		return nil
	}
	config.Certificates = []tls.Certificate{leaf}
	return err
}

func badAnswer(ctx context.Context, from *caller, kind string) error {
	body, err := from.stream.readFrame()
	if err != nil {
		return err
	}
	request := &pb.PluginRequest{}
	if err := proto.Unmarshal(body, request); err != nil {
		return err
	}
	switch kind {
	case "hang":
		_, err = hang(ctx)
	case "flood":
		_, err = floodTool(ctx, toolCall{from: from, request: &pb.ToolRequest{}, requestID: request.RequestId})
	default:
		err = garble(from, request.RequestId, kind)
	}
	if errors.Is(err, errAnswered) {
		return nil
	}
	return err
}

// goodRequest is the body that a server should answer.
func goodRequest(probe string) []byte {
	if probe == "echo" {
		return []byte("good")
	}
	request := healthRequest()
	request.RequestId = "good"
	body, err := proto.Marshal(request)
	if err != nil {
		panic(err)
	}
	return body
}

// answerText is an answer as a person can read it.
func answerText(body []byte) string {
	response := &pb.PluginResponse{}
	if proto.Unmarshal(body, response) != nil {
		return fmt.Sprintf("%q", body[:min(len(body), 100)])
	}
	return protojson.MarshalOptions{}.Format(response)
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}
