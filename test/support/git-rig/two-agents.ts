import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { GitRig } from "./git-rig.ts";

const TOKEN = "token-of-bob-0123456789abcdef";

/**
 * Two agents in two work trees of one clone, who commit and push at the same moment: alice signs by
 * gpg and pushes by ssh, bob signs by ssh and pushes by HTTPS. All that sets them apart is their
 * environment. Asserts of every commit who made it, who signed it and who the server saw.
 */
export async function runTwoAgents(rounds: number): Promise<void> {
  await using rig = await GitRig.start();
  const bobsKey = rig.makeSshKey("sign_bob");
  const alicesKey = await rig.makeGpgKey("alice");
  const match = [{ host: "localhost" }];
  const { host } = rig.forge;
  rig.configure({
    identities: rig.identities({
      alice: { match, signing: { format: "openpgp", key: alicesKey } },
      bob: { match, host, signing: { format: "ssh", key: bobsKey } },
    }),
  });
  rig.forge.tokens.set(TOKEN, { account: "bob" });
  await rig.must("trunkline identity token set bob", { input: TOKEN });
  rig.makeRepository("team/app");
  const clone = rig.makeClone("app", rig.sshUrl("team/app"));
  await rig.must(
    [
      "git config gc.auto 0",
      `git remote add web ${rig.httpsUrl("team/app")}`,
      "git -c user.name=x -c user.email=x@y commit -q --allow-empty -m begin",
      "git update-ref refs/remotes/origin/main HEAD",
      "git worktree add -q ../bobs",
      "trunkline identity guard install",
    ].join(" && "),
    { cwd: clone },
  );
  const agents = [
    { name: "alice", cwd: clone, remote: "origin" },
    { name: "bob", cwd: join(clone, "../bobs"), remote: "web" },
  ] as const;
  const before = readFileSync(join(clone, ".git/config"), "utf8");
  const made = new Map<string, string>();
  const environments = await Promise.all(
    agents.map(async ({ name }) => {
      const plan = JSON.parse(await rig.must(`trunkline identity env ${name} --json`)) as {
        readonly set: NodeJS.ProcessEnv;
      };
      return plan.set;
    }),
  );
  for (let round = 1; round <= rounds; round++) {
    const heads = await Promise.all(
      agents.map(async ({ name, cwd, remote }, at) => {
        const work = `git commit -q --allow-empty -m 'round ${round}' && git push -q ${remote} HEAD:refs/heads/of-${name}`;
        const env = environments[at] ?? {};
        return await rig.must(`${work} && git rev-parse HEAD`, { cwd, env });
      }),
    );
    for (const [at, head] of heads.entries()) made.set(head, agents[at]?.name ?? "");
  }
  assert.equal(made.size, 2 * rounds);
  const pushes = rig.pushes();
  assert.equal(pushes.length, 2 * rounds);
  const signers = join(rig.root, "signers");
  const publicKey = readFileSync(`${bobsKey}.pub`, "utf8");
  writeFileSync(signers, `bob@rig.test namespaces="git" ${publicKey}`);
  let right = 0;
  for (const { account, head, ref } of pushes) {
    const name = made.get(head);
    assert.equal(account, name, "the server saw whom it should");
    assert.equal(ref, `refs/heads/of-${name}`);
    const format = "%ae %ce %G? %GS";
    const line = `git -c gpg.ssh.allowedSignersFile=${signers} log -1 --format='${format}' ${head}`;
    const [author, committer, verdict, ...signer] = (await rig.must(line, { cwd: clone })).split(
      " ",
    );
    assert.deepEqual([author, committer], [`${name}@rig.test`, `${name}@rig.test`]);
    assert.match(verdict ?? "", /^[GU]$/, "the signature is good");
    assert.match(signer.join(" "), new RegExp(`${name}@rig\\.test`));
    right++;
  }
  assert.equal(right, 2 * rounds);
  assert.equal(readFileSync(join(clone, ".git/config"), "utf8"), before, "nothing on disk changed");
}
