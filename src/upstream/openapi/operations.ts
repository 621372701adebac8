import { isObject } from "../../base/check.ts";
import { defined } from "../../base/defined.ts";
import {
  type Json,
  listOf,
  type OpenApiDocument,
  refused,
  SchemaClosure,
  textOf,
} from "./document.ts";
import { LARGEST_LIST } from "../../protocol/mcp/connect/lists.ts";
import { FreeNames } from "../../tool/offer/names.ts";
import { isIncluded, type OpenApiSettings } from "../settings.ts";

/**
 * The names that model services accept for arguments. For a single other name, such as `filter[id]`, some
 * refuse all tools of a client.
 */
const TAKEN_BY_MODELS = /^[A-Za-z0-9_.-]{1,64}$/;
const LONGEST = 64;

/** The arguments of one operation, each with a name of its own. */
class ArgumentNames {
  /** Original names of parameters that have not been assigned yet: no other parameter gets them. */
  readonly #own: Set<string>;
  readonly #names: FreeNames;

  /** `names` are those of all parameters. */
  constructor(names: readonly unknown[]) {
    const own = names.filter((name): name is string => typeof name === "string");
    this.#own = new Set(own.filter((name) => TAKEN_BY_MODELS.test(name) && name !== "__proto__"));
    const reserved = new Set([...this.#own, "__proto__"]);
    this.#names = new FreeNames(LONGEST, (name) => reserved.has(name));
  }

  /** The name of a parameter, as it is where that is possible, or with its place in front. */
  give(name: string, place: string): string {
    if (this.#own.delete(name)) return name;
    const parts = name.split(/[^A-Za-z0-9_.-]+/).filter((part) => part !== "");
    const plain = parts.join("_").slice(0, LONGEST);
    if (plain !== name && plain !== "" && this.#names.isFree(plain)) return this.#names.take(plain);
    return this.#names.take(plain === "" ? place : `${place}_${plain}`);
  }
}

type Place = "path" | "query" | "header" | "cookie";

/** A parameter of an operation, and the argument that it is called here. */
export interface Parameter {
  readonly argument: string;
  readonly name: string;
  readonly in: Place;
  readonly isRequired: boolean;
  readonly style: string;
  readonly isExploded: boolean;
  /** The type of a value that is sent as a whole, such as JSON. */
  readonly mediaType?: string;
}

interface Body {
  readonly argument: string;
  readonly mediaType: string;
  readonly isRequired: boolean;
}

/** An operation of an API, as a tool. */
export interface Operation {
  readonly tool: Json & { readonly name: string };
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body?: Body;
  /** How many definitions the schema of its arguments has. */
  readonly definitions: number;
  /** Alternatives, each a list of security schemes that are all needed. */
  readonly security: readonly (readonly string[])[];
  /** The `servers` that replace those of the document. */
  readonly servers?: readonly unknown[];
}

const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"] as const;
const READS: ReadonlySet<string> = new Set(["get", "head", "options"]);
/** RFC 9110, section 9.2.2. */
const IDEMPOTENT: ReadonlySet<string> = new Set([...READS, "put", "delete"]);
const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 2_000;
/**
 * Definitions of all tools together. A short document can require millions, because each tool includes
 * everything that it refers to.
 */
const MOST_DEFINITIONS = 100_000;
/** OpenAPI 3.1, § Parameter Object: these have other ways; and HTTP's own are not an API's. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...["accept", "content-type", "authorization", "host", "content-length", "connection"],
  ...["transfer-encoding", "te", "trailer", "upgrade", "expect", "cookie"],
]);
/** The argument for the body of a request. */
const BODY = "body";
const DEFAULT_STYLE: Readonly<Record<Place, string>> = {
  path: "simple",
  query: "form",
  header: "simple",
  cookie: "form",
};

/** The operations of a document that are offered. */
export function operationsOf(
  document: OpenApiDocument,
  filter: Pick<OpenApiSettings, "include" | "exclude"> = {},
): Operation[] {
  const names = new FreeNames(LONGEST_NAME);
  const operations: Operation[] = [];
  let definitions = 0;
  let size = 0;
  for (const [path, value] of Object.entries((document.value.paths ?? {}) as Json)) {
    // OpenAPI 3.1, § Paths Object. Behind the address of the API, `@other.example` would be another host.
    if (!path.startsWith("/")) continue;
    const item = document.resolve(value);
    for (const method of METHODS) {
      const operation = item[method];
      if (!isObject(operation)) continue;
      const id = textOf(operation.operationId);
      const name = names.free(nameOf(id ?? `${method} ${path}`));
      if (!isIncluded([name, id ?? name, `${method.toUpperCase()} ${path}`], filter)) continue;
      names.take(name);
      const found = operationOf(document, { name, method, path, item, operation });
      definitions += found.definitions;
      if (definitions > MOST_DEFINITIONS) {
        throw tooMuch(`needs more than ${MOST_DEFINITIONS} schemas for its tools`);
      }
      size += JSON.stringify(found.tool).length;
      if (size > LARGEST_LIST) {
        const most = LARGEST_LIST / 1024 / 1024;
        throw tooMuch(`has tools whose list is longer than ${most} million characters`);
      }
      operations.push(found);
    }
  }
  return operations;
}

function tooMuch(why: string): Error {
  return refused(`${why}. Choose fewer operations, with 'include' of the server`);
}

interface OperationSource {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly item: Json;
  readonly operation: Json;
}

function operationOf(document: OpenApiDocument, found: OperationSource): Operation {
  const { name, method, path, item, operation } = found;
  const closure = new SchemaClosure(document);
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  const add = (argument: string, schema: unknown, about: unknown, isRequired: boolean): void => {
    const description = textOf(about);
    const known = isObject(schema) && description !== undefined && schema.description === undefined;
    properties[argument] = known ? { ...schema, description: bounded(description) } : schema;
    if (isRequired) required.push(argument);
  };
  const parameters: Parameter[] = [];
  const described = parametersOf(document, item, operation);
  const names = new ArgumentNames([...described.map((each) => each.name), BODY]);
  for (const value of described) {
    const place = placeOf(value);
    if (place === undefined || isCredential(document, place)) continue;
    const parameter = parameterOf(value, place, names);
    const { content } = value;
    const schema = isObject(content)
      ? document.resolve(Object.values(content)[0]).schema
      : value.schema;
    parameters.push(parameter);
    const { argument, isRequired } = parameter;
    add(argument, closure.convert(schema), parameterText(value, parameter), isRequired);
  }
  const { body, schema, description } = bodyOf(document, operation, names) ?? {};
  if (body !== undefined) {
    add(body.argument, closure.convert(schema), description, body.isRequired);
  }
  const { defs } = closure;
  const servers = operation.servers ?? item.servers;
  return {
    tool: {
      name,
      ...(textOf(operation.summary) === undefined ? {} : { title: textOf(operation.summary) }),
      description: describe(found),
      inputSchema: {
        type: "object",
        properties,
        ...(required.length === 0 ? {} : { required }),
        additionalProperties: false,
        ...(Object.keys(defs).length === 0 ? {} : { $defs: defs }),
      },
      annotations: {
        readOnlyHint: READS.has(method),
        idempotentHint: IDEMPOTENT.has(method),
        openWorldHint: true,
      },
    },
    method: method.toUpperCase(),
    path,
    parameters,
    ...defined({ body, servers: Array.isArray(servers) ? (servers as unknown[]) : undefined }),
    definitions: Object.keys(defs).length,
    security: securityOf(operation.security ?? document.value.security),
  };
}

/** The parameters of the path and of the operation, whose own take precedence. */
function parametersOf(document: OpenApiDocument, item: Json, operation: Json): Json[] {
  const all = new Map<string, Json>();
  for (const value of [...listOf(item.parameters), ...listOf(operation.parameters)]) {
    const parameter = document.resolve(value);
    all.set(`${String(parameter.in)} ${String(parameter.name)}`, parameter);
  }
  return [...all.values()];
}

type ParameterPlace = Pick<Parameter, "name" | "in">;

/** Undefined for parameters that HTTP itself decides, such as the length of a body. */
function placeOf({ name, in: place }: Json): ParameterPlace | undefined {
  if (typeof name !== "string" || !isPlace(place)) return undefined;
  const isOwn = place === "header" && OWN_HEADERS.has(name.toLowerCase());
  return isOwn ? undefined : { name, in: place };
}

function parameterOf(value: Json, placed: ParameterPlace, names: ArgumentNames): Parameter {
  const { required, style, explode, content } = value;
  const { name, in: place } = placed;
  const used = typeof style === "string" ? style : DEFAULT_STYLE[place];
  const [mediaType] = isObject(content) ? Object.keys(content) : [];
  return {
    ...placed,
    argument: names.give(name, place),
    isRequired: place === "path" || required === true,
    style: used,
    isExploded: typeof explode === "boolean" ? explode : used === "form",
    ...(mediaType === undefined ? {} : { mediaType }),
  };
}

/** What a parameter is for, and what the API calls it if that says more than the argument. */
function parameterText({ description }: Json, { argument, name }: Parameter): string | undefined {
  const text = textOf(description);
  if (argument.endsWith(name)) return text;
  const called = `'${name}' of the API`;
  return text === undefined ? called : `${text} (${called})`;
}

/** Credentials are configured: a model is not asked for them. */
function isCredential(document: OpenApiDocument, { name, in: place }: ParameterPlace): boolean {
  return Object.values(schemesOf(document)).some((scheme) => {
    if (scheme.type !== "apiKey" || scheme.in !== place) return false;
    const key = String(scheme.name);
    return place === "header" ? key.toLowerCase() === name.toLowerCase() : key === name;
  });
}

/** The security schemes of a document, by name. */
export function schemesOf(document: OpenApiDocument): Readonly<Record<string, Json>> {
  const { components } = document.value;
  const { securitySchemes } = isObject(components) ? components : {};
  const schemes = Object.entries(isObject(securitySchemes) ? securitySchemes : {});
  return Object.fromEntries(schemes.map(([name, scheme]) => [name, document.resolve(scheme)]));
}

function bodyOf(
  document: OpenApiDocument,
  operation: Json,
  names: ArgumentNames,
): { readonly body: Body; readonly schema: unknown; readonly description: unknown } | undefined {
  if (operation.requestBody === undefined) return undefined;
  const { content, required, description } = document.resolve(operation.requestBody);
  if (!isObject(content)) return undefined;
  const types = Object.keys(content);
  const mediaType =
    PREFERRED.map((kind) => types.find((type) => kind.test(type))).find(Boolean) ?? types[0];
  if (mediaType === undefined) return undefined;
  const { schema } = document.resolve(content[mediaType]);
  const argument = names.give(BODY, "request");
  return { body: { argument, mediaType, isRequired: required === true }, schema, description };
}

const PREFERRED = [
  /^application\/json\b/i,
  /\+json\b/i,
  /^application\/x-www-form-urlencoded\b/i,
  /^multipart\/form-data\b/i,
  /^text\//i,
];

/** `[]` needs nothing; a list has alternatives, and each may need several schemes together. */
function securityOf(security: unknown): string[][] {
  return listOf(security).map((each) => (isObject(each) ? Object.keys(each) : []));
}

function describe({ method, path, operation }: OperationSource): string {
  const { summary, description, deprecated } = operation;
  const texts = [textOf(summary), textOf(description)].filter((text) => text !== undefined);
  const call = `${method.toUpperCase()} ${path}`;
  const mark = deprecated === true ? ["Deprecated."] : [];
  return bounded([...mark, ...new Set(texts), `(${call})`].join("\n\n"));
}

function bounded(text: string): string {
  return text.length <= LONGEST_DESCRIPTION ? text : `${text.slice(0, LONGEST_DESCRIPTION - 1)}…`;
}

/** The characters that all clients take in the name of a tool. */
function nameOf(text: string): string {
  const name = text.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|(?<!_)_+$/g, "");
  return (name || "operation").slice(0, LONGEST_NAME);
}

function isPlace(value: unknown): value is Place {
  return value === "path" || value === "query" || value === "header" || value === "cookie";
}
