package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"google.golang.org/protobuf/encoding/protojson"

	pb "quicpeer/pluginv1"
)

// troubles are what can be wrong with a plugin from its start on.
var troubles = []string{
	"no-ready", "late-ready", "exit", "chatty", "no-dial-back", "reject-register", "boot-error", "hang-boot",
	"hang-list", "unhealthy", "hang-health", "hang-shutdown", "ignore-sigterm",
}

type plugin struct {
	id, trouble  string
	storageTypes []string
	exitOnEnd    bool
	storage      *storage
	shutDown     context.CancelFunc

	mu           sync.Mutex
	config       map[string]string
	received     []any
	orchestrator quic.Connection
}

func runPlugin(ctx context.Context, flags *flag.FlagSet, args []string) error {
	where := listening{flagOfAddr: "listen-addr"}
	where.register(flags)
	p := &plugin{storage: &storage{entries: map[string]entry{}}}
	flags.StringVar(&p.id, "id", "quic.peer", "id of the plugin")
	flags.StringVar(&p.trouble, "trouble", "", strings.Join(troubles, ", "))
	flags.BoolVar(&p.exitOnEnd, "exit-on-shutdown", false, "end after Shutdown; else wait to be killed")
	storages := flags.String("storage", "memory", "storage types it offers, comma-separated")
	orchestratorAddr := flags.String("orchestrator-addr", "", "HOST:PORT of the orchestrator")
	manifest := flags.Bool("manifest", false, "print the manifest and exit")
	if err := parse(flags, args); err != nil {
		return err
	}
	if p.trouble != "" && !slices.Contains(troubles, p.trouble) {
		return usageError{fmt.Sprintf("--trouble %q: one of %s", p.trouble, strings.Join(troubles, ", "))}
	}
	p.storageTypes = strings.FieldsFunc(*storages, func(r rune) bool { return r == ',' })
	if *manifest {
		// The one place where the original has the schema's own names.
		names := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}
		fmt.Println(names.Format(p.manifest()))
		return nil
	}
	if where.certsDir == "" {
		return usageError{"--certs-dir is required"}
	}
	if where.name == "" {
		where.name = p.id
	}
	if p.trouble == "ignore-sigterm" {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, p.shutDown = context.WithCancel(untilInputEnds(ctx, where.untilEOF))
	defer p.shutDown()
	return p.run(ctx, where, *orchestratorAddr)
}

func (p *plugin) run(ctx context.Context, where listening, orchestratorAddr string) error {
	if p.trouble == "exit" {
		return errors.New("ends before it is ready, as told to")
	}
	listener, err := where.listen()
	if err != nil {
		return err
	}
	srv := &server{originalDefect: where.originalDefect, quiet: true}
	serveRequests(srv, p)
	served := make(chan error, 1)
	go func() { served <- srv.serve(ctx, listener) }()
	if err := p.sayReady(ctx, listener.Addr().String()); err != nil {
		return err
	}
	if orchestratorAddr != "" && p.trouble != "no-dial-back" {
		back := dialer{addr: orchestratorAddr, certsDir: where.certsDir, name: p.id + "-client"}
		if err := p.dialBack(ctx, back); err != nil {
			return err
		}
		defer hangUp(p.orchestrator)
	}
	err = <-served
	report(srv.totals())
	return err
}

func (p *plugin) sayReady(ctx context.Context, addr string) error {
	switch p.trouble {
	case "no-ready":
		<-ctx.Done()
		return nil
	case "late-ready":
		time.Sleep(2 * time.Second)
	case "chatty":
		for line := range 2000 {
			fmt.Fprintf(os.Stderr, "line %d, not READY: %s\n", line, strings.Repeat("x", 100))
		}
	}
	fmt.Fprintf(os.Stderr, "READY %s\n", addr)
	return nil
}

func (p *plugin) dialBack(ctx context.Context, back dialer) error {
	conn, err := back.dial(ctx)
	if err != nil {
		return err
	}
	response, err := call(ctx, conn, registerRequest(p.manifest()))
	if err != nil {
		return fmt.Errorf("cannot register: %w", err)
	}
	if result := response.GetRegister(); result == nil || !result.Accepted {
		return fmt.Errorf("cannot register: refused (%s)", result.GetRejectReason())
	}
	p.mu.Lock()
	p.orchestrator = conn
	p.mu.Unlock()
	report(fields{"event": "registered", "id": p.id})
	return nil
}

func (p *plugin) manifest() *pb.PluginManifest {
	return &pb.PluginManifest{
		Id: p.id, Version: "1.0.0", Language: "go", Description: "A plugin for tests",
		ProvidesTools: append(namesOf(tools), namesOf(streamTools)...), ProvidesStorage: p.storageTypes,
		ProvidesPrompts: []string{"greet"},
	}
}

