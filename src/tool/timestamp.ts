let at = 0;
let text = "";

/** The present moment as text. Made once for each millisecond, since it costs more than a call. */
export function timestamp(): string {
  const now = Date.now();
  if (now !== at) {
    at = now;
    text = new Date(now).toISOString();
  }
  return text;
}
