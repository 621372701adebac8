package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"

	pb "quicpeer/pluginv1"
)

const (
	readyWithin    = 10 * time.Second
	shutdownWithin = 5 * time.Second
)

// A pluginSpec says which plugin to start, in the words of plugins.yaml.
type pluginSpec struct {
	ID              string            `json:"id"`
	Binary          string            `json:"binary"`
	Args            []string          `json:"args"`
	Env             map[string]string `json:"env"`
	Config          map[string]string `json:"config"`
	ProvidesStorage []string          `json:"provides_storage"`
}

type runningPlugin struct {
	spec    pluginSpec
	process *exec.Cmd
	conn    quic.Connection
	tools   []*pb.ToolDefinition
	prompts []*pb.PromptDefinition
	exited  chan struct{}
}

// startPlugin starts a plugin and takes it through its greeting: READY, Register, Boot, lists.
func startPlugin(ctx context.Context, spec pluginSpec, orchestratorAddr, certsDir string) (*runningPlugin, error) {
	args := append([]string{}, spec.Args...)
	args = append(args, "--orchestrator-addr="+orchestratorAddr, "--listen-addr=localhost:0", "--certs-dir="+certsDir)
	process := exec.Command(spec.Binary, args...)
	process.Env = os.Environ()
	for key, value := range spec.Env {
		process.Env = append(process.Env, key+"="+value)
	}
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	plugin := &runningPlugin{spec: spec, process: process, exited: make(chan struct{})}
	if err := plugin.greet(ctx, stderr, certsDir); err != nil {
		plugin.kill()
		return nil, err
	}
	// QUIC would find out only when the connection has been idle for minutes.
	go func() {
		<-plugin.exited
		hangUp(plugin.conn)
	}()
	return plugin, nil
}

func (p *runningPlugin) greet(ctx context.Context, stderr io.Reader, certsDir string) error {
	ready := make(chan string, 1)
	go p.readStderr(stderr, ready)
	var addr string
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(readyWithin):
		return fmt.Errorf("it was not READY within %s", readyWithin)
	case <-p.exited:
		return errors.New("it ended before it was READY")
	case addr = <-ready:
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	to := dialer{addr: addr, certsDir: certsDir, name: "orchestrator-to-" + p.spec.ID}
	var err error
	if p.conn, err = to.dial(ctx); err != nil {
		return err
	}
	return p.introduce(ctx, addr)
}

func (p *runningPlugin) introduce(ctx context.Context, addr string) error {
	manifest := &pb.PluginManifest{Id: p.spec.ID}
	response, err := call(ctx, p.conn, registerRequest(manifest))
	if err != nil {
		return fmt.Errorf("Register: %w", err)
	}
	if !response.GetRegister().GetAccepted() {
		return fmt.Errorf("Register: refused (%s)", response.GetRegister().GetRejectReason())
	}
	boot := &pb.BootRequest{Config: p.spec.Config}
	if response, err = call(ctx, p.conn, &pb.PluginRequest{Request: &pb.PluginRequest_Boot{Boot: boot}}); err != nil {
		return fmt.Errorf("Boot: %w", err)
	}
	if !response.GetBoot().GetReady() {
		return fmt.Errorf("Boot: not ready (%s)", response.GetBoot().GetError())
	}
	response, err = call(ctx, p.conn, listToolsRequest())
	if err != nil {
		return fmt.Errorf("ListTools: %w", err)
	}
	p.tools = response.GetListTools().GetTools()
	response, err = call(ctx, p.conn, listPromptsRequest())
	if err != nil {
		return fmt.Errorf("ListPrompts: %w", err)
	}
	p.prompts = response.GetListPrompts().GetPrompts()
	response, err = call(ctx, p.conn, healthRequest())
	if err != nil {
		return fmt.Errorf("Health: %w", err)
	}
	report(fields{
		"event": "plugin", "id": p.spec.ID, "addr": addr, "pid": p.process.Process.Pid,
		"peer": peerName(p.conn), "health": response.GetHealth().GetStatus().String(),
		"tools": toolNames(p.tools), "prompts": promptNames(p.prompts),
	})
	return nil
}

func toolNames(tools []*pb.ToolDefinition) []string {
	names := make([]string, len(tools))
	for i, definition := range tools {
		names[i] = definition.Name
	}
	return names
}

func promptNames(prompts []*pb.PromptDefinition) []string {
	names := make([]string, len(prompts))
	for i, definition := range prompts {
		names[i] = definition.Name
	}
	return names
}

// readStderr looks for READY, then passes on what the plugin logs, and sees it end.
func (p *runningPlugin) readStderr(stderr io.Reader, ready chan<- string) {
	lines := bufio.NewReader(stderr)
	isReady := false
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		if addr, ok := strings.CutPrefix(line, "READY "); ok && !isReady {
			isReady = true
			ready <- strings.TrimSpace(addr)
		} else if line != "" {
			report(fields{"event": "log", "id": p.spec.ID, "line": line})
		}
		if err != nil {
			break
		}
	}
	_ = p.process.Wait()
	close(p.exited)
	report(fields{"event": "plugin-exit", "id": p.spec.ID, "status": p.process.ProcessState.String()})
}

func (p *runningPlugin) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownWithin)
	defer cancel()
	shutdown := &pb.ShutdownRequest{TimeoutSeconds: int32(shutdownWithin / time.Second)}
	response, err := call(ctx, p.conn, &pb.PluginRequest{Request: &pb.PluginRequest_Shutdown{Shutdown: shutdown}})
	line := fields{"event": "stopped", "id": p.spec.ID, "clean": response.GetShutdown().GetClean()}
	if err != nil {
		line["error"] = err.Error()
	}
	report(line)
	p.kill()
}

func (p *runningPlugin) kill() {
	if p.conn != nil {
		hangUp(p.conn)
	}
	_ = p.process.Process.Kill()
	<-p.exited
}
