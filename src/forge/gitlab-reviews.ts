import type { ForgeHttp, Json } from "./forge-http.ts";

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

  async resolve(discussion: string, isResolved: boolean): Promise<void> {
    const path = `${this.#discussions}/${encodeURIComponent(discussion)}`;
    await this.#http.call("PUT", path, { resolved: isResolved });
  }
}
