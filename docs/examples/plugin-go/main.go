// A plugin without an SDK, over TLS: docs/BUS.md, "Without an SDK".
//
// Debian: apt install golang-go golang-google-protobuf-dev protoc-gen-go-1-5 protobuf-compiler
// Schema: protoc -I proto --go_out=. --go_opt=Morchestra/plugin/v1/plugin.proto=plugingo/pluginv1
// orchestra/plugin/v1/plugin.proto
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	pb "plugingo/pluginv1"
)

const (
	id                    = "example.go"
	letIn, data, room     = 2, 3, 4 // kinds of frames
	reset, first, last    = 5, 1, 2 // and flags
	longest, mostOfStream = 64 << 10, 16<<20 + 4
)

var schema, _ = structpb.NewStruct(map[string]any{"type": "object", "required": []any{"name"},
	"properties": map[string]any{"name": map[string]any{"type": "string"}}})

// A connection: what several goroutines send goes out frame by frame.
type link struct {
	net.Conn
	sending sync.Mutex
}

func (l *link) send(kind, flags byte, stream uint32, payload []byte) {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
	head = binary.LittleEndian.AppendUint32(append(head, kind, flags, 0, 0), stream)
	l.sending.Lock()
	defer l.sending.Unlock()
	l.Write(append(head, payload...)) // crypto/tls sets TCP_NODELAY by net's default
}

func (l *link) sendNumber(kind byte, stream uint32, number int) {
	l.send(kind, 0, stream, binary.LittleEndian.AppendUint32(nil, uint32(number)))
}

func (l *link) receive() (kind, flags byte, stream uint32, payload []byte, err error) {
	head := make([]byte, 12)
	if _, err = io.ReadFull(l, head); err != nil {
		return
	}
	length := binary.LittleEndian.Uint32(head)
	if length > longest {
		return 0, 0, 0, nil, errors.New("a frame is too long")
	}
	payload = make([]byte, length)
	_, err = io.ReadFull(l, payload)
	return head[4], head[5], binary.LittleEndian.Uint32(head[8:]), payload, err
}

