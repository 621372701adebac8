/** Without what would move the cursor or turn text around: other people's words stay words. */
export function printable(text: string): string {
  return text.replaceAll(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "�");
}

/** The first line that says something. */
export function firstLine(text: string): string {
  return printable(
    text
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? "",
  ).replaceAll("\t", " ");
}
