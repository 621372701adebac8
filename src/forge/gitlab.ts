import { type ForgeHttp, type Json, webPage } from "./forge-http.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Forge, NewLines, NewPullRequest, PullRequest } from "./forge.ts";
import { requirePullRequest } from "./github.ts";

/** GitLab's REST API v4: "Merge requests" and "Projects". */
export class GitLab implements Forge {
  readonly #http: ForgeHttp;
  readonly #project: string;

  /** `owner` may be a group with subgroups: the whole path is one segment of the URL. */
  constructor(http: ForgeHttp, owner: string, repository: string) {
    this.#http = http;
    this.#project = `/projects/${encodeURIComponent(`${owner}/${repository}`)}`;
  }

  /** This header works for all kinds of access tokens, also for OAuth. */
  static headersFor(token: string): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${token}` };
  }

  async defaultBranch(): Promise<string> {
    const { default_branch } = (await this.#http.call("GET", this.#project)) as Json;
    return String(default_branch);
  }

  async get(number: number): Promise<PullRequest | undefined> {
    return read(await this.#http.find(`${this.#project}/merge_requests/${number}`));
  }

  async find(head: string): Promise<PullRequest | undefined> {
    const query = new URLSearchParams({ source_branch: head, state: "all" });
    const listed = await this.#http.call(
      "GET",
      `${this.#project}/merge_requests?${query.toString()}`,
    );
    const fitting = (Array.isArray(listed) ? (listed as Json[]) : []).filter(
      ({ source_branch, source_project_id, target_project_id }) =>
        source_branch === head && source_project_id === target_project_id,
    );
    return read(fitting.find(({ state }) => state === "opened") ?? fitting[0]);
  }

  /** GitLab has no field for a draft: titles that begin with `Draft:` are drafts. */
  async create({ head, base, title, body, isDraft }: NewPullRequest): Promise<PullRequest> {
    const sent = {
      source_branch: head,
      target_branch: base,
      title: isDraft ? `Draft: ${title}` : title,
      description: body,
    };
    return requirePullRequest(
      read(await this.#http.call("POST", `${this.#project}/merge_requests`, sent)),
    );
  }

  async describe(number: number, description: string): Promise<void> {
    await this.#http.call("PUT", `${this.#project}/merge_requests/${number}`, { description });
  }
}

/** `iid` is the number within the project, which people see. */
function read(answer: unknown): PullRequest | undefined {
  const { iid, web_url, state, description } = (answer ?? {}) as Json;
  if (typeof iid !== "number") return undefined;
  const body = typeof description === "string" ? description : "";
  return { number: iid, url: webPage(web_url), isOpen: state === "opened", body };
}

/** The discussions of a merge request (GitLab REST v4, "Discussions"). */
export class GitLabReviews {
  readonly #http: ForgeHttp;
  readonly #discussions: string;

  constructor(
    http: ForgeHttp,
    { owner, repository, number }: { owner: string; repository: string; number: number },
  ) {
    this.#http = http;
    const project = encodeURIComponent(`${owner}/${repository}`);
    this.#discussions = `/projects/${project}/merge_requests/${number}/discussions`;
  }

  discussions(): Promise<unknown[]> {
    return this.#http.list(`${this.#discussions}?per_page=100`);
  }

  /** Gives the id of the new note. */
  async reply(discussion: string, body: string): Promise<string> {
    const path = `${this.#discussions}/${encodeURIComponent(discussion)}/notes`;
    const { id } = (await this.#http.call("POST", path, { body })) as Json;
    return String(id);
  }

  async head(): Promise<string> {
    return String((await this.#versions()).head_sha);
  }

  /**
   * Comments on the last of some lines as a commit has them; without a line, on the file. GitLab wants both
   * numbers of a line that did not change, which are not known here, and refuses it.
   */
  async open(
    commit: string,
    { path, side, line, end = line }: NewLines,
    body: string,
  ): Promise<void> {
    const { base_sha, start_sha, head_sha } = await this.#versions();
    if (head_sha !== commit) {
      const why = "the merge request has a newer commit";
      throw new TrunklineError("conflict", `Cannot comment on ${path}: ${why}. Try again.`);
    }
    const lines =
      end === undefined
        ? { position_type: "file" }
        : { position_type: "text", [side === "old" ? "old_line" : "new_line"]: end };
    const position = { base_sha, start_sha, head_sha, old_path: path, new_path: path, ...lines };
    await this.#http.call("POST", this.#discussions, { body, position });
  }

  /** The commits between which the merge request is shown. */
  async #versions(): Promise<Json> {
    const path = this.#discussions.replace(/\/discussions$/, "");
    const { diff_refs } = (await this.#http.call("GET", path)) as Json;
    return (diff_refs ?? {}) as Json;
  }

  async resolve(discussion: string, isResolved: boolean): Promise<void> {
    const path = `${this.#discussions}/${encodeURIComponent(discussion)}`;
    await this.#http.call("PUT", path, { resolved: isResolved });
  }
}
