/**
 * Whether a text looks like a pattern, where `*` stands for any text, also none. Nothing else is
 * special. Each part between two stars is taken where it is first found, which suffices and never
 * goes back: as a regular expression, `*a*a*a*b` would take years to refuse a long text of a's.
 */
export function glob(pattern: string): (text: string) => boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return (text) => text === pattern;
  const middle = rest.filter((part) => part !== "");
  return (text) => {
    const end = text.length - last.length;
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    let at = first.length;
    for (const part of middle) {
      const found = text.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}
