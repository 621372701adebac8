import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import assert from "node:assert/strict";

import { loadConfig } from "../../config/load.ts";
import { AppContext } from "../../config/app-context.ts";
import { agentIdentity } from "./open-identities.ts";
import { SampleRepository } from "../../../test/samples/sample-repository.ts";

const WORK = { provider: "github", user: "ada", email: "ada@acme.test", organizations: ["acme"] };
const MAIL = "GIT_AUTHOR_EMAIL";

/** Whom an agent acts as, with these identities, in a repository of acme's. */
async function actsAs(
  sample: SampleRepository,
  identities: object,
  chosen?: string,
  more = {},
  session?: string,
) {
  const file = sample.write("config.jsonc", JSON.stringify({ identities, ...more }));
  sample.run("config", "remote.origin.url", "git@github.com:acme/app.git");
  const { env, path: cwd } = sample;
  const data = join(sample.home, "data");
  const { config } = await loadConfig({ cwd, env, flags: { config: file, data } });
  const quiet = { ...config, log: { level: "error", verbose: false, requests: false } } as const;
  const app = new AppContext(quiet, { files: [file], load: async () => config });
  return await agentIdentity(app, { agent: "codex", identity: chosen }, env)(cwd, session);
}

describe("agentIdentity()", { timeout: 60_000 }, () => {
  it("is chosen by the folder, and added to an environment", async () => {
    using sample = new SampleRepository();
    const identity = await actsAs(sample, { work: WORK });
    assert.equal(identity?.name, "work");
    const made = identity?.environment({ PATH: "/bin", [MAIL]: "stranger@x.test" });
    assert.deepEqual([made?.PATH, made?.[MAIL]], ["/bin", "ada@acme.test"]);
  });

  it("gives the token to processes that we start, and to nobody else", async () => {
    using sample = new SampleRepository();
    sample.env.WORK_TOKEN = "t0k3n-of-work";
    const tokenSource = { kind: "environment", variable: "WORK_TOKEN" };
    const identity = await actsAs(sample, { work: { ...WORK, tokenSource } });
    const { GH_TOKEN, GITHUB_TOKEN, GH_HOST } = identity?.processEnvironment({}) ?? {};
    assert.deepEqual(
      [GH_TOKEN, GITHUB_TOKEN, GH_HOST],
      ["t0k3n-of-work", "t0k3n-of-work", "github.com"],
    );
    assert.ok(!JSON.stringify(identity?.environment({})).includes("t0k3n"));
    assert.ok(!JSON.stringify(identity).includes("t0k3n"));
    assert.equal(identity?.processEnvironment({ GH_TOKEN: "given" }).GH_TOKEN, "given");
  });

  it("lets git verify its SSH signatures, unless the person has a list of signers already", async () => {
    using sample = new SampleRepository();
    const key = join(sample.home, "sign");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
    const work = { ...WORK, signing: { format: "ssh", key } };
    const env = (await actsAs(sample, { work }))?.processEnvironment(sample.env);
    const git = (...args: string[]): string =>
      execFileSync("git", args, { cwd: sample.path, env, encoding: "utf8" }).trim();
    git("commit", "-q", "--allow-empty", "-m", "x");
    assert.equal(git("log", "-1", "--format=%G? %GS"), "G ada@acme.test");

    const own = join(sample.home, "mine");
    sample.run("config", "--global", "gpg.ssh.allowedSignersFile", own);
    const made = (await actsAs(sample, { work }))?.environment(sample.env);
    const config = execFileSync("git", ["config", "gpg.ssh.allowedSignersFile"], {
      cwd: sample.path,
      env: made,
      encoding: "utf8",
    });
    assert.equal(config.trim(), own);
  });

  it("is what the first rule for agent and repository says, with its lines in each message", async () => {
    using sample = new SampleRepository();
    const bot = { provider: "github", user: "bot", email: "bot@acme.test" };
    const ada = { name: "Ada", email: "ada@acme.test" };
    const agentCommits = [
      { agent: "claude*", author: ada },
      { repositories: [{ owner: "other" }], author: ada },
      {
        ...{ agent: "co*", repositories: [{ host: "github.com", owner: "acme" }], identity: "bot" },
        ...{ author: { name: "Codex", email: "codex@acme.test" }, coAuthor: ada },
        trailers: ["Assisted-by: {agent}'s model"],
      },
    ];
    // The repository's own hooks run after ours, and see what git is about to keep.
    sample.hook("commit-msg", `cat "$1" > seen`);
    sample.hook("pre-commit", "echo x >> ran");
    const acts = await actsAs(sample, { work: WORK, bot }, "work", { agentCommits });
    const env = acts?.environment(sample.env);
    const git = (...args: string[]): string =>
      execFileSync("git", args, { cwd: sample.path, env, encoding: "utf8" }).trim();
    git("commit", "-q", "--allow-empty", "-m", "One", "-m", "Assisted-by: codex's model");
    git("commit", "-q", "--allow-empty", "-m", "Two");
    assert.equal(git("log", "-1", "--format=%ae %ce"), "codex@acme.test bot@acme.test");
    const lines = "Assisted-by: codex's model\nCo-authored-by: Ada <ada@acme.test>";
    assert.equal(git("log", "-2", "--format=%B"), `Two\n\n${lines}\n\nOne\n\n${lines}`);
    assert.equal(sample.read("app/seen").toString(), `Two\n\n${lines}\n`);
    assert.equal(sample.read("app/ran").toString(), "x\nx\n");
    const plain = await actsAs(sample, { work: WORK }, undefined, {
      agentCommits: agentCommits.slice(0, 2),
    });
    assert.equal(plain?.environment({})[MAIL], "ada@acme.test");
    assert.doesNotMatch(JSON.stringify(plain?.environment({})), /hooksPath/);
  });

  it("names the session in each message where a rule wants it, the session is known and nobody says it already", async () => {
    using sample = new SampleRepository();
    sample.run("config", "user.name", "Ada");
    sample.run("config", "user.email", "ada@home.test");
    const trailers = ["Trunkline-Session: {session}", "Assisted-by: {agent}"];
    const more = { agentCommits: [{ agent: "codex", trailers }] };
    for (const identities of [{ work: WORK }, {}]) {
      const messageOf = async (session: string | undefined, rules: object): Promise<string> => {
        const acts = await actsAs(sample, identities, undefined, rules, session);
        const env = acts?.environment(sample.env) ?? sample.env;
        const commit = ["commit", "-q", "--allow-empty", "-m", "One"];
        execFileSync("git", commit, { cwd: sample.path, env });
        execFileSync("git", [...commit, "--amend"], { cwd: sample.path, env });
        return sample.run("log", "-1", "--format=%B").trim();
      };
      const said = "One\n\nTrunkline-Session: s1'$(id)\nAssisted-by: codex";
      assert.equal(await messageOf("s1'$(id)", more), said);
      assert.equal(await messageOf(undefined, more), "One\n\nAssisted-by: codex");
      assert.equal(await messageOf("s1", {}), "One");
    }
  });

  it("is none if none is configured, none matches, or several match equally well", async () => {
    using sample = new SampleRepository();
    assert.equal(await actsAs(sample, {}), undefined);
    const elsewhere = { ...WORK, provider: "gitlab", organizations: [] };
    assert.equal(await actsAs(sample, { elsewhere }), undefined);
    assert.equal(await actsAs(sample, { one: WORK, other: WORK }), undefined);
  });

  it("is none if the matching identity has no email", async () => {
    using sample = new SampleRepository();
    const { email: _, ...nameless } = WORK;
    assert.equal(await actsAs(sample, { nameless }), undefined);
    await assert.rejects(actsAs(sample, { nameless }, "nameless"), /has no email/);
  });

  it("is the chosen one, and an error if that does not exist", async () => {
    using sample = new SampleRepository();
    const home = { ...WORK, email: "ada@home.test", organizations: [] };
    const chosen = await actsAs(sample, { work: WORK, home }, "home");
    assert.equal(chosen?.environment({})[MAIL], "ada@home.test");
    await assert.rejects(actsAs(sample, { work: WORK }, "home"), { code: "not-found" });
  });
});
