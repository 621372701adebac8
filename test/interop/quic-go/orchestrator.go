package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/quic-go/quic-go"

	pb "quicpeer/pluginv1"
)

const defaultStorage = "markdown"

// An orchestrator starts plugins, and routes requests to them.
type orchestrator struct {
	certsDir string

	mu      sync.RWMutex
	plugins []*runningPlugin
	tools   map[string]*runningPlugin
	prompts map[string]*runningPlugin
	storage map[string]*runningPlugin
	// Who has registered on a connection.
	registered    map[quic.Connection]string
	subscriptions map[string]subscription
}

// pluginSpecs are the plugins to start, each given as an object in JSON.
type pluginSpecs []pluginSpec

func (s *pluginSpecs) String() string { return "" }

func (s *pluginSpecs) Set(text string) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var spec pluginSpec
	if err := decoder.Decode(&spec); err != nil {
		return err
	}
	if spec.ID == "" || spec.Binary == "" {
		return errors.New("a plugin needs an id and a binary")
	}
	*s = append(*s, spec)
	return nil
}

func runOrchestrator(ctx context.Context, flags *flag.FlagSet, args []string) error {
	// Plugins end with the thread that started them: let that be with this process.
	runtime.LockOSThread()
	where := listening{flagOfAddr: "listen", certificateDefault: "orchestrator"}
	where.register(flags)
	var specs pluginSpecs
	flags.Var(&specs, "plugin", `{"id", "binary", "args", "env", "config", "provides_storage"}; as often as needed`)
	if err := parse(flags, args, "certs-dir"); err != nil {
		return err
	}
	ctx = untilInputEnds(ctx, where.untilEOF)
	listener, err := where.listen()
	if err != nil {
		return err
	}
	o := &orchestrator{
		certsDir:      where.certsDir,
		tools:         map[string]*runningPlugin{},
		prompts:       map[string]*runningPlugin{},
		storage:       map[string]*runningPlugin{},
		registered:    map[quic.Connection]string{},
		subscriptions: map[string]subscription{},
	}
	srv := &server{originalDefect: where.originalDefect, noStreams: where.originalDefect, quiet: true}
	serveRequests(srv, o)
	served := make(chan error, 1)
	go func() { served <- srv.serve(ctx, listener) }()
	defer o.stopAll()
	for _, spec := range specs {
		if err := o.start(ctx, spec, listener.Addr().String()); err != nil {
			return err
		}
	}
	report(fields{"event": "ready", "addr": listener.Addr().String()})
	err = <-served
	o.stopAll()
	report(srv.totals())
	return err
}

