import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { git } from "../../samples/sample-runs.ts";
import type { FaultRig, Step } from "../store-fault-contract.ts";
import { Editor } from "./acp-rig.ts";
import { GatewayDoor, OTHER_AGENT } from "./gateway-door.ts";

/** Remote runs. */
export async function remoteRuns(): Promise<FaultRig> {
  const door = await GatewayDoor.open({
    ...OTHER_AGENT,
    remote: { sandbox: "unsafe-off", allowPrivate: true, protocols: ["file"] },
  });
  const { path, data } = door.home;
  const bare = join(path, "remote.git");
  const clone = join(path, "clone");
  git(path, "init", "--quiet", "--bare", "--initial-branch=main", bare);
  git(path, "init", "--quiet", "--initial-branch=main", clone);
  writeFileSync(join(clone, "README.md"), "hello\n");
  git(clone, "add", ".");
  git(clone, "commit", "--quiet", "-m", "Begin");
  git(clone, "push", "--quiet", bare, "HEAD:main");
  const remote = {
    url: `file://${bare}`,
    branch: "main",
    revision: git(clone, "rev-parse", "HEAD"),
  };
  const place = { cwd: "", mcpServers: [], _meta: { remote } };

  const url = `${door.server.origin.replace("http", "ws")}/acp`;
  const socket = new WebSocket(url, { headers: door.owner });
  const editor = new Editor((text) => socket.send(text));
  socket.addEventListener("message", ({ data: text }) => editor.received(String(text)));
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  await editor.hello();

  const work = join(data, "run/work");
  const workspaces = (): string[] => (existsSync(work) ? readdirSync(work) : []);
  /** Sessions that were acknowledged, and their workspaces. */
  const begun = new Map<string, string>();
  const begin = async (): Promise<void> => {
    const { sessionId, _meta } = (await editor.ask("session/new", place)) as unknown as {
      sessionId: string;
      _meta: { target: { branch: string } };
    };
    begun.set(sessionId, _meta.target.branch.replace("agent/", ""));
  };
  const remove = async (sessionId: string): Promise<void> => {
    await editor.ask("session/delete", { sessionId });
    begun.delete(sessionId);
  };
  const first: Step = { name: "first", run: begin };
  return {
    folder: data,
    // Sessions of the round before whose deletion was refused.
    prepare: async () => {
      for (const id of [...begun.keys()]) await remove(id);
    },
    steps: [
      first,
      { ...first, name: "second" },
      {
        name: "prompt in each",
        run: async () => {
          for (const [sessionId, workspace] of begun) {
            assert.ok(workspaces().includes(workspace), "a session that began has its workspace");
            const prompt = [{ type: "text", text: "say hello" }];
            await editor.ask("session/prompt", { sessionId, prompt });
          }
        },
      },
      {
        name: "delete",
        run: async () => {
          for (const id of [...begun.keys()]) await remove(id);
        },
      },
    ],
    verify: async () => {
      // One that was refused although it is there is listed, so that a person can delete it.
      const { sessions } = (await editor.ask("session/list", {})) as unknown as {
        sessions: { sessionId: string }[];
      };
      for (const { sessionId } of sessions) await remove(sessionId);
      socket.close();
      await door.server.close(1_000);
      // One that has not begun is removed by a later start.
      const left = workspaces().filter((name) => existsSync(join(work, name, "workspace.json")));
      assert.deepEqual(left, []);
    },
    [Symbol.asyncDispose]: async () => {
      socket.close();
      await door[Symbol.asyncDispose]();
    },
  };
}
