import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ClientOptions, WebSocket } from "ws";

import { probeSandbox } from "../../src/sandbox/probe.ts";
import { loadSdk, packages, type Stream } from "../acp/oracle.ts";
import type { Json } from "../support/acp-house.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { covers } from "../support/requirement.ts";
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

    it("serves the guide's IDE over ssh: text frames, 32-bit ids, an empty folder, a merge with local commits", async () => {
      covers("run.connection.upgrade", "run.connection.json-rpc", "run.connection.token");
      covers("run.new.cwd", "run.ide.fetch", "run.ide.merge");
      const project = run.project("ide", "ssh");
      const { acp, authorization } = await run.address();
      // Remote run guide, "Connection": the raw token, and no subprotocol.
      const socket = new WebSocket(acp, { headers: { authorization }, ...trust });
      await once(socket, "open");
      const messages: Json[] = [];
      socket.on("message", (data: Buffer, isBinary: boolean) => {
        assert.equal(isBinary, false, "a frame that is not text");
        messages.push(JSON.parse(data.toString("utf8")));
      });
      let lastId = 2 ** 31 - 6;
      const ask = async (method: string, params: object): Promise<Json> => {
        const id = ++lastId;
        socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
        const giveUp = AbortSignal.timeout(300_000);
        for (;;) {
          const answer = messages.find((each) => each.id === id && each.method === undefined);
          if (answer !== undefined) {
            assert.equal(answer.error, undefined, JSON.stringify(answer.error));
            return answer.result;
          }
          await once(socket, "message", { signal: giveUp });
        }
      };
      await ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
      const { sessionId, _meta: begun } = await ask("session/create", openingOf(project));
      assert.equal(begun.target.url, project.url);
      const end = await ask("session/prompt", promptOf(String(sessionId), "put new.txt|new|0"));
      assert.equal(end.stopReason, "end_turn");
      const { url, branch, revision } = end._meta.target;
      assert.deepEqual([url, branch], [project.url, begun.target.branch]);

      // Meanwhile the person has committed something.
      writeFileSync(join(project.clone, "own.txt"), "own\n");
      const who = ["-c", "user.name=Ida", "-c", "user.email=ida@example.com"];
      project.git("add", ".");
      project.git(...who, "commit", "--quiet", "--message", "Own");
      await run.fetch(project, branch);
      assert.equal(project.git("rev-parse", "FETCH_HEAD"), revision);
      project.git(...who, "merge", "--quiet", "--no-edit", "FETCH_HEAD");
      for (const file of ["new.txt", "own.txt"]) {
        assert.equal(readFileSync(join(project.clone, file), "utf8"), `${file.slice(0, 3)}\n`);
      }
      socket.terminate();
    });

    it("refuses clients without a token, or with a wrong one", async () => {
      covers("run.connection.refused");
      const { acp, authorization } = await run.address();
      const allowed = { headers: { authorization: `Bearer ${authorization}` }, ...trust };
      const connected = new WebSocket(acp, allowed);
      await once(connected, "open");
      connected.terminate();
      // An entry without a token has `"token": ""` in the guide's example.
      const refused = [{}, { authorization: "" }, { authorization: "tlk_other" }];
      for (const headers of refused) {
        const socket = new WebSocket(acp, { headers, ...trust });
        const [, response] = await once(socket, "unexpected-response");
        assert.equal(response.statusCode, 401);
        socket.on("error", () => {});
        socket.terminate();
      }
    });
  },
);
