import { attempt } from "../../base/attempt.ts";
import { signal } from "@preact/signals";

export interface Route {
  /** The first word of the path: "sessions". */
  readonly page: string;
  readonly id: string | undefined;
  /** The part of a page: "changes". */
  readonly tab: string | undefined;
  readonly query: URLSearchParams;
}

/** The address after `#`: the server has one page, and old links keep working. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [page = "", id, tab] = path.split("/").map((part) => {
    return attempt(() => decodeURIComponent(part), part);
  });
  return {
    page: page === "" ? "start" : page,
    id: id === "" ? undefined : id,
    tab: tab === "" ? undefined : tab,
    query: new URLSearchParams(query),
  };
}

export function linkTo(page: string, id?: string, tab?: string): string {
  const parts = [page, id, tab].filter((part) => part !== undefined);
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
}

export const route = signal<Route>(parseRoute(globalThis.location?.hash ?? ""));

export function followAddress(): void {
  addEventListener("hashchange", () => {
    route.value = parseRoute(location.hash);
  });
}

export function go(link: string): void {
  location.hash = link;
}
