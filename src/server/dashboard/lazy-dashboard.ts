import type { IncomingMessage, ServerResponse } from "node:http";

import { diskWords, TrunklineError } from "../../base/errors.ts";
import { Lazy } from "../../base/lazy.ts";
import type { Principal } from "../../base/principal.ts";
import { maskText } from "../../base/text/mask.ts";
import { fail } from "../http/http-answers.ts";
import type { Dashboard, DashboardOptions } from "./dashboard.ts";
import type { WebFiles } from "./web-files.ts";

export const API = "/api/";
export const ASSETS = "/assets/";

export interface LazyDashboardOptions extends Omit<DashboardOptions, "holder"> {
  readonly holder: () => Promise<string>;
}

/** The dashboard, loaded with the first request for it. */
export class LazyDashboard implements AsyncDisposable {
  readonly #options: LazyDashboardOptions;
  readonly #dashboard: Lazy<Dashboard>;
  readonly #files: Lazy<WebFiles>;

  constructor(options: LazyDashboardOptions) {
    this.#options = options;
    this.#dashboard = new Lazy(async () => {
      const { Dashboard } = await import("./dashboard.ts");
      return Dashboard.open({ ...options, holder: await options.holder() });
    });
    this.#files = new Lazy(async () => {
      const { WebFiles } = await import("./web-files.ts");
      return WebFiles.load();
    });
  }

  /** Reads the files of the page, before an upgrade of the package replaces them. */
  async prepare(): Promise<void> {
    await this.#files.get();
  }

  has(path: string): boolean {
    return path === "/" || path.startsWith(API) || path.startsWith(ASSETS);
  }

  handle(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): void {
    const isApi = path.startsWith(API);
    if (!isApi && request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return fail(response, 405, `${path} does not support this method`);
    }
    const answered = isApi
      ? this.#dashboard.get().then((it) => it.handle(path, request, response, principal))
      : this.#files.get().then((files) => files.send(path, request, response));
    answered.catch((error: unknown) => {
      this.#options.app.log.error("dashboard.not-opened", { error });
      if (response.headersSent) return;
      const words = error instanceof TrunklineError ? error.message : diskWords(error);
      const why = words === undefined ? "see its log" : maskText(words);
      fail(response, 503, `The dashboard cannot be opened: ${why}`);
    });
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#dashboard.opened())?.[Symbol.asyncDispose]();
  }
}
