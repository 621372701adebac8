import type { StopSignal } from "../base/abort.ts";
import { realPath } from "../base/file/path.ts";
import {
  type Principal,
  type Scope,
  limitRefusal,
  mayUseFolder,
  mayUseRepository,
} from "../base/principal.ts";
import type { LogLevel } from "../base/log.ts";
import type { Span } from "../base/trace.ts";
import type { Profile } from "./profile/profile.ts";
import { isAbsolute, resolve } from "node:path";

/** JSON Schema as a tool declares it, of any draft; kept as it came. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One piece of what a tool answers: text, image, audio, resource or a link to one. */
export type Content = { readonly type: string } & Readonly<Record<string, unknown>>;

/** The description of a tool, prompt or resource. Unknown members are kept. */
interface Definition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly [member: string]: unknown;
}

/** The description of a tool for callers. */
export interface ToolDefinition extends Definition {
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

export interface ToolResult {
  readonly content: readonly Content[];
  readonly structuredContent?: unknown;
  /** The tool could not do it; the content tells a model what to do about that. */
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** The server of a tool, and the name that the tool has there. */
export interface ToolSource {
  /** The name that the configuration gives the server. */
  readonly server: string;
  readonly name: string;
  /** The tool as the server describes it, if our description differs in more than its name. */
  readonly described?: ToolDefinition;
}

/** A task that another server made of a call. */
export interface RemoteTask {
  /** The tool that was called, by its name here. */
  readonly tool: string;
  readonly server: string;
  readonly taskId: string;
}

/** Keeps a text for the caller, who can read it at the address. Undefined where it is too large to be kept. */
export type KeepText = (text: string, mimeType: string) => Promise<KeptText | undefined>;

export interface KeptText {
  readonly uri: string;
  /** In words. */
  readonly until: string;
}

/** The owner's changes of one tool: of its description, its arguments and its results. */
export interface ToolOverride {
  /**
   * Why the override does not fit a tool. The tool is then not offered, because what is to be hidden would be
   * shown.
   */
  misfit(definition: ToolDefinition): string | undefined;
  /** The description that callers see. */
  shown(definition: ToolDefinition): ToolDefinition;
  /** The first of the caller's arguments that callers may not give. */
  foreign(args: Arguments): string | undefined;
  /** The arguments that are sent. */
  sent(args: Arguments): Arguments;
  /** The result that is passed on. */
  result(result: ToolResult, keep: KeepText): Promise<ToolResult>;
}

/** A tool is called once and answers. */
export interface Tool {
  readonly definition: ToolDefinition;
  /** Set on another server's tool, which is then held when it changes. */
  readonly source?: ToolSource;
  /** The plugin or server that brings it, shown to people. */
  readonly bringer?: string;
  /** Whose alone it is: it works with this person's own login. */
  readonly person?: string;
  /** The purpose of a tool of our own, as a heading in lists for people. */
  readonly purpose?: string;
  /**
   * Whether it may or must run as a task, which goes on after the call has been answered. "if-asked":
   * only where the client asks for a task.
   */
  readonly task?: "if-asked" | "optional" | "required";
  /** A tool that runs as a task, and asks its questions before the task is created. */
  readonly asksFirst?: boolean;
  /** Milliseconds without progress after which a call fails. */
  readonly timeout?: number | undefined;
  /** The scope that a caller's token must have; default `tools`. */
  readonly scope?: Scope;
  /** Set on a tool that works on a project: how a call says which one it means. */
  readonly project?: ProjectUse;
  /** The tool checks its arguments itself, instead of the toolbox. */
  readonly checksItself?: boolean;
  call(args: Arguments, context: ToolContext): ToolResult | Promise<ToolResult>;
  /**
   * Waits for the result of a call that its server runs as a task, even if another process began the call.
   * Only set if the server outlives us.
   */
  resume?(taskId: string, context: ToolContext): Promise<ToolResult>;
}

/** The caller: the door, the name that the program gives itself, and its principal. */
export interface Caller {
  readonly door: string;
  readonly name: string;
  readonly principal: Principal;
  /**
   * Tells one client from another. It stands for one connection or session; where each request
   * speaks for itself (MCP 2026-07-28), for the principal and the name that the request gives.
   */
  readonly client: string;
}

/** A question to the side that called: a form for its user, a completion of its model, its roots. */
export interface Question {
  /** Names the question among others of the same call; chosen by the door when left out. */
  readonly key?: string;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Parts of another server's message that only MCP has. */
export interface MessageDetails {
  /** Its level by RFC 5424, which has more of them than we have. */
  readonly level?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** What a tool may do while it runs. */
export interface ToolContext {
  readonly caller: Caller;
  readonly session?: string | undefined;
  /** The profile that decides what the caller sees and may call; everything if left out. */
  readonly profile?: Profile | undefined;
  /** The folder that the caller works in, where its door knows it without asking. */
  readonly folder?: string | undefined;
  /** The folders that the client says it works in, absolute. Undefined where it does not say. */
  roots?(): Promise<readonly string[] | undefined>;
  /** The project that the call is about. The toolbox sets it, once, before the policy decides. */
  project?: Project | undefined;
  /** The span of the call or of its present part. The toolbox sets it where calls are traced. */
  span?: Span | undefined;
  /** The call is answered before the tool is done. */
  readonly isTask?: boolean;
  /** The extensions that the caller's side has announced, of those that are passed on. */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
  /** Aborted when the caller cancels, the time is up or the connection dies. */
  readonly signal: StopSignal;
  /** The `_meta` of the request, unchanged. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** `more` has the parts of the message that only MCP knows. */
  progress(done: number, total?: number, message?: string, more?: MessageDetails): void;
  log(level: LogLevel, data: unknown, logger?: string, more?: MessageDetails): void;
  /** Sends a part of the answer ahead of the rest. Only set if the caller wants parts. */
  piece?(data: Uint8Array, contentType: string): Promise<void>;
  /** Whether the caller's side can be asked this. */
  canAsk(question: Question): boolean;
  /** Asks the caller's side and waits. Rejects with `CannotAsk` when it cannot be asked. */
  ask(question: Question): Promise<unknown>;
  /** The hooks that have already run for the call elsewhere, and do not run again. */
  readonly hooksRan?: Set<string> | undefined;
  /** The server of the tool has made a task of the call, with this id. */
  remoteTask?(taskId: string): void;
  /** Tells the caller's side that a page it was asked to show is complete, during the call or later. */
  pageDone?(id: string): void;
}

/** The client does not support such a question. Each door reports it in its own way. */
export class CannotAsk extends Error {
  override readonly name = "CannotAsk";
  readonly question: Question;

