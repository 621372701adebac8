import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { HOME, SampleIdentities, WORK } from "../../../test/samples/sample-identities.ts";
import { writeAllowedSigners } from "./commit-signer.ts";
import { quietRunner } from "./signing-readiness.ts";

const SIGNING = { format: "ssh", key: "~/sign" } as const;

function sampleThatSigns(): SampleIdentities {
  const sample = new SampleIdentities({ work: { ...WORK, signing: SIGNING }, home: HOME });
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(sample.home, "sign")]);
  return sample;
}

async function write(sample: SampleIdentities): Promise<string> {
  const path = join(sample.home, "data/identity/allowed_signers");
  await writeAllowedSigners(path, sample.identities, quietRunner({ env: sample.env }));
  return path;
}

describe("writeAllowedSigners()", () => {
  it("lets git verify the commits of an identity after a switch", async () => {
    using sample = sampleThatSigns();
    const signersFile = await write(sample);
    await sample.switch("work", { signersFile });
    sample.run("commit", "-q", "--allow-empty", "-m", "x");
    assert.equal(sample.run("log", "-1", "--format=%G? %GS"), "G ada@acme.example");
    await sample.switch("home", { signersFile });
    assert.equal(sample.config("gpg.ssh.allowedSignersFile"), "");
  });

  it("keeps the file that the person has", async () => {
    using sample = sampleThatSigns();
    sample.run("config", "--global", "gpg.ssh.allowedSignersFile", "~/mine");
    await sample.switch("work", { signersFile: await write(sample) });
    assert.equal(sample.config("gpg.ssh.allowedSignersFile"), "~/mine");
  });

  it("finds the public key also without its file, and leaves unreadable keys out", async () => {
    using sample = sampleThatSigns();
    const text = readFileSync(await write(sample), "utf8");
    assert.match(text, /^ada@acme\.example namespaces="git" ssh-ed25519 \S+\n$/);
    rmSync(join(sample.home, "sign.pub"));
    assert.equal(readFileSync(await write(sample), "utf8"), text);
    rmSync(join(sample.home, "sign"));
    assert.equal(readFileSync(await write(sample), "utf8"), "");
  });
});