func (o *orchestrator) start(ctx context.Context, spec pluginSpec, addr string) error {
	plugin, err := startPlugin(ctx, spec, addr, o.certsDir)
	if err != nil {
		return fmt.Errorf("cannot start plugin %q: %w", spec.ID, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.plugins = append(o.plugins, plugin)
	for _, definition := range plugin.tools {
		o.tools[definition.Name] = plugin
	}
	for _, definition := range plugin.prompts {
		o.prompts[definition.Name] = plugin
	}
	for _, storageType := range spec.ProvidesStorage {
		o.storage[storageType] = plugin
	}
	return nil
}

func (o *orchestrator) stopAll() {
	o.mu.Lock()
	plugins := o.plugins
	o.plugins = nil
	o.mu.Unlock()
	for _, plugin := range plugins {
		plugin.stop()
	}
}

func (o *orchestrator) answer(
	ctx context.Context, from *caller, request *pb.PluginRequest,
) (*pb.PluginResponse, error) {
	switch r := request.Request.(type) {
	case *pb.PluginRequest_Register:
		o.mu.Lock()
		o.registered[from.conn] = r.Register.Id
		o.mu.Unlock()
		context.AfterFunc(from.conn.Context(), func() { o.forget(from.conn) })
		report(fields{
			"event": "registered", "id": r.Register.Id, "peer": peerName(from.conn),
			"manifest": asJSON(r.Register),
		})
		return registerAnswer(&pb.RegistrationResult{Accepted: true}), nil
	case *pb.PluginRequest_Health:
		return healthAnswer(pb.HealthResult_STATUS_HEALTHY, "ok"), nil
	case *pb.PluginRequest_ListTools:
		result := &pb.ListToolsResponse{}
		o.mu.RLock()
		defer o.mu.RUnlock()
		for _, plugin := range o.plugins {
			result.Tools = append(result.Tools, plugin.tools...)
		}
		return &pb.PluginResponse{Response: &pb.PluginResponse_ListTools{ListTools: result}}, nil
	case *pb.PluginRequest_ListPrompts:
		result := &pb.ListPromptsResponse{}
		o.mu.RLock()
		defer o.mu.RUnlock()
		for _, plugin := range o.plugins {
			result.Prompts = append(result.Prompts, plugin.prompts...)
		}
		return &pb.PluginResponse{Response: &pb.PluginResponse_ListPrompts{ListPrompts: result}}, nil
	case *pb.PluginRequest_ToolCall:
		return o.route(ctx, o.tools, r.ToolCall.ToolName, request), nil
	case *pb.PluginRequest_PromptGet:
		return o.route(ctx, o.prompts, r.PromptGet.PromptName, request), nil
	case *pb.PluginRequest_StorageRead:
		return o.route(ctx, o.storage, storageType(r.StorageRead.StorageType), request), nil
	case *pb.PluginRequest_StorageWrite:
		return o.route(ctx, o.storage, storageType(r.StorageWrite.StorageType), request), nil
	case *pb.PluginRequest_StorageDelete:
		return o.route(ctx, o.storage, storageType(r.StorageDelete.StorageType), request), nil
	case *pb.PluginRequest_StorageList:
		return o.route(ctx, o.storage, storageType(r.StorageList.StorageType), request), nil
	case *pb.PluginRequest_Subscribe:
		context.AfterFunc(from.conn.Context(), func() { o.forget(from.conn) })
		return o.subscribe(ctx, from, request.RequestId, r.Subscribe)
	case *pb.PluginRequest_Unsubscribe:
		o.mu.Lock()
		defer o.mu.Unlock()
		o.end(r.Unsubscribe.SubscriptionId)
		return &pb.PluginResponse{}, nil
	case *pb.PluginRequest_Publish:
		o.publish(ctx, r.Publish)
		return &pb.PluginResponse{}, nil
	}
	return failure("unknown_request", "unrecognized request type"), nil
}

func storageType(wanted string) string {
	if wanted == "" {
		return defaultStorage
	}
	return wanted
}

// route passes a request on as it is, under an id of its own.
func (o *orchestrator) route(
	ctx context.Context, routes map[string]*runningPlugin, name string, request *pb.PluginRequest,
) *pb.PluginResponse {
	o.mu.RLock()
	plugin := routes[name]
	o.mu.RUnlock()
	if plugin == nil {
		return failure("tool_not_found", fmt.Sprintf("no plugin provides %q", name))
	}
	response, err := call(ctx, plugin.conn, &pb.PluginRequest{Request: request.Request})
	if err != nil {
		return failure("routing_error", fmt.Sprintf("plugin %q: %v", plugin.spec.ID, err))
	}
	return response
}

// stream passes a stream on, and with it that it was cancelled.
func (o *orchestrator) stream(
	ctx context.Context, _ *caller, start *pb.StreamStart, send sendChunk,
) (*pb.StreamEnd, error) {
	o.mu.RLock()
	plugin := o.tools[start.ToolName]
	o.mu.RUnlock()
	if plugin == nil {
		problem := fmt.Sprintf("no plugin provides %q", start.ToolName)
		return &pb.StreamEnd{ErrorCode: "tool_not_found", ErrorMessage: problem}, nil
	}
	var end *pb.StreamEnd
	request := &pb.PluginRequest{
		RequestId: start.StreamId, Request: &pb.PluginRequest_StreamStart{StreamStart: start},
	}
	err := callStream(context.WithoutCancel(ctx), plugin.conn, request, func(response *pb.PluginResponse) bool {
		if chunk := response.GetStreamChunk(); chunk != nil {
			return send(chunk.Data) == nil
		}
		end = response.GetStreamEnd()
		return true
	})
	return end, err
}