func (p *plugin) answer(
	ctx context.Context, from *caller, request *pb.PluginRequest,
) (*pb.PluginResponse, error) {
	switch r := request.Request.(type) {
	case *pb.PluginRequest_Register:
		result := &pb.RegistrationResult{Accepted: true}
		if p.trouble == "reject-register" {
			result = &pb.RegistrationResult{RejectReason: "not in the mood"}
		}
		return registerAnswer(result), nil
	case *pb.PluginRequest_Boot:
		return p.boot(ctx, r.Boot)
	case *pb.PluginRequest_Shutdown:
		if p.trouble == "hang-shutdown" {
			return hang(ctx)
		}
		if p.exitOnEnd {
			time.AfterFunc(100*time.Millisecond, p.shutDown)
		}
		result := &pb.ShutdownResult{Clean: true}
		return &pb.PluginResponse{Response: &pb.PluginResponse_Shutdown{Shutdown: result}}, nil
	case *pb.PluginRequest_Health:
		if p.trouble == "hang-health" {
			return hang(ctx)
		}
		if p.trouble == "unhealthy" {
			return healthAnswer(pb.HealthResult_STATUS_UNHEALTHY, "not well"), nil
		}
		return healthAnswer(pb.HealthResult_STATUS_HEALTHY, "ok"), nil
	case *pb.PluginRequest_ListTools:
		if p.trouble == "hang-list" {
			return hang(ctx)
		}
		result := &pb.ListToolsResponse{Tools: append(definitions(tools), definitions(streamTools)...)}
		return &pb.PluginResponse{Response: &pb.PluginResponse_ListTools{ListTools: result}}, nil
	case *pb.PluginRequest_ToolCall:
		return p.callTool(ctx, from, request)
	case *pb.PluginRequest_ListPrompts, *pb.PluginRequest_PromptGet:
		return promptAnswer(request), nil
	case *pb.PluginRequest_Publish:
		p.receive(r.Publish)
		return &pb.PluginResponse{}, nil
	case *pb.PluginRequest_Subscribe:
		return subscribeAnswer(r.Subscribe.SubscriptionId, r.Subscribe.Topic), nil
	case *pb.PluginRequest_Unsubscribe:
		return &pb.PluginResponse{}, nil
	}
	if response := p.storage.answer(request); response != nil {
		return response, nil
	}
	return failure("unknown_request", "unrecognized request type"), nil
}

func (p *plugin) boot(ctx context.Context, request *pb.BootRequest) (*pb.PluginResponse, error) {
	result := &pb.BootResult{Ready: true}
	switch p.trouble {
	case "hang-boot":
		return hang(ctx)
	case "boot-error":
		result = &pb.BootResult{Error: "cannot boot, as told to"}
	}
	p.mu.Lock()
	p.config = request.Config
	p.mu.Unlock()
	return &pb.PluginResponse{Response: &pb.PluginResponse_Boot{Boot: result}}, nil
}

func (p *plugin) receive(event *pb.Publish) {
	received := map[string]any{
		"topic": event.Topic, "event_type": event.EventType, "source_plugin": event.SourcePlugin,
		"payload": event.Payload.AsMap(),
	}
	p.mu.Lock()
	p.received = append(p.received, received)
	p.mu.Unlock()
	report(fields{"event": "received", "publish": asJSON(event)})
}

// hang keeps the caller waiting until it gives up.
func hang(ctx context.Context) (*pb.PluginResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func promptAnswer(request *pb.PluginRequest) *pb.PluginResponse {
	get := request.GetPromptGet()
	if get == nil {
		greet := &pb.PromptDefinition{Name: "greet", Description: "Greets somebody", Arguments: []*pb.PromptArgument{
			{Name: "name", Description: "Whom to greet", Required: true},
		}}
		result := &pb.ListPromptsResponse{Prompts: []*pb.PromptDefinition{greet}}
		return &pb.PluginResponse{Response: &pb.PluginResponse_ListPrompts{ListPrompts: result}}
	}
	result := &pb.PromptGetResponse{Description: fmt.Sprintf("prompt %q not found", get.PromptName)}
	if get.PromptName == "greet" {
		text := fmt.Sprintf("Say hello to %s.", get.Arguments["name"])
		result = &pb.PromptGetResponse{Description: "Greets somebody", Messages: []*pb.PromptMessage{
			{Role: "user", Content: &pb.ContentBlock{Type: "text", Text: text}},
		}}
	}
	return &pb.PluginResponse{Response: &pb.PluginResponse_PromptGet{PromptGet: result}}
}
