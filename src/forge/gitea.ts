import type { ForgeHttp } from "./forge-http.ts";
import type { Forge } from "./forge.ts";
import { create, GitHub, read, repositoryOf } from "./github.ts";

/** Gitea's REST API v1, which Forgejo has, too: the calls of "repository". They are mostly GitHub's. */
export const Gitea = {
  headersFor: (token: string) => ({ authorization: `token ${token}` }),

  open(http: ForgeHttp, owner: string, repository: string): Forge {
    const pulls = `${repositoryOf(owner, repository)}/pulls`;
    return {
      ...GitHub.open(http, owner, repository),

      /** Finds it by both branches, because Gitea's list has no filter for one of them. Since Gitea 1.22. */
      async find(head, base) {
        const branches = [encodeURIComponent(base), ...head.split("/").map(encodeURIComponent)];
        return read(await http.find(`${pulls}/${branches.join("/")}`));
      },

      /** Gitea has no field for a draft: titles that begin with `WIP:` are drafts. */
      create: ({ isDraft, title, ...request }) =>
        create(http, pulls, { ...request, title: isDraft ? `WIP: ${title}` : title }),
    };
  },
};
