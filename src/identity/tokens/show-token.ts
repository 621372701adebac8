/** A token as it may be shown: enough to tell two apart, and of a short one nothing. */
export function showToken(token: string): string {
  const ends = token.length >= 20 ? 4 : 0;
  return `${token.slice(0, ends)}••••••••${ends === 0 ? "" : token.slice(-ends)}`;
}
