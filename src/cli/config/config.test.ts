import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import type { Invocation, Values } from "../shell/command.ts";
import { set, unset } from "./edit.ts";
import { check, schema, show, trust, untrust } from "./config.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run<V extends Values>(
  command: (invocation: Invocation<V>) => Promise<number>,
  home: SampleHome,
  values: V,
  ...positionals: string[]
): Promise<Ran> {
  const written = { out: "", err: "" };
  const code = await command({
    values,
    positionals,
    env: { HOME: home.path },
    cwd: home.project,
    out: (text) => (written.out += text),
    data: (text) => (written.out += text),
    err: (text) => (written.err += text),
    color: false,
    isTerminal: false,
    width: 80,
    edge: 80,
  });
  return { code, ...written };
}

const SECRETS = `{
  "mcpServers": {
    "a": { "command": "a", "env": { "API_TOKEN": "hush", "LEVEL": "1" } },
    "my token": { "command": "b" }
  }
}`;

describe("trunkline config show", () => {
  it("prints each value on one line, with secrets masked", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, SECRETS);
    const { code, out } = await run(show, home, {});
    const lines = out.split("\n");
    assert.equal(code, 0);
    assert(lines.includes("serve.port = 4180"));
    assert(lines.includes('mcpServers.a.env.API_TOKEN = "•••"'));
    assert(lines.includes('mcpServers.a.env.LEVEL = "1"'));
    assert.doesNotMatch(out, /hush/);
  });

  it("prints the sources of values with --origin, also of masked ones", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, SECRETS);
    const { out } = await run(show, home, { origin: true, set: ["serve.port=1"] });
    assert.match(out, /^serve\.port = 1 +# flag: --set serve\.port$/m);
    assert.match(out, /^serve\.host = "127\.0\.0\.1" +# default: built in$/m);
    const masked = out
      .split("\n")
      .find((line) => line.startsWith('mcpServers["my token"] = "•••"'));
    assert(masked?.endsWith(`# user: ${home.userFile}:4:30`), masked ?? out);
  });

  it("prints JSON, with the sources if asked", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, SECRETS);
    const plain = JSON.parse((await run(show, home, { json: true })).out);
    assert.equal(plain.serve.port, 4180);
    assert.equal(plain.mcpServers.a.env.API_TOKEN, "•••");
    const { config, origins } = JSON.parse(
      (await run(show, home, { json: true, origin: true })).out,
    );
    assert.deepEqual(config, plain);
    assert.deepEqual(origins["serve.port"], { kind: "default", where: "built in" });
  });

  it("warns about ignored values", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, `{ "serve": { "port": 1 } }`);
    const { err } = await run(show, home, {});
    assert.match(err, /^warning: .*\.trunkline\.jsonc:1:3: 'serve' is ignored: .*config trust`\n$/);
  });
});

describe("trunkline config check", () => {
  it("refuses an unknown agent, which another file may define", async () => {
    await using home = await SampleHome.create();
    await home.write(
      home.userFile,
      `{ "agent": "cluade", "agents": { "claude": { "command": "c" } } }`,
    );
    const message = `${home.userFile}:1:12: 'agent' must be one of: trunkline, claude; did you mean 'claude'?`;
    await assert.rejects(run(check, home, {}), { code: "config", message });
    assert.equal((await run(check, home, {}, home.userFile)).code, 0);
    assert.equal((await run(check, home, { set: ["agent=claude"] })).code, 0);
  });

  it("tells all mistakes that would be told later, beside those of the schema", async () => {
    await using home = await SampleHome.create();
    const url = "https://mcp.example.com";
    const oauth = { identityProvider: { issuer: "https://acme.example", clientId: "g" } };
    const config = {
      serve: {
        port: "x",
        publicUrl: "https://a@b.example",
        allowedOrigins: ["https://x.example/path"],
        oauth: { authorizationServers: ["http://login.example"] },
      },
      hooks: { PreToolUse: [{ matcher: "(Bash", hooks: [{ command: "true" }] }], Odd: [] },
      toolHooks: {
        PostToolUse: [
          { hooks: [{ type: "size", most: 9 }] },
          { matcher: "(a)\\1", hooks: [{ type: "http" }] },
          { matcher: "mcp__.*", hooks: [{ type: "size", most: 9 }, { type: "http" }] },
        ],
      },
      mcpServers: {
        a: { url, login: "each", headers: { authorization: "Bearer x" } },
        b: { url, login: "passed on", oauth },
        c: { url, login: "each" },
      },
    };
    const text = JSON.stringify(config, null, 1);
    await home.write(home.userFile, text);
    const { out } = await run(check, home, { json: true });
    const problems: string[] = JSON.parse(out).problems;
    const said = problems.map((problem) => {
      const [, line, says = ""] = /^[^:]*:(\d+):\d+: (.*)$/.exec(problem) ?? [];
      return `${text.split("\n")[Number(line) - 1]?.trim()} → ${says}`;
    });
    assert.deepEqual(said, [
      `"port": "x", → 'serve.port' must be an integer`,
      `"publicUrl": "https://a@b.example", → 'serve.publicUrl' cannot be 'https://a@b.example': an address has no query and no name to sign in`,
      `"https://x.example/path" → 'serve.allowedOrigins[0]' cannot be 'https://x.example/path': an origin is such as https://app.example.com, without a path`,
      `"http://login.example" → 'serve.oauth.authorizationServers[0]' cannot be 'http://login.example': keys are not to be fetched in clear text. Use https, or an address of this machine`,
      `"matcher": "(Bash", → 'hooks.PreToolUse[0].matcher' cannot be used: '(Bash' is no regular expression, or one that could take long`,
      `"Odd": [] → 'hooks.Odd' cannot be used: there is no such event here`,
      String.raw`"matcher": "(a)\\1", → 'toolHooks.PostToolUse[1].matcher' cannot be used: '(a)\1' is no regular expression, or one that could take long`,
      "{ → 'toolHooks.PostToolUse[2].hooks[1]' cannot be used: its 'url' must begin with https:// or http://",
      `"login": "each", → 'mcpServers.a.login' says that each person has a login, and its 'headers' have one for all. Remove either`,
      `"login": "passed on", → 'mcpServers.b.login' needs 'oauth.issuer' and 'oauth.clientId': the authorization server that people are passed on to, and as whom we ask there`,
    ]);
    for (const file of [[], [home.userFile]]) {
      await assert.rejects(run(check, home, {}, ...file), /toolHooks.PostToolUse.1..matcher/);
    }
  });

  it("says that everything is valid", async () => {
    await using home = await SampleHome.create();
    const right = { code: 0, out: "The configuration is valid.\n", err: "" };
    assert.deepEqual(await run(check, home, {}), right);
  });

  it("fails with the position of the mistake, for all files and for one file", async () => {
    await using home = await SampleHome.create();
    const file = join(home.project, "team.jsonc");
    await home.write(file, `{ "serve": 1 }`);
    const message = `${file}:1:12: 'serve' must be an object`;
    await assert.rejects(run(check, home, {}, "team.jsonc"), { code: "config", message });
    await assert.rejects(run(check, home, { config: file }), { code: "config", message });
    await assert.rejects(run(check, home, {}, "none.jsonc"), /no such file$/);
  });

  it("prints JSON in both cases", async () => {
    await using home = await SampleHome.create();
    const right = await run(check, home, { json: true });
    assert.equal(JSON.parse(right.out).ok, true);
    await home.write(home.userFile, `{ "a": , "b" 1 }`);
    const wrong = await run(check, home, { json: true });
    assert.equal(wrong.code, 1);
    const problems = [
      `${home.userFile}:1:8: expected a value`,
      `${home.userFile}:1:14: expected ':'`,
    ];
    assert.deepEqual(JSON.parse(wrong.out), { ok: false, problems });
  });
});

