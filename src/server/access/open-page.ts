import { ANSWER_PATH } from "../notify/session-address.ts";
import { page } from "../http/page.ts";

/**
 * The address without its fragment has to differ, or the browser would only scroll: so it is "/?" for
 * a moment. The second request comes from this page, and has the cookie.
 */
const SCRIPT = `
const here = location.pathname + location.hash;
history.replaceState(null, "", "?");
location.replace(here);
`;

/**
 * The answer to a link on another website: a page of ours that opens the same address again. The first
 * request is answered without looking at who sent it.
 */
export const OPEN_AGAIN = page(
  `<h1>Trunkline</h1>\n<p>Opening …</p>\n<noscript>This page needs JavaScript. Type its address, or run: trunkline open</noscript>`,
  SCRIPT,
);

/** Whether a path has a page for people. To look at it changes nothing. */
export function isPage(path: string): boolean {
  return path === "/" || path === "/login" || path === "/logins" || path.startsWith(ANSWER_PATH);
}
