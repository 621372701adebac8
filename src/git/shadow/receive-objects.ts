import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { Readable } from "node:stream";

import { TrunklineError } from "../../base/errors.ts";
import type { Git } from "../git.ts";
import { ZERO } from "./git-files.ts";

/** Refs that keep new objects reachable until the person's refs do. */
export const INCOMING = "refs/trunkline/incoming";

export function newIncoming(): string {
  return `${INCOMING}/${crypto.randomUUID()}`;
}
/** Bytes of a pack. */
const MOST = 2 * 1024 * 1024 * 1024;
const SETTINGS = [
  "receive.fsckObjects=true",
  "receive.unpackLimit=100",
  `receive.maxInputSize=${MOST}`,
  "receive.autogc=false",
  "receive.updateServerInfo=false",
  "receive.keepAlive=0",
  "receive.advertiseAtomic=true",
  "core.alternateRefsCommand=",
  // Limits the memory of objects that are small only while they are compressed.
  "core.bigFileThreshold=64m",
  "core.packedGitLimit=256m",
];

/**
 * Receives a pack as git receives a push: in quarantine, with each object checked, and only if all
 * objects that the wanted ids refer to are present. Refs below `incoming` keep them reachable.
 */
export async function receiveObjects(
  git: Git,
  commonDir: string,
  pack: string,
  ids: readonly string[],
  incoming: string,
): Promise<void> {
  const batch = `${incoming}/${crypto.randomUUID()}`;
  const commands = ids.map((id, count) => {
    const more = count === 0 ? "\0report-status atomic object-format=sha1" : "";
    return pktLine(`${ZERO} ${id} ${batch}/${count}${more}`);
  });
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  await using file = await open(pack, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stats = await file.stat();
  if (!stats.isFile() || stats.size > MOST) {
    throw new TrunklineError("limit", `its new objects have more than ${MOST} bytes`);
  }
  const head = Buffer.from(`${commands.join("")}0000`);
  await using input = Readable.from(join(head, file.createReadStream({ autoClose: false })));
  const { stdout } = await git.run(["receive-pack", "--stateless-rpc", commonDir], {
    ...{ mode: "files", input, timeout: 300_000 },
    env: configVariables(SETTINGS),
  });
  const problem = problemIn(stdout.toString("utf8"));
  if (problem !== undefined) throw new TrunklineError("untrusted", problem);
}

async function* join(head: Buffer, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  yield* content;
}

/** Settings for git and every git that it starts. */
function configVariables(settings: readonly string[]): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { GIT_CONFIG_COUNT: String(settings.length) };
  for (const [at, setting] of settings.entries()) {
    const [key, value] = setting.split("=", 2);
    env[`GIT_CONFIG_KEY_${at}`] = key;
    env[`GIT_CONFIG_VALUE_${at}`] = value;
  }
  return env;
}

function pktLine(text: string): string {
  return (Buffer.byteLength(text) + 4).toString(16).padStart(4, "0") + text;
}

/** gitprotocol-pack(5), "Report Status". */
function problemIn(report: string): string | undefined {
  const [, unpacked] = /unpack (.*)\n/.exec(report) ?? [];
  if (unpacked === undefined) return "git did not take its objects in";
  if (unpacked !== "ok") return `git did not take its objects in: ${unpacked}`;
  const [, why] = /ng \S+ (.*)\n/.exec(report) ?? [];
  return why === undefined ? undefined : `git did not take its objects in: ${why}`;
}