describe("trunkline config schema", () => {
  it("prints a JSON Schema", async () => {
    await using home = await SampleHome.create();
    const { out } = await run(schema, home, {});
    assert.equal(JSON.parse(out).$id, "trunkline-config.schema.json");
  });
});

describe("trunkline config trust and untrust", () => {
  it("report what they did, for the named or the current folder", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, `{ "serve": { "port": 1 } }`);
    const file = home.projectFile;
    const trusted = `Trusted ${file} with its current content. It sets: serve.\n`;
    assert.equal((await run(trust, home, {}, ".")).out, trusted);
    assert.equal((await home.load()).config.serve.port, 1);
    assert.equal((await run(untrust, home, {})).out, `${file} is no longer trusted.\n`);
    assert.equal((await home.load()).config.serve.port, 4180);
    assert.equal((await run(untrust, home, {})).out, `${file} was not trusted.\n`);
    const asJson = async (command: typeof trust): Promise<unknown> =>
      JSON.parse((await run(command, home, { json: true })).out);
    assert.deepEqual(await asJson(trust), { file, keys: ["serve"] });
    assert.deepEqual(await asJson(untrust), { file, wasTrusted: true });
  });

  it("store the trust in the data folder that the options name", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, `{ "serve": { "port": 1 } }`);
    await run(trust, home, { data: "state" });
    assert.equal((await home.load()).config.serve.port, 4180);
    assert.equal((await home.load({ flags: { data: "state" } })).config.serve.port, 1);
  });
});

describe("trunkline config set and unset", () => {
  it("change the file, name it, and print JSON", async () => {
    await using home = await SampleHome.create();
    const made = await run(set, home, {}, "log.level", "debug");
    assert.equal(made.out, `Set 'log.level' in ${home.userFile} (new file).\n`);
    const again = await run(set, home, {}, "log.level", "debug");
    assert.equal(again.out, `Nothing had to be changed in ${home.userFile}.\n`);
    await home.write(home.projectFile, '{ "log": { "level": "warn" } }');
    const hidden = await run(set, home, { set: ["serve.port=1"] }, "log.level", "error");
    assert.match(hidden.err, /^note: 'log\.level' keeps its value, .*\.trunkline\.jsonc:1:21\n$/);
    const { out } = await run(unset, home, { json: true }, "log.level");
    const { file, isChanged, backup, notes } = JSON.parse(out);
    assert.deepEqual([file, isChanged, notes.length], [home.userFile, true, 1]);
    assert.match(backup, /config-backups/);
    await run(set, home, { project: true }, "log.level", "info");
    assert.equal((await home.load()).config.log.level, "info");
  });
});
