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
  readonly metadata?: { readonly name?: string };
  readonly spec?: { readonly template?: { readonly spec?: Pod } };
}

interface Pod {
  readonly hostUsers?: boolean;
  readonly securityContext?: { readonly runAsUser?: number };
  readonly containers?: readonly Container[];
}

interface Probe {
  readonly exec?: { readonly command?: readonly string[] };
}

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly securityContext?: object;
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: {
    readonly preStop?: { readonly exec?: { readonly command?: readonly string[] } };
  };
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

const MANIFESTS = parseAllDocuments(
  readFileSync(join(ROOT, "deploy/kubernetes/trunkline.yaml"), "utf8"),
).map((document) => {
  assert.deepEqual(document.errors, []);
  return document.toJS() as Manifest;
});

/** `apps/v1` is in `kubernetes-types/apps/v1`, and `v1` in `kubernetes-types/core/v1`. */
function moduleOf({ apiVersion }: Manifest): string {
  const name = apiVersion.includes("/") ? apiVersion.replace(".k8s.io", "") : `core/${apiVersion}`;
  return `kubernetes-types/${name}.js`;
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
    const commands = containers.flatMap((container) => {
      const { args = [], lifecycle, startupProbe, livenessProbe, readinessProbe } = container;
      const drain = lifecycle?.preStop?.exec?.command;
      const probes = [startupProbe, livenessProbe, readinessProbe].flatMap((probe) => {
        const script = probe?.exec?.command?.at(-1) ?? "";
        return Array.from(script.matchAll(/trunkline ([^|)]+)/g), ([, words = ""]) => words.trim());
      });
      const asked = probes.map((words) => words.split(" "));
      return [args, ...asked, ...(drain ? [drain.slice(drain.indexOf("trunkline") + 1)] : [])];
    });
    for (const path of globSync("deploy/systemd/*.service", { cwd: ROOT })) {
      const [, line = ""] =
        /^ExecStart=\S+ (.*)$/m.exec(readFileSync(join(ROOT, path), "utf8")) ?? [];
      commands.push(line.split(" "));
    }
    assert.equal(commands.length, 8);
    for (const args of commands) {
      const parsed = parse([...args], PROGRAM);
      assert.equal(parsed.kind, "run", JSON.stringify(parsed));
    }
  });

  it("gives workers what bubblewrap needs, and no right of root", () => {
    const { spec } = MANIFESTS.find(({ kind }) => kind === "StatefulSet") ?? {};
    const pod = spec?.template?.spec;
    assert.equal(pod?.hostUsers, false);
    assert.equal(pod?.securityContext?.runAsUser, 1000);
    assert.partialDeepStrictEqual(pod?.containers?.[0]?.securityContext, {
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"] },
      procMount: "Unmasked",
      seccompProfile: { type: "Localhost", localhostProfile: "trunkline.json" },
    });
    const profile = JSON.parse(read("deploy/container/seccomp.json")) as {
      readonly defaultAction: string;
      readonly syscalls: readonly { readonly names: readonly string[] }[];
    };
    assert.equal(profile.defaultAction, "SCMP_ACT_ALLOW");
    const refused = new Set(profile.syscalls.flatMap(({ names }) => names));
    const needed = ["unshare", "clone", "clone3", "setns", "mount", "umount2", "pivot_root"];
    assert.deepEqual(
      [...needed, "seccomp", "landlock_create_ruleset"].filter((it) => refused.has(it)),
      [],
    );
    for (const name of ["bpf", "kexec_load", "init_module", "open_by_handle_at"]) {
      assert.ok(refused.has(name), name);
    }
  });

  it("has an image that is not root's, with the programs that runs need and those that probes call", () => {
    const lines = read("deploy/container/Dockerfile");
    assert.equal(lines.match(/^FROM /gm)?.length, 2);
    assert.match(lines, /^USER 1000:1000$/m);
    for (const name of ["bubblewrap", "git", "openssh-client", "util-linux", "ca-certificates"]) {
      assert.match(lines, new RegExp(`^\\s+(?:.* )?${name}\\b`, "m"), name);
    }
    assert.match(lines, /^ENTRYPOINT \["trunkline"\]$/m);
    const [, args = "[]"] = /^CMD (.*)$/m.exec(lines) ?? [];
    assert.equal(parse(JSON.parse(args) as string[], PROGRAM).kind, "run");
    assert.match(read(".dockerignore"), /^\.git$/m);
  });

  it("lets clients in by WebSocket through the ingress, and nobody else", () => {
    const text = read("deploy/kubernetes/trunkline.yaml");
    assert.match(text, /proxy-read-timeout: "300"/);
    const policies = MANIFESTS.filter(({ kind }) => kind === "NetworkPolicy");
    assert.deepEqual(
      policies.map(({ spec }) => (spec as { policyTypes?: string[] }).policyTypes),
      [["Ingress", "Egress"], ["Ingress"]],
    );
  });
});
