/** Programs that other browsers name, too, come later. */
const BROWSERS = [
  ["Firefox", /\b(?:Firefox|FxiOS)\//],
  ["Edge", /\bEdg(?:e|A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Chrome", /\b(?:Chrome|CriOS|Chromium)\//],
  ["Safari", /\bSafari\//],
] as const;

const SYSTEMS = [
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["Android", /\bAndroid\b/],
  ["Windows", /\bWindows\b/],
  ["macOS", /\bMac OS X\b|\bMacintosh\b/],
  ["Linux", /\bLinux\b/],
] as const;

/** The name of a device in lists, from its `User-Agent`. None of the header's own text is used. */
export function deviceName(userAgent = ""): string {
  const nameIn = (known: readonly (readonly [string, RegExp])[]): string | undefined =>
    known.find(([, pattern]) => pattern.test(userAgent))?.[0];
  const parts = [nameIn(BROWSERS), nameIn(SYSTEMS)].filter((part) => part !== undefined);
  return parts.join(" on ") || "Unknown browser";
}
