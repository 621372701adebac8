import { TrunklineError } from "../../base/errors.ts";
import { DEFAULT_LIMITS } from "../../base/limit/limits.ts";

export type Json = Readonly<Record<string, unknown>>;

/** References that lead from one to the next. */
const MOST_STEPS = 20;
/** Levels in which a document may be nested, as those of a message. YAML may also have something in itself. */
const MOST_LEVELS = DEFAULT_LIMITS.maxDepth;

/** An OpenAPI document of 3.0 or 3.1, and what its references lead to. */
export class OpenApiDocument {
  readonly value: Json;
  /** JSON Schema as 3.0 has it, which differs from the standard. */
  readonly isOld: boolean;

  constructor(value: unknown) {
    if (!isObject(value)) throw refused("is not an object");
    if (isDeeper(value, MOST_LEVELS)) throw refused(`is nested deeper than ${MOST_LEVELS} levels`);
    const { openapi, swagger, paths } = value;
    if (swagger !== undefined) {
      const next = "Convert it to OpenAPI 3, such as with `npx swagger2openapi FILE`";
      throw refused(`is of Swagger ${textOf(swagger) ?? "2"}. ${next}`);
    }
    if (typeof openapi !== "string" || !/^3\.[012]\b/.test(openapi)) {
      throw refused("does not say that it is of OpenAPI 3 ('openapi')");
    }
    if (paths !== undefined && !isObject(paths))
      throw refused("has 'paths' that are not an object");
    this.value = value;
    this.isOld = openapi.startsWith("3.0");
  }

  /** What a reference leads to, or the value itself if it is none. */
  resolve(value: unknown): Json {
    let at = value;
    for (let step = 0; step < MOST_STEPS; step++) {
      if (!isObject(at)) return {};
      if (typeof at.$ref !== "string") return at;
      at = this.target(at.$ref);
    }
    throw refused(`has references that lead to themselves ('${refOf(value)}')`);
  }

  /** The part of the document that a reference names. */
  target(ref: string): unknown {
    if (ref !== "#" && !ref.startsWith("#/")) {
      // Reading it could open a file of this machine, or an address inside its network.
      const next = "Bundle it into one file first, such as with `npx @redocly/cli bundle`";
      throw refused(`refers to '${ref}', outside of itself. ${next}`);
    }
    let at: unknown = this.value;
    for (const step of ref.split("/").slice(1)) {
      const key = decode(step).replaceAll("~1", "/").replaceAll("~0", "~");
      at =
        (isObject(at) || Array.isArray(at)) && Object.hasOwn(at, key)
          ? (at as Json)[key]
          : undefined;
    }
    if (at === undefined) throw refused(`refers to '${ref}', which it does not have`);
    return at;
  }
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is nested in more levels. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isDeeper(member, levels - 1));
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text, or nothing. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** Completes "Its OpenAPI document …". */
export function refused(why: string): TrunklineError {
  return new TrunklineError("config", `Its OpenAPI document ${why}`);
}

function refOf(value: unknown): string {
  return isObject(value) ? String(value.$ref) : "";
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
