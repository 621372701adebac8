import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { AppContext } from "../../config/app-context.ts";
import { identifyFor } from "./identify.ts";

const IDENTITIES = {
  work: {
    provider: "github",
    user: "ada-acme",
    email: "ada@acme.test",
    displayName: "Ada",
    organizations: ["acme"],
    sshKey: "~/.ssh/id_work",
    tokenSource: { kind: "environment", variable: "WORK_TOKEN" },
    match: [{ host: "mirror.test" }],
  },
  lab: { provider: "gitlab", user: "ada", email: "ada@lab.test", host: "git.lab.test" },
};

async function identify(home: SampleHome, url: string) {
  return await (
    await identifier(home)
  )(url);
}

async function identifier(home: SampleHome, identities: object = IDENTITIES, more: object = {}) {
  await home.write(home.userFile, JSON.stringify({ identities, ...more }));
  const { config } = await home.load();
  const quiet = { ...config, log: { level: "error", verbose: false, requests: false } } as const;
  const app = new AppContext(quiet, { files: [home.userFile], load: async () => config });
  const env = { HOME: home.path, PATH: process.env.PATH, WORK_TOKEN: "t0k3n" };
  return identifyFor(app, { ...env, TRUNKLINE_TOKEN_STORE: "file" });
}

describe("identifyFor()", () => {
  it("finds the identity of a URL, its token, its SSH key and its author", async () => {
    await using home = await SampleHome.create();
    const { credentials, author } = await identify(home, "https://github.com/acme/app.git");
    assert.deepEqual([credentials.scope, credentials.user], ["work", "ada-acme"]);
    assert.equal(credentials.token, "t0k3n");
    assert.ok(credentials.sshCommand?.includes(join(home.path, ".ssh/id_work")));
    // Nobody can type a passphrase on a server.
    assert.ok(credentials.sshCommand?.endsWith(" -o BatchMode=yes"));
    assert.deepEqual(author, { name: "Ada", email: "ada@acme.test" });
  });

  it("commits as the first rule for the agent says, with the credentials that all agents have", async () => {
    await using home = await SampleHome.create();
    const trailers = ["Assisted-by: {agent}"];
    const agentCommits = [
      { agent: "claude", identity: "lab", trailers },
      {
        repositories: [{ owner: "acme" }],
        author: { name: "Robot", email: "robot@acme.test" },
        trailers,
      },
    ];
    const url = "https://github.com/acme/app.git";
    const asked = await identifier(home, IDENTITIES, { agentCommits });
    const claude = await asked(url, "claude");
    assert.equal(claude.credentials.scope, "work");
    assert.equal(claude.author.email, "ada@lab.test");
    assert.deepEqual(claude.trailers, ["Assisted-by: claude"]);
    const other = await asked(url, "codex");
    assert.deepEqual([other.author.name, other.trailers], ["Robot", ["Assisted-by: codex"]]);
    assert.equal(other.committer?.email, "ada@acme.test");
  });

  it("sends no token if only the provider matches, and none to unknown hosts", async () => {
    await using home = await SampleHome.create();
    for (const url of [
      "https://gitlab.acme.example/a/b.git",
      "https://evil.example/acme/app.git",
    ]) {
      const { credentials, author } = await identify(home, url);
      assert.deepEqual(credentials, { scope: "" }, url);
      assert.equal(author.email, "trunkline@localhost");
    }
  });

  it("sends a token only to the host that it is for, whatever else a rule applies to", async () => {
    await using home = await SampleHome.create();
    const ask = await identifier(home);
    const tokenFor = async (url: string) => {
      const { credentials } = await ask(url);
      return [credentials.scope, credentials.token];
    };
    assert.deepEqual(await tokenFor("https://mirror.test/acme/app.git"), ["work", undefined]);
    assert.deepEqual(await tokenFor("git@mirror.test:acme/app.git"), ["work", undefined]);
    assert.deepEqual(await tokenFor("https://github.com:8443/acme/app.git"), ["work", undefined]);
    assert.deepEqual(await tokenFor("git@github.com:acme/app.git"), ["work", "t0k3n"]);
  });

  it("says which identity has no token for a host, and which command mends it", async () => {
    await using home = await SampleHome.create();
    const ask = await identifier(home);
    const whyOf = async (url: string) => (await ask(url)).credentials.noToken;
    assert.equal(
      await whyOf("https://mirror.test:8443/acme/app.git"),
      "A rule uses identity 'work' for mirror.test:8443, but its token is for github.com and is not sent elsewhere. " +
        "If it is also meant for mirror.test:8443: `trunkline identity edit work --host mirror.test:8443`. " +
        "Otherwise add an identity with that host, and change the rule of 'work'.",
    );
    assert.match(
      (await whyOf("https://git.lab.test/a/b.git")) ?? "",
      /^Identity 'lab', .* has no token\. Set one with `trunkline identity token set lab`\.$/,
    );
    assert.equal(await whyOf("https://github.com/acme/app.git"), undefined);
    // The command that is named does mend it.
    const { work } = IDENTITIES;
    const moved = { work: { ...work, host: "mirror.test:8443" } };
    const again = await identifier(home, moved);
    const { credentials } = await again("https://mirror.test:8443/acme/app.git");
    assert.equal(credentials.token, "t0k3n");
  });

  it("looks up once for sessions that begin together, and again later and after a failure", async (t) => {
    await using home = await SampleHome.create();
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const ask = await identifier(home);
    const url = "https://github.com/acme/app.git";
    const [first, second] = await Promise.all([ask(url), ask(url)]);
    assert.equal(first, second);
    assert.notEqual(
      (await ask("https://github.com/acme/other.git")).credentials,
      first.credentials,
    );
    t.mock.timers.tick(10_000);
    const later = await ask(url);
    assert.notEqual(later, first);
    assert.deepEqual(later, first);
    t.mock.timers.tick(10_000);
    await home.write(home.userFile, "{ broken");
    await assert.rejects(ask(url));
    await home.write(home.userFile, JSON.stringify({ identities: IDENTITIES }));
    assert.deepEqual(await ask(url), first);
  });
});
