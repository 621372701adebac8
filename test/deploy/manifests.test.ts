import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parseAllDocuments } from "yaml";

import { PROGRAM } from "../../src/cli/commands.ts";
import { DRAINED } from "../../src/cli/worker/worker.ts";
import { parse } from "../../src/cli/shell/parse.ts";

const ROOT = join(import.meta.dirname, "../..");

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec?: { readonly template?: { readonly spec?: { readonly containers?: Container[] } } };
}

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly lifecycle?: {
    readonly preStop?: { readonly exec?: { readonly command?: readonly string[] } };
  };
}

const MANIFESTS = parseAllDocuments(
  readFileSync(join(ROOT, "deploy/kubernetes/trunkline.yaml"), "utf8"),
).map((document) => {
  assert.deepEqual(document.errors, []);
  return document.toJS() as Manifest;
});

/** `apps/v1` is in `kubernetes-types/apps/v1`, and `v1` in `kubernetes-types/core/v1`. */
function moduleOf({ apiVersion }: Manifest): string {
  return `kubernetes-types/${apiVersion.includes("/") ? apiVersion : `core/${apiVersion}`}.js`;
}

/** What the compiler says of manifests that are written as values of Kubernetes' own types. */
function complaints(manifests: readonly Manifest[]): string {
  const folder = mkdtempSync(join(ROOT, "test/deploy/checked-"));
  try {
    const lines = manifests.flatMap((manifest, at) => [
      `import type { ${manifest.kind} as Kind${at} } from "${moduleOf(manifest)}";`,
      `export const manifest${at}: Kind${at} = ${JSON.stringify(manifest)};`,
    ]);
    writeFileSync(join(folder, "manifests.ts"), lines.join("\n"));
    const options = [
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--module",
      "nodenext",
    ];
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    execFileSync(tsc, [...options, join(folder, "manifests.ts")], { cwd: folder });
    return "";
  } catch (error) {
    return String((error as { stdout?: Buffer }).stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("deploy/", { timeout: 60_000 }, () => {
  it("has manifests that fit the schema of Kubernetes", () => {
    assert.equal(complaints(MANIFESTS), "");
    const wrong = { ...MANIFESTS[2], spec: { replicas: "two" } } as unknown as Manifest;
    assert.match(complaints([wrong]), /not assignable/);
  });

  it("leaves a worker that was drained alone", () => {
    const unit = readFileSync(join(ROOT, "deploy/systemd/trunkline-worker.service"), "utf8");
    assert.match(unit, new RegExp(`^RestartPreventExitStatus=${DRAINED}$`, "m"));
    assert.match(unit, new RegExp(`^SuccessExitStatus=${DRAINED}$`, "m"));
  });

  it("restarts a gateway by its liveness, and sends it clients by its readiness", () => {
    const text = readFileSync(join(ROOT, "deploy/kubernetes/trunkline.yaml"), "utf8");
    assert.match(text, /livenessProbe:\s+httpGet:\s+path: \/healthz/);
    assert.match(text, /readinessProbe:\s+httpGet:\s+path: \/readyz/);
  });

  it("starts gateways and workers with options that exist", () => {
    const containers = MANIFESTS.flatMap(({ spec }) => spec?.template?.spec?.containers ?? []);
    const commands = containers.flatMap(({ args = [], lifecycle }) => {
      const drain = lifecycle?.preStop?.exec?.command;
      return drain === undefined ? [args] : [args, drain.slice(drain.indexOf("trunkline") + 1)];
    });
    for (const path of globSync("deploy/systemd/*.service", { cwd: ROOT })) {
      const [, line = ""] =
        /^ExecStart=\S+ (.*)$/m.exec(readFileSync(join(ROOT, path), "utf8")) ?? [];
      commands.push(line.split(" "));
    }
    assert.equal(commands.length, 5);
    for (const args of commands) {
      const parsed = parse([...args], PROGRAM);
      assert.equal(parsed.kind, "run", JSON.stringify(parsed));
    }
  });
});
