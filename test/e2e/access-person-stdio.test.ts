import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { GuardedHome } from "../support/guarded-gateway.ts";
import { Program } from "../support/program.ts";
import { until } from "../support/until.ts";
import { PersonalServer } from "../upstream/personal-server.ts";
import { SmallIssuer } from "../upstream/small-issuer.ts";
import type { Json } from "../support/acp-app.ts";

/** An assistant that has started `trunkline mcp`. */
class Assistant implements AsyncDisposable {
  readonly program: Program;
  #last = 0;

  /** A gateway relays for whoever has its `HOME`. */
  constructor({ files }: GuardedHome, HOME?: string) {
    const env = { ...files, ...(HOME === undefined ? {} : { HOME }) };
    this.program = new Program(["mcp"], { env });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.program.child.stdin.end();
    await this.program.exit;
    await this.program[Symbol.asyncDispose]();
  }

  async ask(method: string, params: object = {}): Promise<Json> {
    const id = ++this.#last;
    this.program.write({ jsonrpc: "2.0", id, method, params });
    const found = (): Json[] =>
      this.program.lines.map((line): Json => JSON.parse(line)).filter((each) => each.id === id);
    await this.program.until(() => found().length > 0);
    const [answer] = found();
    return answer?.result ?? answer;
  }

  async begin(): Promise<void> {
    const clientInfo = { name: "assistant", version: "1" };
    const capabilities = { elicitation: { url: {} } };
    await this.ask("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
    this.program.write({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  async tools(): Promise<string[]> {
    const { tools } = await this.ask("tools/list");
    return tools.map(({ name }: Json) => name as string);
  }

  async call(name: string): Promise<string> {
    const answer = await this.ask("tools/call", { name, arguments: {} });
    return answer.content?.[0].text ?? JSON.stringify(answer);
  }
}

describe("a server of each person over stdio", { timeout: 600_000 }, () => {
  for (const isRelayed of [false, true]) {
    const how = isRelayed ? "relayed to a gateway" : "without a gateway";
    it(`is the owner's, ${how}, after a login in the terminal`, async () => {
      await using ending = new AsyncDisposableStack();
      const issuer = ending.use(await SmallIssuer.open());
      const server = ending.use(await PersonalServer.open(issuer.url));
      issuer.given = (token) => server.people.set(token, "owner");
      const mail = { url: server.url, login: "each" };
      const home = ending.use(new GuardedHome({ mcpServers: { mail } }));
      const gateway = isRelayed ? ending.use(await home.serve()) : undefined;
      const assistant = new Assistant(home, gateway?.program.home);
      ending.use(assistant);
      await assistant.begin();
      assert.equal((await assistant.tools()).at(-1), "log_in_to_mail");
      const asked = await assistant.call("log_in_to_mail");
      if (gateway === undefined) assert.match(asked, /Run `trunkline server login mail`/);
      else assert.match(asked, new RegExp(`-32042.*${gateway.ready.url}/logins#mail`));
      const login = ending.use(home.start("server", "login", "mail", "--print"));
      await login.says(/http:\S+authorize\S+/);
      const [link = ""] = /http:\S+authorize\S+/.exec(login.stderr) ?? [];
      await fetch(await issuer.browse(link));
      login.child.stdin.end();
      assert.equal(await login.exit, 0, login.stderr);
      await until(async () => (await assistant.tools()).includes("only_owner"));
      assert.equal(await assistant.call("work"), "done for owner");
      // So are they to the owner's own commands.
      const [listed, tested, tools] = [
        await home.runInProcess("server", "list", "--json"),
        await home.run("server", "test", "mail", "--json"),
        await home.run("tool", "list", "--json"),
      ].map(({ out }): Json => JSON.parse(out));
      assert.equal(listed?.servers[0].login.issuer, issuer.url);
      assert.deepEqual(tested?.tools, ["work", "only_owner"]);
      assert.ok(tools?.tools.some(({ name }: Json) => name === "only_owner"));
      const called = await home.run("tool", "call", "work");
      assert.match(called.out, /done for owner/, called.err);
    });
  }
});
