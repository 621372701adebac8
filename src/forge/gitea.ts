import type { NewPullRequest, PullRequest } from "./forge.ts";
import { GitHub, read } from "./github.ts";

/** Gitea's REST API v1, which Forgejo has, too: the calls of "repository". They are mostly GitHub's. */
export class Gitea extends GitHub {
  static override headersFor(token: string): Readonly<Record<string, string>> {
    return { authorization: `token ${token}` };
  }

  /** Finds it by both branches, because Gitea's list has no filter for one of them. Since Gitea 1.22. */
  override async find(head: string, base: string): Promise<PullRequest | undefined> {
    const path = `${encodeURIComponent(base)}/${head.split("/").map(encodeURIComponent).join("/")}`;
    return read(await this.http.find(`${this.repository}/pulls/${path}`));
  }

  /** Gitea has no field for a draft: titles that begin with `WIP:` are drafts. */
  override create({ isDraft, title, ...request }: NewPullRequest): Promise<PullRequest> {
    return this.send({ ...request, title: isDraft ? `WIP: ${title}` : title });
  }
}