  constructor(question: Question) {
    super(`The client cannot be asked: it does not support ${question.method}`);
    this.question = question;
  }
}

/** An error of the protocol, such as another server's, instead of a result of the tool. */
export class ToolFault extends Error {
  override readonly name = "ToolFault";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The code of an interrupted call in `rpc/codes.ts`. */
const INTERRUPTED = -32035;

/** The fault of a task whose server is not there any more after a restart. */
export function lostTask({ tool, server }: RemoteTask): ToolFault {
  const why = `MCP server '${server}' does not offer '${tool}' any more`;
  return new ToolFault(
    INTERRUPTED,
    `Trunkline was restarted while the task was working, and ${why}.`,
  );
}

/** MCP Apps, as clients and servers announce it. */
export const APPS_EXTENSION = "io.modelcontextprotocol/ui";
/** SEP-2640: skills of servers, as `ResourceProvider` has them. */
export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

/** Whether a tool is for the pages of its server, which call it: no model gets it (MCP Apps). */
export function isForApps({ definition: { _meta } }: Pick<Tool, "definition">): boolean {
  const { ui } = (_meta ?? {}) as { readonly ui?: { readonly visibility?: unknown } | null };
  const visibility = ui?.visibility;
  return Array.isArray(visibility) && !visibility.includes("model");
}

/** An answer of one text. */
export function textResult(text: string): ToolResult {
  return { content: [{ type: "text", text }] };
}

/** A failure that the model can act on. */
export function errorResult(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** A result as one text, such as for a terminal. */
export function resultText({ content, structuredContent }: ToolResult, indent = 0): string {
  return content.length === 0 && structuredContent !== undefined
    ? JSON.stringify(structuredContent, null, indent)
    : content.map(pieceText).join("\n");
}

/** Other content than text is named in brackets, such as `[image, image/png]`. */
function pieceText(piece: Content): string {
  const resource = (piece.resource ?? {}) as Readonly<Record<string, unknown>>;
  const text = piece.text ?? resource.text;
  if (typeof text === "string") return text;
  const facts = [piece.type, piece.name, piece.mimeType, piece.uri ?? resource.uri];
  return `[${facts.filter((fact) => typeof fact === "string").join(", ")}]`;
}

/**
 * The member of a result's `_meta` that names the kind of a failure, where a tool knows one. Most
 * doors pass it on; one whose protocol has codes for such kinds answers with those.
 */
export const FAULT_META = "trunkline/fault";

/** The kind of a call that was refused for its arguments, by their schema. */
export const INVALID_ARGUMENTS = "invalid-arguments";

/**
 * Whether a call needs a project, uses one where it is known, or ignores it.
 */
export type ProjectNeed = "needed" | "wanted" | "unused";

/** How the calls of a tool say which project they are about. */
export interface ProjectUse {
  /** The argument that names its folder. */
  readonly argument?: string;
  /** Finds the folder where arguments name it in another way, such as by an id of something in it. */
  readonly find?: (args: Arguments) => Promise<string | undefined>;
  /** "needed" when left out. */
  readonly need?: (args: Arguments) => ProjectNeed;
  /** What a caller can do instead of naming a project; part of an error message. */
  readonly instead?: string;
}

/** For a tool that uses the caller's project if it is known, and works without it. */
export const TOLD: ProjectUse = { need: () => "wanted" };

/** The project of a call. */
export interface Project {
  /** The folder, by its real path. Undefined where nobody says which, or several may be meant. */
  readonly folder?: string | undefined;
  /** Every folder that may be meant, by their real paths. */
  readonly folders: readonly string[];
  /** Where the folder is known from: an argument of the call, the client's roots, or the door. */
  readonly source?: "argument" | "roots" | "folder";
  /** Why it is not exactly one folder. */
  readonly problem?: string;
  /** Why the caller's principal may not work there. */
  readonly refusal?: string;
}

/** Where a repository is: its top folder, and its git folders, which may be elsewhere. */
export interface RepositoryFolders {
  readonly top: string;
  readonly gitFolders: readonly string[];
}

/** Finds the repository that a folder is in. */
export type RepositoryOf = (
  folder: string,
) => RepositoryFolders | undefined | Promise<RepositoryFolders | undefined>;

/** Whether a call of a tool concerns a project. */
export function isAbout(
  { project }: { readonly project?: ProjectUse | undefined },
  args: Arguments,
): boolean {
  return project !== undefined && needOf(project, args) !== "unused";
}

export function needOf(use: ProjectUse, args: Arguments): ProjectNeed {
  return namedBy(use, args) !== undefined ? "needed" : (use.need?.(args) ?? "needed");
}

/**
 * Which project a call is about: the one that its arguments name, else the client's roots, else the
 * folder that the door knows the caller to be in, else none. `use` is left out for a tool that works
 * on no project, whose caller is in one all the same.
 */
export async function resolveProject(
  use: ProjectUse | undefined,
  args: Arguments,
  context: Pick<ToolContext, "folder" | "roots">,
  repositoryOf: RepositoryOf,
): Promise<Project> {
  const named = (await use?.find?.(args)) ?? (use === undefined ? undefined : namedBy(use, args));
  if (named !== undefined && isAbsolute(named)) return only(named, "argument");
  const ofCaller = await projectOfCaller(context, repositoryOf);
  if (named !== undefined) {
    if (ofCaller.folder !== undefined) return only(resolve(ofCaller.folder, named), "argument");
    const problem = `'${named}' is not an absolute path, and ${ofCaller.problem}`;
    return { folders: [], problem };
  }
  if (use === undefined || ofCaller.folder === undefined) return ofCaller;
  return { ...ofCaller, folders: [ofCaller.folder] };
}

/** The folder of the project that a call is about, or that it was made in, as far as that is known. */
export function projectFolder({
  folder,
  project,
}: Pick<ToolContext, "folder" | "project">): string | undefined {
  return project === undefined ? folder : project.folder;
}

/** Returns the remote addresses of a folder's repository. */
export type AddressesOf = (folder: string) => Promise<readonly string[]>;

/** Why a principal that is limited to folders or repositories may not have a tool work there. */
export async function projectRefusal(
  principal: Principal,
  project: Project,
  repositoryOf: RepositoryOf,
  addressesOf: AddressesOf,
): Promise<string | undefined> {
  const { limits } = principal;
  if (limits?.folders === undefined && limits?.repositories === undefined) return undefined;
  const { folders } = project;
  if (folders.length === 0) {
    const only = [...(limits.folders ?? []), ...(limits.repositories ?? [])].join(", ");
    return `The call does not say which folder it is about, and its token is good only for ${only}`;
  }
  for (const folder of folders) {
    if (!mayUseFolder(principal, folder)) {
      return limitRefusal(principal, `the folder '${folder}'`, `--folder ${folder}`);
    }
    // A tool works on the whole repository that the folder is in, and on its settings.
    const { top = folder, gitFolders = [] } = (await repositoryOf(folder)) ?? {};
    const outside = [top, ...gitFolders].find((place) => !mayUseFolder(principal, place));
    if (outside !== undefined) {
      const what = `the repository of '${folder}', which is in '${outside}'`;
      return limitRefusal(principal, what, `--folder ${top}`);
    }
    if (limits.repositories === undefined) continue;
    const addresses = await addressesOf(folder);
    if (mayUseRepository(principal, addresses)) continue;
    const [address = "ADDRESS"] = addresses;
    return limitRefusal(principal, `the repository in '${folder}'`, `--repo ${address}`);
  }
  return undefined;
}

function namedBy({ argument }: ProjectUse, args: Arguments): string | undefined {
  if (argument === undefined || !Object.hasOwn(args, argument)) return undefined;
  const named = args[argument];
  return typeof named === "string" && named !== "" ? named : undefined;
}

async function projectOfCaller(
  context: Pick<ToolContext, "folder" | "roots">,
  repositoryOf: RepositoryOf,
): Promise<Project> {
  const roots = (await context.roots?.()) ?? [];
  const folders = [...new Set(roots.map((root) => realPath(root)))];
  const [folder, another] = folders;
  if (another !== undefined) return repositoryAmong(folders, repositoryOf);
  if (folder !== undefined) return { folder, folders: [folder], source: "roots" };
  if (context.folder !== undefined) return only(context.folder, "folder");
  return { folders: [], problem: "the client does not say which folder it works in" };
}

function only(folder: string, source: "argument" | "folder"): Project {
  const real = realPath(folder);
  return { folder: real, folders: [real], source };
}

/** What to answer a call that needs a project and does not say which. */
export function projectMissing(tool: string, use: ProjectUse, project: Project): string {
  const { argument, instead } = use;
  const { problem = "nothing says which one is meant" } = project;
  const next = [
    ...(argument === undefined ? [] : [`give its absolute path as '${argument}'`]),
    ...(instead === undefined ? [] : [instead]),
    "configure one folder as the client's root",
  ].join(", or ");
  const what = `Cannot tell which repository '${tool}' is to work on: ${problem}`;
  return `${what}. ${next.charAt(0).toUpperCase()}${next.slice(1)}.`;
}

/** The only repository among several folders. Two folders of one repository count as one. */
async function repositoryAmong(
  folders: readonly string[],
  repositoryOf: RepositoryOf,
): Promise<Project> {
  const source = "roots";
  const found = new Map<string, string[]>();
  for (const folder of folders) {
    const { top } = (await repositoryOf(folder)) ?? {};
    if (top !== undefined) found.set(top, [...(found.get(top) ?? []), folder]);
  }
  const [only, ...others] = found;
  if (only === undefined) {
    const problem = `none of the client's roots is in a git repository: ${folders.join(", ")}`;
    return { folders, source, problem };
  }
  if (others.length > 0) {
    const problem = `the client has several roots: ${[...found.values()].flat().join(", ")}`;
    return { folders, source, problem };
  }
  const [top, [one = top, ...rest]] = only;
  return { folder: rest.length === 0 ? one : top, folders, source };
}

/** A resource: something that can be read by its URI. */
export interface ResourceDefinition extends Definition {
  readonly uri: string;
  readonly mimeType?: string;
}

/** A family of resources: a URI with `{variables}` (RFC 6570). */
export interface ResourceTemplateDefinition extends Definition {
  readonly uriTemplate: string;
  readonly mimeType?: string;
}

export type ResourceContents = { readonly uri: string } & Readonly<Record<string, unknown>>;

export interface ServerExtensions {
  readonly server: string;
  readonly extensions: Readonly<Record<string, unknown>>;
}

/** A skill, as its server describes it. */
export type Skill = { readonly uri: string } & Readonly<Record<string, unknown>>;

export interface ResourceResult {
  readonly contents: readonly ResourceContents[];
  readonly [member: string]: unknown;
}

/** A source of resources: a capability of ours, or another server. */
export interface ResourceProvider {
  /** The scope that a reader's token must have; default `tools`. */
  readonly scope?: Scope;
  /** Whose alone it is: it works with this person's own login. */
  readonly person?: string;
  /** It shows each caller only the caller's own resources, which no profile hides. */
  readonly isCallers?: boolean;
  list(): readonly ResourceDefinition[] | Promise<readonly ResourceDefinition[]>;
  templates?():
    | readonly ResourceTemplateDefinition[]
    | Promise<readonly ResourceTemplateDefinition[]>;
  /** Undefined when this provider does not know the URI. */
  read(uri: string, context: ToolContext): Promise<ResourceResult | undefined>;
  complete?(uri: string, argument: CompletionArgument): Promise<Completion | undefined>;
  /** The extensions that other servers have, of those that are passed on. */
  extensions?(): readonly ServerExtensions[];
  /** Skills (SEP-2640): folders of instructions that a model reads when it needs them. */
  skills?(context: ToolContext): Promise<readonly Skill[]>;
  /** Asks about a resource by a method of an extension. Undefined when this provider does not know it. */
  askAbout?(
    uri: string,
    question: Question,
    context: ToolContext,
  ): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** The server of a resource or template, and its URI there; undefined for our own. */
  sourceOf?(uri: string): Promise<ToolSource | undefined>;
  /** Somebody watches the URI, or nobody does any more. */
  watch?(uri: string): void;
  unwatch?(uri: string): void;
}

/** The argument that is being typed, and those that were filled in before. */
export interface CompletionArgument {
  readonly name: string;
  readonly value: string;
  readonly context?: Readonly<Record<string, string>>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export interface Completion {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A text that a person starts from, with blanks to fill in. */
export interface PromptDefinition extends Definition {
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
}

export interface PromptResult {
  readonly description?: string;
  readonly messages: readonly unknown[];
  readonly [member: string]: unknown;
}

export interface Prompt {
  readonly definition: PromptDefinition;
  /** Set on another server's prompt. */
  readonly source?: ToolSource;
  get(args: Readonly<Record<string, string>>, context: ToolContext): Promise<PromptResult>;
  complete?(argument: CompletionArgument): Promise<Completion | undefined>;
}
