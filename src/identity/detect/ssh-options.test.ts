import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { sshConfigArguments, sshOptions } from "./ssh-options.ts";

describe("sshOptions()", () => {
  it("uses the SSH configuration in the given home folder", async () => {
    using sample = new SampleRepository();
    sample.write(
      ".ssh/config",
      "Host work\n  HostName GitHub.com\n  Port 443\n  User git\n  IdentitiesOnly yes\n" +
        "  IdentityFile ~/.ssh/one\n  IdentityFile /keys/two\n",
    );
    const { env } = sample;
    assert.deepEqual(await sshOptions("work", { env }), {
      hostname: "github.com",
      user: "git",
      port: 443,
      identityFiles: [join(sample.home, ".ssh/one"), "/keys/two"],
      identitiesOnly: true,
    });
    const other = sample.write("other", "Host work\n  HostName example.com\n");
    assert.equal((await sshOptions("work", { env, file: other })).hostname, "example.com");
  });

  it("does not treat a host as an option", async () => {
    using sample = new SampleRepository();
    for (const host of ["", "-oProxyCommand=touch pwned"]) {
      await assert.rejects(sshOptions(host, { env: sample.env }), { code: "usage" });
    }
  });

  it("reports ssh's message about a configuration that it cannot read", async () => {
    using sample = new SampleRepository();
    sample.write(".ssh/config", "Nonsense yes\n");
    await assert.rejects(sshOptions("work", { env: sample.env }), {
      code: "unavailable",
      message: /Cannot ask ssh about 'work': .*Bad configuration option/s,
    });
  });
});

describe("sshConfigArguments()", () => {
  it("point ssh to another home folder, and to one without a configuration", () => {
    using sample = new SampleRepository();
    assert.deepEqual(sshConfigArguments(sample.env), ["-F", "none"]);
    const file = sample.write(".ssh/config", "");
    assert.deepEqual(sshConfigArguments(sample.env), ["-F", file]);
  });
});
