import assert from "node:assert/strict";
import { mkdtempDisposable, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { Credentials } from "../wire/quic/connection.ts";
import { busCertificates } from "./bus-certificates.ts";

async function open() {
  const home = await mkdtempDisposable(join(tmpdir(), "trunkline-bus-certificates-"));
  const folder = join(home.path, "certs");
  const certificates = busCertificates(folder, assert.fail);
  const renewed = Promise.withResolvers<Credentials>();
  const told = async (credentials: Credentials): Promise<void> => renewed.resolve(credentials);
  const { credentials, stop } = await certificates.follow("orchestrator", {}, told, renewed.reject);
  return {
    ...{ folder, certificates, credentials, renewed: renewed.promise, stop },
    async [Symbol.asyncDispose]() {
      stop();
      await home.remove();
    },
  };
}

describe("BusCertificates", () => {
  it("renews those that are followed once another is found to be of a new authority", async () => {
    await using bus = await open();
    await rm(bus.folder, { recursive: true });
    const plugin = await bus.certificates.of("tools.a");
    assert.notEqual(plugin.ca, bus.credentials.ca);
    assert.equal((await bus.renewed).ca, plugin.ca);
  });

  it("renews those that somebody has replaced when it is told to look", async () => {
    await using bus = await open();
    await rm(bus.folder, { recursive: true });
    const other = await busCertificates(bus.folder, assert.fail).of("tools.a");
    bus.certificates.look();
    assert.equal((await bus.renewed).ca, other.ca);
  });
});
