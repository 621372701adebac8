/** The one text of a value of JSON: members by name, no spaces. Equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`);
  return `{${members.join(",")}}`;
}
