import { readFileSync, statSync } from "node:fs";
import { createUser } from "@nats-io/nkeys";
import {
  type Auth,
  type Authenticator,
  credsAuthenticator,
  nkeyAuthenticator,
  usernamePasswordAuthenticator,
} from "@nats-io/transport-node";
import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";
import { holdSecret } from "../../base/text/mask.ts";
import { type Subjects, subjectsOf } from "../subjects.ts";

const SEED = /^SU[A-Z2-7]{56}$/;
const PASSWORD = /^([^:#\s]+):(.+)$/;

/**
 * Authenticates with the credentials in a file. The file is read for each connection, so that new credentials
 * need no restart; while it cannot be read, the last ones are used.
 */
export function credentialsFrom(path: string): Authenticator {
  let known = authenticator(path);
  return (nonce?: string): Auth => {
    // An error here would close the connection for ever.
    known = attempt(() => authenticator(path), known);
    return known(nonce);
  };
}

export function userAndPassword(user: string, password: string): Authenticator {
  return usernamePasswordAuthenticator(user, password);
}

function authenticator(path: string): Authenticator {
  let text: string;
  let isOpenToOthers: boolean;
  try {
    text = readFileSync(path, "utf8");
    // A group may read it: Kubernetes gives secrets to the group of a pod.
    isOpenToOthers = process.platform !== "win32" && (statSync(path).mode & 0o004) !== 0;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TrunklineError("config", `Cannot read the credentials for NATS: ${why}.`, {
      cause: error,
    });
  }
  for (const line of text.split("\n")) holdSecret(PASSWORD.exec(line.trim())?.[2] ?? line.trim());
  if (isOpenToOthers) {
    const next = `Run \`chmod o= ${path}\``;
    const says = `Cannot use the credentials for NATS in ${path}: every user of this machine can read them`;
    throw new TrunklineError("config", `${says}. ${next}.`);
  }
  if (text.includes("BEGIN NATS USER JWT")) return credsAuthenticator(Buffer.from(text));
  const lines = text.split("\n").map((line) => line.trim());
  const seed = lines.find((line) => SEED.test(line));
  if (seed !== undefined) return nkeyAuthenticator(Buffer.from(seed));
  const [, user, password] = lines.map((line) => PASSWORD.exec(line)).find(Boolean) ?? [];
  if (user !== undefined && password !== undefined) return userAndPassword(user, password);
  throw new TrunklineError(
    "config",
    `Cannot read the credentials for NATS in ${path}: expected a file of nsc (.creds), the seed of ` +
      "an nkey (SU…), or one line `USER:PASSWORD`.",
  );
}

/** A new user of NATS: the secret of its node, and the settings for nats-server. */
interface NewUser {
  /** The seed of its nkey, which is a secret. */
  readonly seed: string;
  /** Its entry in the settings of nats-server: it may do what it needs in its pool, and nothing else. */
  readonly settings: string;
}

export function newUser(user: Omit<FleetUser, "nkey">): NewUser {
  const pair = createUser();
  const seed = new TextDecoder().decode(pair.getSeed());
  return { seed, settings: userSettings({ ...user, nkey: pair.getPublicKey() }) };
}

/** A user of NATS that is a gateway or a worker. */
export interface FleetUser {
  readonly pool: string;
  readonly role: "gateway" | "worker";
  /** The stable name of the node; `*` for one user that all nodes of this role share. */
  readonly name: string;
  /** The public key (`U…`) of its nkey. */
  readonly nkey: string;
}

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** The permissions of a node. It may also answer requests to it. */
export function permissionsOf({ pool, role, name }: Omit<FleetUser, "nkey">): Permissions {
  const subjects = subjectsOf(pool);
  return role === "gateway" ? ofGateway(subjects, name) : ofWorker(subjects, name);
}

function ofGateway(subjects: Subjects, name: string): Permissions {
  const { eventStreams } = subjects;
  const { jobs, checkpoints, ...others } = streamsOf(subjects);
  const read = [...eventStreams, ...Object.values(others)];
  return {
    publish: [
      ...common(subjects, name),
      // Only gateways ask nodes for sessions, so nodes trust what a gateway tells about its clients.
      subjects.request("*.*", "*"),
      subjects.job("*"),
      subjects.tokenChange("*", "*", ">"),
      ...[...read, jobs, checkpoints].flatMap((stream) =>
        api(stream, "STREAM.CREATE", "STREAM.UPDATE"),
      ),
      ...read.flatMap(reading),
      ...api(checkpoints, "STREAM.INFO"),
      // It puts requests into the queue, makes the workers' consumers, and takes back what nobody needs.
      ...api(jobs, "STREAM.INFO", "STREAM.MSG.GET", "STREAM.MSG.DELETE"),
      ...api(`${jobs}.*`, "CONSUMER.DURABLE.CREATE"),
      ...api(`${jobs}.>`, "CONSUMER.CREATE"),
    ],
    subscribe: [...heard(subjects, name), subjects.offer(`${name}.*`, "*")],
  };
}

function ofWorker(subjects: Subjects, name: string): Permissions {
  const streams = streamsOf(subjects);
  const { sessions, budgets, shared, audits, checkpoints, jobs } = streams;
  const { eventStreams } = subjects;
  return {
    publish: [
      ...common(subjects, name),
      // All nodes of a pool call each other's tools.
      subjects.request("*.*", "tools"),
      // For `trunkline worker drain` on its own machine.
      subjects.request(`${name}.*`, "drain"),
      subjects.offer("*.*", "*"),
      subjects.eventsIn("*"),
      `$KV.${subjects.sessions}.>`,
      `$KV.${subjects.budgets}.>`,
      `$O.${subjects.checkpoints}.>`,
      ...[...eventStreams, sessions, budgets, shared, audits, checkpoints].flatMap(reading),
      // Events that a checkpoint or a deletion made superfluous, and parts of objects.
      ...[...eventStreams, checkpoints].flatMap((stream) => api(stream, "STREAM.PURGE")),
      ...api(`${jobs}.*`, "CONSUMER.INFO", "CONSUMER.MSG.NEXT"),
      `$JS.ACK.${jobs}.>`,
    ],
    subscribe: heard(subjects, name),
  };
}

/** The subjects to which gateways and workers publish. */
function common(subjects: Subjects, name: string): string[] {
  return [
    "$JS.API.INFO",
    `${subjects.beat}.${name}`,
    subjects.change("*", ">"),
    subjects.audit(name),
    // Connections to it and from it.
    subjects.connection(`${name}.*.*`, "client"),
    subjects.connection(`*.${name}.*`, "server"),
  ];
}

/** The subjects to which gateways and workers listen. */
function heard(subjects: Subjects, name: string): string[] {
  return [
    `${subjects.inbox(name)}.>`,
    `${subjects.beat}.*`,
    subjects.request(`${name}.*`, "*"),
    subjects.connection(`${name}.*.*`, "server"),
    subjects.connection(`*.${name}.*`, "client"),
  ];
}

function streamsOf(subjects: Subjects) {
  return {
    tokens: subjects.tokens,
    sessions: `KV_${subjects.sessions}`,
    budgets: `KV_${subjects.budgets}`,
    jobs: subjects.jobs,
    shared: subjects.shared,
    audits: subjects.audits,
    checkpoints: `OBJ_${subjects.checkpoints}`,
  };
}

/** Looking at a stream, and reading it with consumers of one's own. */
function reading(stream: string): string[] {
  return [
    ...api(stream, "STREAM.INFO", "STREAM.MSG.GET", "CONSUMER.CREATE"),
    ...api(`${stream}.>`, "CONSUMER.CREATE"),
    ...api(`${stream}.*`, "CONSUMER.INFO", "CONSUMER.DELETE", "CONSUMER.MSG.NEXT"),
    `$JS.ACK.${stream}.>`,
    `$JS.FC.${stream}.>`,
  ];
}

function api(subject: string, ...operations: readonly string[]): string[] {
  return operations.map((operation) => `$JS.API.${operation}.${subject}`);
}

/** The entry of a user in the list of its pool's account. */
export function userSettings(user: FleetUser): string {
  const { publish, subscribe } = permissionsOf(user);
  const list = (subjects: readonly string[]): string =>
    subjects.map((subject) => `            "${subject}"\n`).join("");
  return (
    `      # ${user.role} ${user.name} of pool ${user.pool}\n` +
    `      {\n        nkey: ${user.nkey}\n        permissions: {\n` +
    `          publish: [\n${list(publish)}          ]\n` +
    `          subscribe: [\n${list(subscribe)}          ]\n` +
    "          allow_responses: true\n        }\n      }\n"
  );
}
