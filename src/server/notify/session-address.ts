/** The page of a session in the dashboard of a gateway. */
export function sessionAddress(gateway: string, sessionId: string): string {
  return `${gateway}/#/sessions/${encodeURIComponent(sessionId)}`;
}

/** Where the path of a link begins that answers a permission request. */
export const ANSWER_PATH = "/answer/";

/**
 * A link that answers a permission request: a POST to it answers, a GET shows a button. What it answers is
 * in the fragment, for that page.
 */
export function answerAddress(gateway: string, token: string, kind: string): string {
  return `${gateway}${ANSWER_PATH}${token}#${kind}`;
}
