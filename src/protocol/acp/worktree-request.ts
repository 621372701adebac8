import { STANDARD } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { Session } from "../../session/session.ts";
import type { Workplace, WorktreeRequest } from "../../session/workplace.ts";
import { isObject, type JsonObject } from "./methods.ts";

const NAME = "'params._meta.trunkline.worktree'";

/** Reads `_meta.trunkline.worktree` of session/new: true, or what the work tree should be like. */
export function readWorktreeRequest(value: unknown): WorktreeRequest | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (value === true) return {};
  if (!isObject(value)) throw refuse(`${NAME} must be true or an object`);
  const { branch, base, carry, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) throw refuse(`${NAME} has no member '${other.slice(0, 64)}'`);
  const isList = Array.isArray(carry) && carry.every((each) => typeof each === "string");
  if (carry !== undefined && !isList) throw refuse(`${NAME}.carry must be a list of patterns`);
  return {
    ...text("branch", branch),
    ...text("base", base),
    ...(carry === undefined ? {} : { carry }),
  };
}

function text(name: string, value: unknown): JsonObject {
  if (value === undefined) return {};
  if (typeof value === "string" && value !== "") return { [name]: value };
  throw refuse(`${NAME}.${name} must be a text that is not empty`);
}

function refuse(why: string): RpcError {
  return RpcError.of(STANDARD.invalidParams, why);
}

/** What clients are told about the work tree of a session. */
export function worktreeInfo(place: Workplace | undefined): JsonObject {
  if (place === undefined) return {};
  const { folder, repository, branch, base, warnings } = place;
  return { worktree: { folder, repository, branch, base, warnings } };
}

/** `_meta` of the answer to session/new. */
export function metaOfNew({ workplace, settings }: Session): JsonObject {
  if (workplace === undefined) return {};
  return { _meta: { ...settings._meta, trunkline: worktreeInfo(workplace) } };
}
