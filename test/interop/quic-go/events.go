package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/quic-go/quic-go"

	pb "quicpeer/pluginv1"
)

// A subscription is delivered to a plugin's server, or on the connection it was made on.
type subscription struct {
	topic   string
	filters map[string]string
	conn    quic.Connection
}

func (o *orchestrator) subscribe(from *caller, request *pb.Subscribe) *pb.PluginResponse {
	id := request.SubscriptionId
	if id == "" {
		id = rand.Text()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.subscriptions[id] = subscription{request.Topic, request.Filters, o.deliverTo(from.conn)}
	return subscribeAnswer(id, request.Topic)
}

func (o *orchestrator) deliverTo(conn quic.Connection) quic.Connection {
	id := o.registered[conn]
	if id == "" {
		id = strings.TrimSuffix(peerName(conn), "-client")
	}
	for _, plugin := range o.plugins {
		if plugin.spec.ID == id {
			return plugin.conn
		}
	}
	return conn
}

func (o *orchestrator) publish(ctx context.Context, event *pb.Publish) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, s := range o.subscriptions {
		if !s.matches(event) {
			continue
		}
		go func() {
			ctx, cancel := withTimeout(context.WithoutCancel(ctx))
			defer cancel()
			if _, err := call(ctx, s.conn, publishRequest(event)); err != nil {
				fmt.Fprintf(os.Stderr, "cannot deliver an event: %v\n", err)
			}
		}()
	}
}

func (s subscription) matches(event *pb.Publish) bool {
	if s.topic != event.Topic {
		return false
	}
	for key, wanted := range s.filters {
		if event.Payload.GetFields()[key].GetStringValue() != wanted {
			return false
		}
	}
	return true
}

// forget drops what was bound to a connection that has ended.
func (o *orchestrator) forget(conn quic.Connection) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.registered, conn)
	for id, s := range o.subscriptions {
		if s.conn == conn {
			delete(o.subscriptions, id)
		}
	}
}
