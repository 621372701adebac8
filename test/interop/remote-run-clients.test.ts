import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ClientOptions, WebSocket } from "ws";

import { probeSandbox } from "../../src/sandbox/probe.ts";
import { loadSdk, packages, type Stream } from "../acp/oracle.ts";
import type { Json } from "../support/acp-app.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { promptOf } from "../support/acp-socket.ts";
import { openingOf, RunRig } from "../support/remote-run/run-rig.ts";

const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

describe(
  "a remote run, with any client",
  { timeout: 600_000, skip: WITHOUT_SSHD || noSandbox },
  () => {
    let run: RunRig;
    /** What a client needs to trust the server's certificate. */
    let trust: ClientOptions;

    before(async () => {
      run = await RunRig.start({ tls: true });
      trust = { ca: readFileSync(join(run.rig.root, "server-ca.pem")) };
    });

    after(() => run[Symbol.asyncDispose]());

    it("serves the official SDK's client over wss: permission, edits, push, and a merge in the IDE's clone", async () => {
      const project = run.project("sdk");
      const { acp, authorization } = await run.address();
      assert.match(acp, /^wss:/);
      const sdk = await loadSdk();
      const { createWebSocketStream } = await packages.import<{
        createWebSocketStream: (url: string, options: object) => Stream;
      }>("@agentclientprotocol", "sdk", "dist/transports/ws-stream.js");
      class Trusting extends WebSocket {
        constructor(address: string, protocols: string[], options: ClientOptions) {
          super(address, protocols, { ...options, ...trust });
        }
      }
      const stream = createWebSocketStream(acp, {
        headers: { authorization },
        WebSocket: Trusting,
      });
      const [asked, updates]: [Json[], Json[]] = [[], []];
      const refuse = ({ params }: { params: Json }): never => {
        throw new Error(`What is the IDE asked for? ${JSON.stringify(params)}`);
      };
      await sdk
        .client({ name: "an IDE" })
        .onRequest("session/request_permission", ({ params }) => {
          asked.push(params);
          return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
        })
        .onRequest("fs/write_text_file", refuse)
        .onRequest("terminal/create", refuse)
        .onNotification("session/update", ({ params }) => updates.push(params.update))
        .connectWith(stream, async (agent) => {
          const clientCapabilities = {
            fs: { readTextFile: true, writeTextFile: true },
            terminal: true,
          };
          await agent.request("initialize", { protocolVersion: 1, clientCapabilities });
          const { sessionId } = await agent.request("session/new", openingOf(project));
          const prompt = (text: string) =>
            agent.request("session/prompt", promptOf(String(sessionId), text));
          await prompt("permission");
          assert.equal(asked.length, 1);
          assert.match(JSON.stringify(updates), /selected/);
          const first = await prompt("put one.txt|1|0");
          const second = await prompt("put two.txt|2|0");
          const { branch, revision } = second._meta.target;
          assert.equal(branch, first._meta.target.branch);
          await run.fetch(project, branch);
          assert.equal(project.git("rev-parse", "FETCH_HEAD"), revision);
          project.git("merge", "--quiet", "--ff-only", "FETCH_HEAD");
          assert.equal(readFileSync(join(project.clone, "two.txt"), "utf8"), "2\n");
          assert.equal(
            project.git("log", "--format=%h", `${project.revision}..`).split("\n").length,
            2,
          );
        });
    });
  },
);
