/** Statements as sentences after each other, some of which end with a full stop already. The last has none. */
export function sentences(statements: readonly string[]): string {
  return statements.map((statement) => statement.replace(/\.$/, "")).join(". ");
}