func framed(message proto.Message) []byte {
	body, _ := proto.Marshal(message)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func failure(code, message string) *pb.PluginResponse {
	return &pb.PluginResponse{Response: &pb.PluginResponse_ToolCall{ToolCall: &pb.ToolResponse{
		ErrorCode: code, ErrorMessage: message}}}
}

func call(asked *pb.ToolRequest) *pb.PluginResponse {
	name, isText := asked.Arguments.GetFields()["name"].GetKind().(*structpb.Value_StringValue)
	if asked.ToolName != "greet" {
		return failure("tool_not_found", "There is no tool '"+asked.ToolName+"'.")
	} else if !isText {
		return failure("invalid_arguments", "'name' must be a text.")
	}
	result, _ := structpb.NewStruct(map[string]any{"text": "Hello, " + name.StringValue + "."})
	return &pb.PluginResponse{Response: &pb.PluginResponse_ToolCall{ToolCall: &pb.ToolResponse{
		Success: true, Result: result}}}
}

func answer(request *pb.PluginRequest) *pb.PluginResponse {
	switch asked := request.Request.(type) {
	case *pb.PluginRequest_Register:
		return &pb.PluginResponse{Response: &pb.PluginResponse_Register{Register: &pb.RegistrationResult{
			Accepted: asked.Register.Id == "" || asked.Register.Id == id}}}
	case *pb.PluginRequest_Boot:
		return &pb.PluginResponse{Response: &pb.PluginResponse_Boot{Boot: &pb.BootResult{Ready: true}}}
	case *pb.PluginRequest_Health:
		return &pb.PluginResponse{Response: &pb.PluginResponse_Health{Health: &pb.HealthResult{
			Status: pb.HealthResult_STATUS_HEALTHY}}}
	case *pb.PluginRequest_Shutdown:
		time.AfterFunc(100*time.Millisecond, func() { os.Exit(0) })
		return &pb.PluginResponse{Response: &pb.PluginResponse_Shutdown{Shutdown: &pb.ShutdownResult{Clean: true}}}
	case *pb.PluginRequest_ListTools:
		tool := &pb.ToolDefinition{Name: "greet", Description: "Greets somebody", InputSchema: schema}
		return &pb.PluginResponse{Response: &pb.PluginResponse_ListTools{ListTools: &pb.ListToolsResponse{
			Tools: []*pb.ToolDefinition{tool}}}}
	case *pb.PluginRequest_ListPrompts:
		return &pb.PluginResponse{Response: &pb.PluginResponse_ListPrompts{ListPrompts: &pb.ListPromptsResponse{}}}
	case *pb.PluginRequest_ToolCall:
		return call(asked.ToolCall)
	case *pb.PluginRequest_StreamStart:
		return failure("tool_not_found", "No tool streams.")
	case *pb.PluginRequest_PromptGet:
		return failure("prompt_not_found", "There are no prompts.")
	case *pb.PluginRequest_Publish:
		return &pb.PluginResponse{}
	}
	return failure("unknown_request", "Nothing known is asked.")
}

// Answers one request, or breaks its stream off.
func (l *link) respond(stream uint32, body []byte) {
	request := &pb.PluginRequest{}
	isWhole := len(body) >= 4 && int(binary.BigEndian.Uint32(body)) == len(body)-4
	if !isWhole || proto.Unmarshal(body[4:], request) != nil {
		l.sendNumber(reset, stream, 1)
		return
	}
	response := answer(request)
	response.RequestId = request.RequestId
	// An answer of more than 64 KiB would go in pieces, and wait for room from 256 KiB on.
	l.send(data, last, stream, framed(response))
}

func (l *link) serve() {
	defer l.Close()
	requests := map[uint32][]byte{}
	l.sendNumber(letIn, 0, 128)
	for {
		kind, flags, stream, payload, err := l.receive()
		if err != nil {
			return
		}
		if kind == data && flags&first != 0 {
			requests[stream] = []byte{}
		} else if kind == reset {
			delete(requests, stream)
		}
		body, isOpen := requests[stream]
		if kind != data || !isOpen {
			continue
		}
		body = append(body, payload...)
		requests[stream] = body
		l.sendNumber(room, stream, len(payload)) // whoever reads gives room for as much again
		isLong := len(body) >= 4 && binary.BigEndian.Uint32(body) > mostOfStream-4
		if isLong || len(body) > mostOfStream {
			l.sendNumber(reset, stream, 1)
		} else if flags&last != 0 {
			go l.respond(stream, body)
		} else {
			continue
		}
		delete(requests, stream)
	}
}

func settings(certs, name string) *tls.Config {
	pair, err := tls.LoadX509KeyPair(filepath.Join(certs, name+".crt"), filepath.Join(certs, name+".key"))
	fail(err)
	authority, err := os.ReadFile(filepath.Join(certs, "ca.crt"))
	fail(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: pool,
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"orchestra-plugin-frames"}}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func register(address, certs string) {
	address = address[strings.LastIndex(address, "/")+1:]
	connection, err := tls.Dial("tcp", address, settings(certs, id+"-client"))
	fail(err)
	defer connection.Close()
	orchestrator := &link{Conn: connection}
	request := &pb.PluginRequest{RequestId: "1", Request: &pb.PluginRequest_Register{
		Register: &pb.PluginManifest{Id: id, Version: "1.0.0", Language: "go", ProvidesTools: []string{"greet"}}}}
	for {
		kind, _, _, _, err := orchestrator.receive()
		fail(err)
		if kind == letIn {
			orchestrator.send(data, first|last, 1, framed(request))
		} else if kind == data {
			return
		}
	}
}

func main() {
	isManifest := flag.Bool("manifest", false, "print the manifest")
	address := flag.String("orchestrator-addr", "", "")
	certs := flag.String("certs-dir", "", "")
	flag.String("listen-addr", "", "")
	flag.Parse()
	if *isManifest {
		fmt.Printf(`{"id":%q,"version":"1.0.0","language":"go","provides_tools":["greet"]}`+"\n", id)
		return
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", settings(*certs, id))
	fail(err)
	fmt.Fprintf(os.Stderr, "READY tls://%s\n", listener.Addr())
	go register(*address, *certs)
	for {
		connection, err := listener.Accept()
		fail(err)
		go (&link{Conn: connection}).serve()
	}
}
