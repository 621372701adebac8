import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Host, Output } from "../../../src/cli/shell/host.ts";
import { run } from "../../../src/cli/program.ts";
import { ServerLogins } from "../../../src/upstream/open/server-logins.ts";
import { SessionLog } from "../../../src/store/session/session-log.ts";
import type { Login } from "../../../src/upstream/oauth/login-tokens.ts";
import type { FaultRig } from "../store-fault-contract.ts";
import { faultApp } from "./fault-app.ts";

/** An output that is kept. */
class KeptOutput implements Output {
  text = "";

  write(text: string | Uint8Array): void {
    this.text += String(text);
  }

  on(): void {}
}

const SERVER = new URL("https://mcp.example.com/mcp");
const LOGIN: Login = {
  server: SERVER.href,
  issuer: "https://login.example.com",
  tokenEndpoint: "https://login.example.com/token",
  client: { id: "c", method: "none" },
  scopes: ["read"],
  accessToken: "",
};

/** Commands that write: comments, tokens, configuration, identities, sessions, logins at servers. */
export async function commandLine(): Promise<FaultRig> {
  const { home } = await faultApp();
  const { project, path, data } = home;
  execFileSync("git", ["init", "--quiet"], { cwd: project });
  writeFileSync(join(project, "a.txt"), "one\n");
  await home.write(home.projectFile, `{ "log": { "level": "warn" } }`);
  const env = { HOME: path, PATH: process.env.PATH ?? "", USER: "ada" };
  const trunkline = async (...args: string[]): Promise<string> => {
    const [stdout, stderr] = [new KeptOutput(), new KeptOutput()];
    const exit = (): never => assert.fail("It left without a word");
    const host: Host = { env, stdout, stderr, cwd: () => project, exit };
    const code = await run(args, host);
    if (code !== 0) throw new Error(stderr.text);
    return stdout.text;
  };
  const say = (name: string, ...args: string[]) => ({ name, run: () => trunkline(...args) });
  // As each process opens them. A browser is no part of this, so only what a login stores is.
  const loginStore = () =>
    new ServerLogins({ data, env: { ...env, TRUNKLINE_TOKEN_STORE: "file" } }).of("work", SERVER);
  let loggedIn = "";
  let count = 0;
  let thread = "";
  const added: string[] = [];
  return {
    folder: path,
    prepare: async () => {
      count++;
      await using log = await SessionLog.open(data);
      const session = { id: `s${count}`, cwd: project, agent: "x", notes: {} };
      await log.release((await log.create(session)).key);
    },
    steps: [
      {
        name: "review add",
        run: async () => {
          thread = "";
          const args = ["--file", "a.txt", "--line=1", `--comment=comment ${count}`, "--json"];
          thread = (JSON.parse(await trunkline("review", "add", ...args)) as { id: string }).id;
          added.push(thread);
        },
      },
      {
        name: "review reply and resolve",
        run: async () => {
          if (thread === "") return;
          await trunkline("review", "reply", thread, "--comment=more");
          await trunkline("review", "resolve", thread);
        },
      },
      say("review list", "review", "list", "--all"),
      {
        name: "token create, list and revoke",
        run: async () => {
          const name = `t${count}-${Math.random().toString(36).slice(2)}`;
          await trunkline("token", "create", name);
          await trunkline("token", "list");
          await trunkline("token", "revoke", name);
        },
      },
      say("token rotate", "token", "rotate"),
      {
        name: "identity add and remove",
        run: async () => {
          const name = `i${count}-${Math.random().toString(36).slice(2)}`;
          const who = ["--provider", "github", "--user", "ada", "--email", "ada@example.org"];
          await trunkline("identity", "add", name, ...who);
          await trunkline("identity", "remove", name);
        },
      },
      {
        name: "logout and login at a server",
        run: async () => {
          loggedIn = "";
          await loginStore().remove();
          const accessToken = `token ${count}`;
          await loginStore().write({ ...LOGIN, accessToken });
          loggedIn = accessToken;
          await loginStore().want(["more"]);
        },
      },
      say("config trust", "config", "trust"),
      say("config untrust", "config", "untrust"),
      say("identity list", "identity", "list"),
      say("session list", "session", "list"),
      { name: "session delete", run: () => trunkline("session", "delete", `s${count}`) },
      say("tool list", "tool", "list"),
    ],
    verify: async () => {
      const listed = await trunkline("review", "list", "--all", "--json");
      for (const id of added) assert.ok(listed.includes(id), `${id} is there`);
      if (loggedIn !== "") assert.equal((await loginStore().read())?.accessToken, loggedIn);
    },
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}
